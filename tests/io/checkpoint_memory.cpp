// What saving costs: in parts one chunk; as a file the whole of an array on the process that writes, and
// nothing on the others; and arrays of many pieces.
#include <meshtf/io/checkpoint.hpp>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#include "../layout_fixture.hpp"
#include "folder.hpp"

using namespace fixture;

namespace {

constexpr checkpoint_options as_file{.in_parts = false};

/// The bytes of the largest block that `new` has given since it was set to 0.
std::atomic<std::size_t> largest_block = 0;

void* noted_or_null(std::size_t n) noexcept {
  for (auto seen = largest_block.load(); seen < n && !largest_block.compare_exchange_weak(seen, n);) {
  }
  return std::malloc(n == 0 ? 1 : n);
}
void* noted(std::size_t n) {
  if (void* const p = noted_or_null(n)) return p;
  throw std::bad_alloc{};
}

struct height : dim<128> {};
struct width : dim<1536> {};
struct columns : layout<two_by_two, split<width, cols>> {};  // rows hold the same
struct lines : layout<two_by_two, split<height, rows>> {};
struct squares : layout<two_by_two, split<height, cols>, split<width, rows>> {};
struct strips : layout<two_by_two, split<width, cols, rows>> {};
struct copies : layout<two_by_two> {};

template<Layout L>
struct net {
  parameter<float, L, height, width> w;
  adam opt{0.5};
  net(machine<L>& m, bool sharded) : w{m, normal{1}} { opt.shard_state = sharded; }
  auto list() { return meshtf::parameters(named("w", w)); }
  void step() {
    backward(sum(square(w)));
    opt.step(list());
  }
};

}  // namespace

void* operator new(std::size_t n) { return noted(n); }
void* operator new[](std::size_t n) { return noted(n); }
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return noted_or_null(n); }
void* operator new[](std::size_t n, std::nothrow_t const&) noexcept { return noted_or_null(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

TEST_CASE(
    "a large array is saved from any layout, in pieces of any size, and costs memory on process 0 alone",
    "[4]") {
  files::folder const folder;
  std::string first;
  auto const check = [&]<Layout L>(bool sharded) {
    INFO("under " << name_of<L>() << (sharded ? ", sharded" : ""));
    auto& m = processes<two_by_two>();
    net<L> n{m, sharded};
    n.step();
    constexpr std::size_t whole = sizeof(float) * height::size * width::size;
    for (extent count : {extent{std::numeric_limits<int>::max()}, extent{40000}}) {
      m.world().barrier();
      if (m.rank() == 0) std::filesystem::remove_all(folder / "run");
      m.world().barrier();
      extent const before = std::exchange(meshtf::detail::largest_count, count);
      largest_block       = 0;
      save(n.list(), n.opt, {1, 0}, folder / "run", as_file);
      std::size_t const cost        = largest_block;
      meshtf::detail::largest_count = before;
      if (m.rank() == 0) CHECK(cost == whole);
      else CHECK(cost < 4096);
      // in parts: a chunk on each
      auto const chunk = std::exchange(meshtf::detail::chunk_bytes, std::uint64_t{64} << 10);
      largest_block    = 0;
      save(n.list(), n.opt, {2, 0}, folder / "run");
      CHECK(largest_block == meshtf::detail::chunk_bytes);
      meshtf::detail::chunk_bytes = chunk;
      m.world().barrier();
      std::string const path  = folder / "run/step-00000001.safetensors";
      std::string const saved = files::read(path);
      if (first.empty()) first = saved;
      CHECK((saved == first));
      auto const there = safetensors_reader{path}.read<float>("w");
      auto const here  = to_global(n.w);
      CHECK(std::equal(there.begin(), there.end(), here.begin(), here.end()));
    }
  };
  for (bool sharded : {false, true}) {
    check.operator()<copies>(sharded);
    check.operator()<columns>(sharded);
    check.operator()<lines>(sharded);
    check.operator()<squares>(sharded);
    check.operator()<strips>(sharded);
  }
}
