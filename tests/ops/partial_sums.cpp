// Partial sums handed through by linear operations: finished afterwards, they are what they would be finished
// before, and so are the gradients.
// test: processes 1 4
#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

struct twin : dim<8> {};  // as long as batch and out, and whole
struct front : dim<4> {};
struct back : dim<4> {};
struct pairs : dim<2> {};
struct fours : dim<4> {};

/// On one process against differences, on four under the layout that splits over two axes: each further
/// layout is compiled, too.
template<class... S, class F>
void check_open(F const&) {
  using program = operation<double, F, drawn{}, S...>;
  switch (boost::mpi::communicator{}.size()) {
    case 1: program::check_differences(); break;
    case 4: check_under<mixed>(program{}, run<alone>(program{}), 1e-12); break;
    default: break;
  }
}

}  // namespace

TEST_CASE("a partial sum is moved: transpose, rename, split_dim, merge_dims, slice, concat") {
  check_open<shape<batch, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    auto const p = partial_einsum<batch, out>(x, w);
    auto const s = split_dim<out, pairs, fours>(p);
    auto const a = slice<out, front>(p, 1);
    auto const b = slice<out, back>(p, 3);
    return std::tuple{finish(transpose<out, batch>(p)), finish(rename<out, twin>(p)),
                      finish(rename<batch, twin>(p)),  // the last: local terms are gathered
                      finish(merge_dims<pairs, fours, twin>(s)), finish(concat<twin>(b, a))};
  });
  check_open<shape<in, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    auto const p = partial_einsum<in, out>(x, w);
    // the first: local terms are sliced
    return std::tuple{
        finish(rename<out, batch>(p)), finish(dropout(p, 0.5, {.seed = 7})),
        finish(gather<out>(
            p, iota<int, typename std::remove_cvref_t<decltype(x)>::layout_type, front>(x.machine()))),
        finish(p * 2 - p)};
  });
}

TEST_CASE("a partial sum is summed along other dimensions: what is split of them stays unreduced too") {
  check_open<shape<batch, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    auto const p = partial_einsum<batch, out>(x, w);
    return std::tuple{finish(sum<out>(p)), finish(sum<batch>(p)), finish(mean(p)), finish(mean<batch>(p))};
  });
}

TEST_CASE("a partial sum is multiplied and divided by whole values, broadcast to one another") {
  check_open<shape<batch, hidden>, shape<hidden, out>, shape<out>, shape<in>>(
      [](auto const& x, auto const& w, auto const& c, auto const& u) {
        auto const p = partial_einsum<batch, out>(x, w);
        auto const d = exp(c);
        return std::tuple{finish(p * c), finish(u * p), finish(p / d), finish(-p / 3)};
      });
}

TEST_CASE("a partial sum is multiplied by einsum: what is summed of it stays unreduced too") {
  check_open<shape<batch, hidden>, shape<hidden, out>, shape<out, in>, shape<batch>>(
      [](auto const& x, auto const& w, auto const& k, auto const& b) {
        auto const p = partial_einsum<batch, out>(x, w);
        return std::tuple{finish(einsum<batch, in>(p, k)), finish(einsum<in, batch>(k, p)),
                          finish(partial_einsum<out>(b, p)),  // over the axes of batch, too
                          // a dimension that one of them has alone is summed first
                          finish(einsum<batch>(p, k)), finish(einsum<in>(p, k))};
      });
}

TEST_CASE(
    "partial sums are added and chosen from: over the same axes and over others, of the same dimensions and "
    "broadcast") {
  check_open<shape<in, hidden>, shape<hidden, out>, shape<hidden>, shape<batch, in>>(
      [](auto const& x, auto const& w, auto const& v, auto const& u) {
        auto const p    = partial_einsum<in, out>(x, w);
        auto const q    = partial_einsum<out>(v, w);
        auto const r    = partial_einsum<in>(u, sum<in>(u));  // over the axes of batch
        auto const mask = greater(stop_gradient(sum<batch>(u)), 0);
        return std::tuple{finish(p + q),
                          finish(p - q),
                          finish(p + r),
                          finish(q - r),
                          finish(where(mask, p, r)),
                          finish(where(mask, p, 2)),
                          finish(where(mask, 3, p))};
      });
}
