// Running sums and products, and the backward pass of the products, against plain loops: any number of lines
// of any length, in either direction.
#include <vector>

#include <meshtf/kernel/running.hpp>

#include "../catch.hpp"

namespace {

using namespace meshtf;

std::size_t at(extent i) { return static_cast<std::size_t>(i); }

struct directions {
  bool reverse   = false;
  bool exclusive = false;
};

/// Small numbers, so that all results are exact; some are 0.
std::vector<double> numbers(extent n, extent seed) {
  std::vector<double> x(at(n));
  for (extent i = 0; i < n; ++i) x[at(i)] = static_cast<double>((i * 7 + seed) % 5 - 2) / 2;
  return x;
}

/// f(the elements of a line in the order of the direction, the line's number).
template<class F>
void for_each_line(line_steps const& s, bool reverse, F const& f) {
  for (extent o = 0; o < s.outer; ++o)
    for (extent i = 0; i < s.inner; ++i) {
      std::vector<std::size_t> line;
      for (extent a = 0; a < s.along; ++a)
        line.push_back(at(o * s.outer_stride + (reverse ? s.along - 1 - a : a) * s.step + i));
      f(line, at(o * s.line_stride + i));
    }
}

template<reduction Op>
void check_running(line_steps const& s, directions which, bool goes_on) {
  std::vector<double> const x      = numbers(s.outer * s.outer_stride, 3);
  std::vector<double> const before = numbers(s.outer * s.line_stride, 1);
  std::vector<double> z(x.size(), 99);
  std::vector<double> expected = z;
  for_each_line(s, which.reverse, [&](std::vector<std::size_t> const& line, std::size_t number) {
    double so_far = Op == reduction::sum ? 0 : 1;
    if (goes_on) so_far = before[number];
    for (std::size_t const e : line) {
      double const with = Op == reduction::sum ? so_far + x[e] : so_far * x[e];
      expected[e]       = which.exclusive ? so_far : with;
      so_far            = with;
    }
  });
  double const* const from = goes_on ? before.data() : nullptr;
  if (which.exclusive) kernel::run_along<Op, true>(s, which.reverse, x.data(), z.data(), from);
  else kernel::run_along<Op, false>(s, which.reverse, x.data(), z.data(), from);
  CHECK(z == expected);
}

/// dx[i] is the sum over all products that contain x[i] of dz times the product of their other factors.
void check_gradient(line_steps const& s, directions which) {
  std::vector<double> const x  = numbers(s.outer * s.outer_stride, 3);
  std::vector<double> const dz = numbers(s.outer * s.outer_stride, 4);
  std::vector<double> dx(x.size(), 99);
  std::vector<double> expected = dx;
  for_each_line(s, which.reverse, [&](std::vector<std::size_t> const& line, std::size_t) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      expected[line[i]] = 0;
      for (std::size_t j = i + (which.exclusive ? 1 : 0); j < line.size(); ++j) {
        double others = 1;
        for (std::size_t k = 0; k < j + (which.exclusive ? 0 : 1); ++k)
          if (k != i) others *= x[line[k]];
        expected[line[i]] += dz[line[j]] * others;
      }
    }
  });
  if (which.exclusive) kernel::cumprod_gradient<true>(s, which.reverse, x.data(), dz.data(), dx.data());
  else kernel::cumprod_gradient<false>(s, which.reverse, x.data(), dz.data(), dx.data());
  CHECK(dx == expected);
}

/// A line's factor and addend: what comes out of it is addend + factor * what goes in.
void check_fold(line_steps const& s, directions which) {
  std::vector<double> const x  = numbers(s.outer * s.outer_stride, 3);
  std::vector<double> const dz = numbers(s.outer * s.outer_stride, 4);
  std::vector<double> factor(at(s.outer * s.line_stride), 99);
  std::vector<double> addend = factor;
  std::vector<double> one    = factor;
  std::vector<double> other  = factor;
  for_each_line(s, !which.reverse, [&](std::vector<std::size_t> const& line, std::size_t number) {
    double f = 1;
    double c = 0;
    for (std::size_t const e : line) {
      c = which.exclusive ? dz[e] + x[e] * c : x[e] * (dz[e] + c);
      f *= x[e];
    }
    one[number]   = f;
    other[number] = c;
  });
  if (which.exclusive)
    kernel::fold_products<true>(s, which.reverse, x.data(), dz.data(), factor.data(), addend.data());
  else kernel::fold_products<false>(s, which.reverse, x.data(), dz.data(), factor.data(), addend.data());
  CHECK(factor == one);
  CHECK(addend == other);
}

void check_each(line_steps const& s) {
  INFO(s.outer << " x " << s.along << " x " << s.inner << ", lines " << s.outer_stride << " elements and "
               << s.line_stride << " numbers apart");
  for (directions const which : {directions{}, {true, false}, {false, true}, {true, true}}) {
    for (bool goes_on : {false, true})
      check_running<reduction::sum>(s, which, goes_on), check_running<reduction::product>(s, which, goes_on);
    check_gradient(s, which);
    check_fold(s, which);
  }
}

}  // namespace

TEST_CASE("sums and products run along lines of every kind") {
  for (extent outer : {1, 3, 4, 5, 8, 11})
    for (extent along : {1, 2, 7})
      for (extent inner : {1, 2, 5}) {
        line_steps s = contiguous_lines(outer, along, inner);
        check_each(s);
        s.outer_stride += 3;
        s.line_stride += 2;  // part of a larger array
        check_each(s);
      }
  check_each(contiguous_lines(2, 3, kernel::lines_together + 5));
}
