// Operations that only move elements: transpose, rename, split_dim, merge_dims, reshard; of parameters, whose
// gradients stay unreduced, and of other values.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

template<class X>
using targets_for = targets_of<layout_of<std::remove_cvref_t<X>>>;

// The axes of mixed change dimensions, those of tall their order; those of mixed8, of unlike sizes, go
// through a third dimension.
struct crossed4 : layout<two_by_two, split<batch, cols>, split<hidden, rows>> {};
struct turned4 : layout<two_by_two, split<hidden, rows, cols>> {};
struct crossed8 : layout<two_by_four, split<batch, wide>, split<hidden, rows>> {};
template<class L> struct turned_of : std::type_identity<L> {};
template<> struct turned_of<mixed> : std::type_identity<crossed4> {};
template<> struct turned_of<tall> : std::type_identity<turned4> {};
template<> struct turned_of<mixed8> : std::type_identity<crossed8> {};

struct turned {
  constexpr auto operator()(auto const& x) const {
    return reshard<typename turned_of<layout_of<std::remove_cvref_t<decltype(x)>>>::type>(x);
  }
};

}  // namespace

TEST_CASE("transpose, split_dim, merge_dims and rename of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<duo, trio>({{1, 2, 3}, {4, 5, 6}});
  CHECK(numbers_of(transpose<trio, duo>(x)) == list{1, 4, 2, 5, 3, 6});
  auto const merged = merge_dims<duo, trio, in>(x);
  CHECK(numbers_of(merged) == list{1, 2, 3, 4, 5, 6});
  CHECK(numbers_of(sum<duo>(split_dim<in, duo, trio>(merged))) == list{5, 7, 9});
  CHECK(numbers_of(sum<key>(rename<duo, key>(x))) == list{5, 7, 9});
}

TEST_CASE("transpose") {
  check_operation<shape<batch, in, hidden>>([](auto const& x) {
    return std::tuple{transpose<hidden, in, batch>(x), transpose<in, batch, hidden>(x)};
  });
}

TEST_CASE("rename between dimensions that are split alike, split otherwise and whole") {
  check_operation<shape<left, in>, shape<in, right>, shape<in, out>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{rename<left, even>(x),                         // alike
                          rename<left, right>(x),                        // from one axis to another
                          rename<right, left>(y), rename<left, out>(x),  // to whole: an all-gather
                          rename<out, left>(z),                          // from whole: a slice
                          rename<out, right>(z)};
      });
}

TEST_CASE("a parameter and itself renamed, a Gram matrix: the unreduced axes of the two uses are merged") {
  check_operation<shape<left, in>>([](auto const& x) {
    auto const y = rename<left, out>(x);
    return einsum<left, out>(x, y);
  });
}

TEST_CASE("split_dim in place, and to parts that are placed otherwise") {
  check_operation<shape<batch, hidden>>([](auto const& x) {
    return std::tuple{split_dim<hidden, heads, key>(x), split_dim<hidden, group, member>(x),
                      split_dim<hidden, plain_group, plain_member>(x)};
  });
}

TEST_CASE("merge_dims in place, and of parts that are placed otherwise") {
  check_operation<shape<batch, heads, key>, shape<group, member, in>,
                  shape<batch, plain_group, plain_member>>([](auto const& x, auto const& y, auto const& z) {
    return std::tuple{merge_dims<heads, key, hidden>(x), merge_dims<group, member, hidden>(y),
                      merge_dims<plain_group, plain_member, hidden>(z)};
  });
}

TEST_CASE(
    "reshard to a layout that splits nothing: the gradient is sliced where nothing is left to reduce, and "
    "reduce-scattered where it is") {
  check_operation<shape<batch, hidden>>(
      [](auto const& x) { return reshard<typename targets_for<decltype(x)>::whole>(x); });
}

TEST_CASE("reshard to a layout that splits other dimensions") {
  check_operation<shape<batch, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    using target = typename targets_for<decltype(x)>::exchanged;
    return std::tuple{reshard<target>(x), reshard<target>(w)};
  });
}

TEST_CASE(
    "reshard to a layout that splits a whole dimension: of a parameter the gradient is padded, of an "
    "intermediate value gathered") {
  check_operation<shape<hidden, out>>(
      [](auto const& w) { return reshard<typename targets_for<decltype(w)>::scattered>(w); });
}

TEST_CASE("a weight is gathered at its use: its gradient is reduce-scattered over its unreduced axes") {
  check_operation<shape<batch, in>, shape<in, hidden>>([](auto const& x, auto const& w) {
    using target = typename targets_for<decltype(x)>::exchanged;
    auto const y = reshard<target>(x);
    auto const v = reshard<target>(w * 2);
    return einsum<batch, hidden>(y, v);
  });
}

TEST_CASE("there and back again, and to the layout where it is") {
  check_operation<shape<batch, hidden>>([](auto const& x) {
    using here   = layout_of<std::remove_cvref_t<decltype(x)>>;
    using target = targets_for<decltype(x)>;
    auto const y = reshard<typename target::exchanged>(x);
    auto const z = reshard<typename target::whole>(y);
    return std::tuple{reshard<here>(x), reshard<here>(y), reshard<here>(z * z)};
  });
}

TEST_CASE("reshard by permutes: whole shards change places") {
  using program               = operation<double, turned, drawn{}, shape<batch, hidden, length>>;
  recorded_values const truth = run<alone>(program{});
  switch (boost::mpi::communicator{}.size()) {
    case 4: check_under<mixed>(program{}, truth, 1e-12), check_under<tall>(program{}, truth, 1e-12); break;
    case 8: check_under<mixed8>(program{}, truth, 1e-12); break;
    default: break;
  }
}
