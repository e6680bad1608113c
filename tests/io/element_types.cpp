// bfloat16, int64 and bool in files, in text, and as whole arrays.
// test: processes 1 4
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/io/print.hpp>

#include <sstream>
#include <string>
#include <type_traits>

#include "../layout_fixture.hpp"
#include "folder.hpp"

using namespace fixture;

namespace {

/// Weights in bfloat16, and what is not trained: a mask, counts and long numbers.
template<Layout L>
struct of_every_type {
  machine<L>& m;
  parameter<bfloat16, L, in, hidden> w{m, normal{3}};
  tensor<bool, L, hidden> mask{m};
  tensor<std::int64_t, L, batch, hidden> positions{m};
  tensor<std::int32_t, L, batch> ids{m};
  parameter<float, L, hidden> b{m, normal{4}};
  state<double, L, batch, hidden> kept{m, constant{3}};

  auto list() {
    return parameters(named("w", w), named("mask", mask), named("positions", positions), named("ids", ids),
                      named("b", b), named("kept", kept));
  }
};

constexpr std::int64_t large = std::int64_t{1} << 40;

std::string words_of_failure(auto const& f) {
  try {
    f();
  } catch (data_error const& e) {
    return e.what();
  }
  return "";
}

/// Saved under L, loaded under K.
template<Layout L, Layout K>
void check_files(files::folder const& folder) {
  std::string const path = folder / "all.safetensors";
  of_every_type<L> s{processes<typename L::mesh_type>()};
  s.mask      = cast<bool>(greater(iota<int, L, hidden>(s.m), 7));
  s.positions = broadcast<batch, hidden>(cast<std::int64_t>(iota<int, L, hidden>(s.m)) * large + 1);
  s.ids       = iota<int, L, batch>(s.m);
  s.kept.update(s.kept * 2 + broadcast<batch, hidden>(iota<double, L, hidden>(s.m)));
  save(s.list(), path);
  of_every_type<K> t{processes<typename K::mesh_type>()};
  t.w = tensor<bfloat16, K, in, hidden>{t.m};
  load(t.list(), path);
  CHECK((to_global(s.w) == to_global(t.w)));
  CHECK((to_global(s.mask) == to_global(t.mask)));
  CHECK((to_global(s.positions) == to_global(t.positions)));
  CHECK((to_global(s.ids) == to_global(t.ids)));
  CHECK((to_global(s.b) == to_global(t.b)));
  CHECK((to_global(s.kept) == to_global(t.kept)));
  CHECK((to_global(t.kept)(7, 15) == 6 + 15));
  CHECK((!to_global(t.mask)(7) && to_global(t.mask)(8)));
  CHECK((to_global(t.positions)(0, 3) == 3 * large + 1));
  CHECK(static_cast<float>(to_global(t.w)(2, 3)) != 0);

  safetensors_reader const file{path};
  CHECK(file.header().arrays.at("w").type == "BF16");
  CHECK(file.header().arrays.at("mask").type == "BOOL");
  CHECK(file.header().arrays.at("positions").type == "I64");
  CHECK(file.read<bool>("mask").at(8));
  CHECK(file.read<bfloat16>("w").size() == 6 * 16);

  // an optimizer passes over what is not trained, and a checkpoint keeps both
  sgd down;
  adam opt;
  save(parameters(t.mask, t.b, t.kept), opt, {3, 4}, folder / "trained");
  backward(sum(square(t.b)));
  down.step(parameters(t.mask, t.b, t.kept));
  backward(sum(square(t.b)));
  opt.step(parameters(t.mask, t.b, t.kept));
  CHECK((to_global(s.b) != to_global(t.b)));
  CHECK(load(parameters(t.mask, t.b, t.kept), opt, folder / "trained") == training_position{3, 4});
  CHECK((to_global(s.b) == to_global(t.b)));

  // another element type is refused: only the program casts
  parameter<float, K, in, hidden> wide{t.m};
  auto const others = parameters(named("w", wide), named("mask", t.mask), named("positions", t.positions),
                                 named("ids", t.ids), named("b", t.b), named("kept", t.kept));
  CHECK(words_of_failure([&] { load(others, path); }).find("to be F32 [6, 16], got BF16 [6, 16]") !=
        std::string::npos);
  wide = cast<float>(t.w);
  CHECK((to_global(cast<bfloat16>(wide)) == to_global(s.w)));
}

}  // namespace

