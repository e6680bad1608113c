// The algebra of pending values against values: for two and three processes and small numbers, what is
// claimed holds for all, and for everything that is refused there are numbers for which it would be wrong.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <meshtf/ops/pointwise.hpp>
#include <meshtf/plan/pending.hpp>

#include "../catch.hpp"
#include "../ops/functions_of_x.hpp"

using namespace meshtf;
using namespace meshtf::algebra;

namespace {

using value  = std::array<double, 2>;  // a tensor of two elements
using parts  = std::vector<value>;     // what each process holds
using unary  = std::function<value(value)>;
using binary = std::function<value(value, value)>;

constexpr std::array kinds{pending::nothing, pending::sum, pending::max, pending::min};

/// The value that is pending.
value joined(pending kind, parts const& held) {
  value v = held.front();
  for (std::size_t p = 1; p < held.size(); ++p)
    for (std::size_t i = 0; i < v.size(); ++i) {
      double const next = held[p][i];
      if (kind == pending::sum) v[i] += next;
      else v[i] = kind == pending::max ? std::max(v[i], next) : std::min(v[i], next);
    }
  return v;
}

/// Do they hold a value that is pending so? What is whole is equal on all.
bool holds(pending kind, parts const& held, value const& truth) {
  if (kind == pending::nothing)
    return std::all_of(held.begin(), held.end(), [&](value const& v) { return v == truth; });
  value const v = joined(kind, held);
  for (std::size_t i = 0; i < v.size(); ++i)
    if (std::abs(v[i] - truth[i]) > 1e-12 * (1 + std::abs(truth[i]))) return false;
  return true;
}

/// All values of small integers, from `least` on.
std::vector<value> small(int least) {
  std::vector<value> all;
  for (int a = least; a <= 2; ++a)
    for (int b = least; b <= 2; ++b) all.push_back({double(a), double(b)});
  return all;
}

/// Calls f with all that `n` processes can hold; a whole value is the same on all of them.
template<class F>
void for_all_held(pending kind, std::size_t n, std::vector<value> const& choices, F const& f) {
  if (kind == pending::nothing) {
    for (value const& v : choices) f(parts(n, v), v);
    return;
  }
  parts held(n);
  auto const fill = [&](auto const& self, std::size_t p) -> void {
    if (p == n) return f(held, joined(kind, held));
    for (value const& v : choices) {
      held[p] = v;
      self(self, p + 1);
    }
  };
  fill(fill, 0);
}

template<class F>
unary each(F f) {
  return [f](value v) { return value{f(v[0]), f(v[1])}; };
}
template<class F>
binary both(F f) {
  return [f](value x, value y) { return value{f(x[0], y[0]), f(x[1], y[1])}; };
}

/// What programs do where they use a value so. All of it must keep a claim; one that breaks it is enough to
/// refuse.
struct practice {
  use how;
  std::string name;
  std::vector<unary> all;
  int least = -2;  // the smallest number that it is about
};

/// The functions of x alone that are used so, of numbers that are positive or of all, and others.
std::vector<unary> all_used(use how, bool positive, std::vector<unary> all = {}) {
#define MESHTF_ADD(f) \
  if (function::f::used == how) all.push_back(each(function::f{}));
  if (positive) {
    MESHTF_FUNCTIONS_OF_POSITIVE(MESHTF_ADD)
  } else {
    MESHTF_SMOOTH_FUNCTIONS(MESHTF_ADD)
    MESHTF_BENT_FUNCTIONS(MESHTF_ADD)
    MESHTF_STEP_FUNCTIONS(MESHTF_ADD)
  }
#undef MESHTF_ADD
  return all;
}

std::vector<practice> practices() {
  using namespace meshtf::function;
  unary const swap     = [](value v) { return value{v[1], v[0]}; };  // transpose
  unary const first    = [](value v) { return value{v[0], v[0]}; };  // slice and broadcast
  unary const total    = [](value v) { return value{v[0] + v[1], v[0] + v[1]}; };
  unary const most     = [](value v) { return value{std::max(v[0], v[1]), std::max(v[0], v[1])}; };
  unary const least_of = [](value v) { return value{std::min(v[0], v[1]), std::min(v[0], v[1])}; };
  unary const share    = [](value v) {  // softmax
    double const a = std::exp(v[0]);
    double const b = std::exp(v[1]);
    return value{a / (a + b), b / (a + b)};
  };
  // einsum with a matrix
  unary const mixed = [](value v) { return value{2 * v[0] - v[1], v[0] + 3 * v[1]}; };
  auto const whole  = [](double by) { return each(scaled<double>{by}); };
  return {
      {use::layout_only, "layout_only", {swap, first, each(identity{})}},
      // small numbers: float holds them
      {use::exact_cast, "exact_cast", {each([](double x) { return double(float(x)); })}},
      {use::rounding_cast, "rounding_cast", {each([](double x) { return std::trunc(x / 2); })}},
      {use::summed, "summed", {total, [total](value v) { return each(scaled<double>{0.5})(total(v)); }}},
      {use::scaled, "scaled", {whole(2), whole(-3), whole(0), mixed, each(divided_by<double>{-4})}},
      {use::scaled_positive, "scaled_positive", {whole(2), whole(0), each(divided_by<double>{4})}},
      {use::scaled_negative, "scaled_negative", {whole(-2), whole(0), each(divided_by<double>{-4})}},
      {use::negated, "negated", {each(negated{})}},
      {use::shifted, "shifted", {each(shifted<double>{1}), each(shifted<double>{-2})}},
      {use::subtracted, "subtracted", {each(subtracted_from<double>{1}), each(subtracted_from<double>{0.5})}},
      {use::divisor, "divisor",
       all_used(use::divisor, true, {each(dividing<double>{1}), each(dividing<double>{-1})}), 1},
      {use::monotone, "monotone",
       all_used(
           use::monotone, false,
           {each([](double x) { return function::floor{}(x / 2); }),
            each([](double x) { return function::ceil{}(x / 2); }),
            each([](double x) { return function::round{}(x / 2); }), each(function::clamp<double>{-1, 1}),
            each(function::with_number_right<function::maximum, double>{1}),
            each(function::with_number_left<function::minimum, double>{1})})},
      {use::monotone, "monotone, of positive numbers", all_used(use::monotone, true), 1},
      {use::rsqrt, "rsqrt", all_used(use::rsqrt, true), 1},
      {use::nonlinear, "nonlinear",
       all_used(use::nonlinear, false,
                {each(function::elu<double>{-1}), each(function::leaky_relu<double>{-0.5}),
                 [](value v) { return value{v[0] * v[1], v[0] * v[1]}; }})},  // product
      {use::maximum, "maximum", {most}},
      {use::minimum, "minimum", {least_of}},
      {use::normalised,
       "normalised",
       {share, [](value v) { return value{v[0] - (v[0] + v[1]) / 2, v[1] - (v[0] + v[1]) / 2}; },
        [](value v) { return value{v[0] / (std::abs(v[0]) + std::abs(v[1]) + 1), 0}; }}},
      {use::compared,
       "compared",
       {each([](double x) { return x < 1 ? 1.0 : 0.0; }), each([](double x) { return x == 1 ? 1.0 : 0.0; }),
        each(function::logical_not{}),
        [](value v) { return v[0] != 0 || v[1] != 0 ? value{1, 1} : value{0, 0}; },  // any
        [](value v) { return v[0] < v[1] ? value{1, 1} : value{0, 0}; }}},
      {use::update, "update", {each([](double g) { return 5 - g; }), each([](double g) { return 5 + g; })}},
  };
}

/// Is what they hold after f always the value f(v), pending as `after`?
bool always(practice const& p, pending before, pending after) {
  bool right = true;
  for (std::size_t n : {2U, 3U})
    for (auto const& f : p.all)
      for_all_held(before, n, small(n == 3 ? std::max(p.least, -1) : p.least),
                   [&](parts held, value const& truth) {
                     if (!right) return;
                     for (value& v : held) v = f(v);
                     right = holds(after, held, f(truth));
                   });
  return right;
}

bool always(std::vector<binary> const& all, pending x, pending y, pending after, int least) {
  bool right = true;
  for (std::size_t n : {2U, 3U}) {
    std::vector<value> choices = small(n == 3 ? std::max(least, 0) : least);
    std::erase_if(choices, [n](value const& v) { return v[0] != 1 && (n == 3 || v[0] != v[1]); });
    for (auto const& f : all)
      for_all_held(x, n, choices, [&](parts const& a, value const& va) {
        if (right)
          for_all_held(y, n, choices, [&](parts const& b, value const& vb) {
            if (!right) return;
            parts held(n);
            for (std::size_t p = 0; p < n; ++p) held[p] = f(a[p], b[p]);
            right = holds(after, held, f(va, vb));
          });
      });
  }
  return right;
}

}  // namespace

