// One process was given something else than the others, and all would go on: m.agree finds it, and says what
// differs, and how.
//
//   disagrees CASE   seed, rate, layout, data, tensor, parameters: process 1 has another; state: one of four
//                    processes has another mean of AdamW; again: it has a flipped bit there and in a weight,
//                    and gets both again; two: one of two has, so nobody knows which; none: all have the same
//
// seed:   meshtf: the processes differ: process 0 has --seed 1, process 1 has --seed 2: start the same
// program ...     status 70
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/meshtf.hpp>

namespace {

struct in : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct divided : meshtf::layout<grid, meshtf::split<in, rows>> {};

}  // namespace

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "none";
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<grid> m{env.world()};
  auto const other = [&](std::string_view what) { return m.rank() == 1 && which == what; };

  m.agree("--seed", other("seed") ? 2 : 1);
  m.agree("--rate", other("rate") ? 0.1f : 0.2f);
  m.agree("--layout", other("layout") ? "mixed" : "data");
  m.agree("the text in --data", std::string(1000, other("data") ? 'a' : 'b'));
  m.agree("the labels", std::vector<std::int32_t>(10, 1));

  meshtf::tensor<float, divided, in> x{m};
  // parts may differ, replicas may not
  for (auto& e : x.local()) e = static_cast<float>(m.coordinate<rows>());
  if (other("tensor")) x.local()(3) = 7;
  m.agree(x);
  m.agree("x", x);

  meshtf::parameter<double, divided, in> w{m, meshtf::normal{other("parameters") ? 2u : 1u}};
  m.agree(parameters(w));

  meshtf::parameter<double, divided> b{m, meshtf::constant{1}};
  meshtf::adamw opt{0.1};
  for (bool const shares : {false, true}) {
    meshtf::adamw of_parts{0.1};
    of_parts.shard_state = shares;
    backward(sum(w * b));
    of_parts.step(parameters(w, b));
    m.agree(parameters(w, b), of_parts);
  }
  backward(sum(w * b));
  opt.step(parameters(w, b));
  m.agree(parameters(w, b), opt);
  if (other("state"))
    opt.for_each_array(b, [](char const*, auto const& array, auto const&) { array->data()[0] = 7; });
  m.agree(parameters(w, b), opt);
  for (bool const in_weight : {true, false})
    if (other("again") || (other("two") && in_weight)) {
      auto const flip = [](double& e) { e = std::bit_cast<double>(std::bit_cast<std::uint64_t>(e) ^ 1U); };
      if (which == "two") flip(*w.data_to_write());
      else if (in_weight) flip(*b.data_to_write());
      else opt.for_each_array(b, [&](char const*, auto const& array, auto const&) { flip(*array->data()); });
    }
  meshtf::state<double, divided, in> seen{m};  // what is not trained is compared, too
  int const replaced = m.agree(parameters(w, b, seen), opt, meshtf::replicas_differ::send_again);
  m.agree(parameters(w, b), opt);
  if (m.rank() == 0) std::printf("%d arrays were sent again\n", replaced);
}
