// If it compiles, it passes.
#include <initializer_list>

#include <meshtf/price/cost_hash.hpp>

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};
struct other_grid : mesh<cols, rows> {};

constexpr std::uint64_t of_text(std::string_view text) { return (fnv1a{} << text).value(); }
static_assert(fnv1a{}.value() == 0xcbf29ce484222325 && of_text("a") != of_text("b") &&
              of_text("ab") != of_text("ba"));

constexpr collective_call call{.kind    = collective::all_reduce,
                               .op      = reduction::sum,
                               .type    = element::float32,
                               .over    = 1,
                               .count   = 8,
                               .payload = 32};

template<Mesh M>
constexpr std::uint64_t hash(std::initializer_list<collective_call> calls, work const& w = {}) {
  cost<M> c;
  for (auto const& each : calls) c.note(each);
  c.note(w);
  return hash_of(c);
}
template<class F>
constexpr std::uint64_t changed(F f) {
  collective_call other = call;
  f(other);
  return hash<grid>({other, call});
}

constexpr std::uint64_t one = hash<grid>({call, call});
static_assert(one == hash<grid>({call, call}) && one != hash<grid>({call}) &&
              one != hash<other_grid>({call, call}));

// each thing that processes must have in common
static_assert(one != changed([](auto& c) { c.kind = collective::all_gather; }) &&
              one != changed([](auto& c) { c.op = reduction::max; }));
static_assert(one != changed([](auto& c) { c.type = element::int32; }) &&
              one != changed([](auto& c) { c.over = 2; }));
static_assert(one != changed([](auto& c) { c.count = 9; }) &&
              one != changed([](auto& c) { c.payload = 36; }));
static_assert(one != hash<grid>({call, call}, {.flops = 2}) &&
              one != hash<grid>({call, call}, {.elementwise = 2}));
// the order counts, the call site does not
constexpr collective_call second{.kind = collective::all_gather, .over = 2, .count = 4, .payload = 16};
static_assert(hash<grid>({call, second}) != hash<grid>({second, call}));
static_assert(one == changed([](auto& c) { c.site.operation = "sum"; }));

}  // namespace