TEST_CASE("uses of a pending value: what is claimed holds, what is refused would be wrong") {
  for (practice const& p : practices())
    for (pending const before : kinds) {
      INFO(p.name << " of kind " << int(before));
      auto const claim = after(p.how, before);
      if (claim.sound()) {
        CHECK(always(p, before, claim.state));
        CHECK((claim.state != pending::nothing || before == pending::nothing));
      } else {
        for (pending const k : kinds) {
          INFO("as kind " << int(k));
          CHECK_FALSE(always(p, before, k));
        }
      }
    }
}

TEST_CASE("each use has a practice") {
  auto const all = practices();
  for (int u = 0; u <= int(use::update); ++u)
    CHECK(std::any_of(all.begin(), all.end(), [u](practice const& p) { return int(p.how) == u; }));
}

TEST_CASE("two pending values that meet: what is claimed holds, what is refused would be wrong") {
  struct case_of {
    meeting how;
    std::vector<binary> all;
    int least = -1;
  };
  std::vector<case_of> const cases{
      {meeting::plus, {both(function::plus{})}},
      {meeting::minus, {both(function::minus{})}},
      {meeting::times, {both(function::times{})}},
      // nobody knows the sign of what divides
      {meeting::over, {both(function::over{}), both([](double a, double b) { return a / -b; })}, 1},
      {meeting::larger, {both(function::maximum{})}},
      {meeting::smaller, {both(function::minimum{})}},
      {meeting::alongside, {[](value x, value y) { return value{x[0], y[1]}; }}},
      {meeting::nonlinear,
       {both([](double a, double b) { return std::pow(a, b); }), both(function::logaddexp{}),
        both(function::sigmoid_cross_entropy{})}},
      {meeting::compared,
       {both(function::less{}), both(function::greater{}), both(function::logical_and{}),
        both(function::logical_or{})}},
  };
  for (auto const& c : cases)
    for (pending const x : kinds)
      for (pending const y : kinds) {
        INFO("meeting " << int(c.how) << " of kinds " << int(x) << " and " << int(y));
        auto const claim = after(c.how, x, y);
        if (claim.sound()) CHECK(always(c.all, x, y, claim.state, c.least));
        else
          for (pending const k : kinds) {
            INFO("as kind " << int(k));
            CHECK_FALSE(always(c.all, x, y, k, c.least));
          }
      }
}

TEST_CASE("the remedies: a whole value that counts on one process, and a value that is joined first") {
  for (meeting const how : {meeting::plus, meeting::minus, meeting::alongside}) {
    CHECK(after(how, pending::sum, pending::nothing).fix == remedy::count_once);
    CHECK(after(how, pending::nothing, pending::sum).fix == remedy::count_once);
    CHECK(after(how, pending::sum, pending::sum).sound());          // what as_partial makes of it
    CHECK(after(how, pending::nothing, pending::nothing).sound());  // what finish makes of it
  }
  CHECK(after(meeting::times, pending::sum, pending::sum).fix == remedy::finish);
}