TEST_CASE("bfloat16, bool and int64 are saved under one layout and loaded under another") {
  files::folder const folder;
  if (boost::mpi::communicator{}.size() == 1) check_files<alone, alone>(folder);
  else check_files<mixed, tall>(folder);
}

TEST_CASE("a file says if a bfloat16 in it is not finite") {
  CHECK(meshtf::detail::all_finite(std::array{bfloat16{1}, std::numeric_limits<bfloat16>::max()}.data(), 2));
  CHECK_FALSE(meshtf::detail::all_finite(
      std::array{bfloat16{1}, std::numeric_limits<bfloat16>::infinity()}.data(), 2));
  CHECK_FALSE(meshtf::detail::all_finite(
      std::array{std::numeric_limits<bfloat16>::quiet_NaN(), bfloat16{1}}.data(), 2));
}

TEST_CASE("a file with bytes of bools other than 0 and 1 is refused, and changes nothing", "[1]") {
  using L = alone;
  files::folder const folder;
  of_every_type<L> s{processes<typename L::mesh_type>()};
  s.mask                 = cast<bool>(greater(iota<int, L, hidden>(s.m), 7));
  std::string const path = folder / "bools";
  meshtf::safetensors_array mask;
  mask.type    = "BOOL";
  mask.extents = {hidden::size};
  std::vector<unsigned char> bytes(hidden::size, 1);
  bytes[5] = 0x80;
  {
    meshtf::safetensors_writer out{path, {}, {{"mask", mask}}};
    out.write(bytes.data(), bytes.size());
    out.commit();
  }
  std::string const expected = "bytes of 0 or 1 in the array 'mask', BOOL [" + std::to_string(hidden::size) +
                               "], got 128 as element 5";
  auto const before = to_global(s.mask);
  CHECK(words_of_failure([&] { load(parameters(named("mask", s.mask)), path); }).find(expected) !=
        std::string::npos);
  CHECK((to_global(s.mask) == before));
  CHECK(words_of_failure([&] { safetensors_reader{path}.read<bool>("mask"); }).find(expected) !=
        std::string::npos);
}

TEST_CASE("whole arrays and text in bfloat16, int64 and bool") {
  using L  = mixed;
  auto run = [&]<class K>(std::type_identity<K>) {
    auto& m = processes<typename K::mesh_type>();
    xt::xarray<double> const numbers{1, 2.5, -0.1, 1e30, 0, 3, 4, 1.00390625};
    auto const x = from_global<bfloat16, K, vocab>(m, numbers);
    auto const z = to_global(x);
    CHECK((z(0) == bfloat16{1} && z(1) == bfloat16{2.5} && z(2) == bfloat16{-0.1} && z(3) == bfloat16{1e30} &&
           z(7) == bfloat16{1}));
    auto const again = from_global<bfloat16, K, vocab>(m, z);
    CHECK((to_global(again) == z));
    auto const mask =
        from_global<bool, K, vocab>(m, xt::xarray<bool>{true, false, true, true, false, false, false, true});
    CHECK(to_global(mask)(2));
    CHECK_FALSE(to_global(mask)(6));
    CHECK((to_global(sum(cast<int>(mask)))() == 4));
    std::ostringstream part;
    std::ostringstream whole;
    part << x;
    if (m.rank() == 0) CHECK(part.str().find("tensor<bfloat16") == 0);
    print(x, whole);
    print(mask, whole);
    print(from_global<std::int64_t, K, vocab>(m, xt::xarray<std::int64_t>{large, 1, 2, 3, 4, 5, 6, 7}),
          whole);
    if (m.rank() == 0) {
      CHECK(whole.str().find("bfloat16 [vocab=8") == 0);
      CHECK(whole.str().find("true") != std::string::npos);
      CHECK(whole.str().find("1099511627776") != std::string::npos);
    }
    CHECK_NOTHROW(m.agree("x", x));
  };
  if (boost::mpi::communicator{}.size() == 1) run(std::type_identity<alone>{});
  else run(std::type_identity<L>{});
}
