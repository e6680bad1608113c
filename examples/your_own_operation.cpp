// An operation of your own, written in four ways: as one line, with its derivative, of operations, and of
// slices. docs/your_own_operation.md explains it.
//
// Run:    build/release/examples/your_own_operation
// Prints: for each way what a step of it costs, under a layout that splits the batch and under one that does
//         not
#include <meshtf/planning.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>

struct batch : meshtf::dim<64> {};
struct hidden : meshtf::dim<256> {};
struct rows : meshtf::axis<4> {};
struct four : meshtf::mesh<rows> {};
struct whole : meshtf::layout<four> {};
struct split : meshtf::layout<four, meshtf::split<batch, rows>> {};

/// softcap: x, but never beyond `limit`.
constexpr auto in_one_line = [](auto const& x, double limit) {
  return fused([limit](auto v) { return limit * tanh(v / limit); }, x);
};

constexpr auto with_derivative = [](auto const& x, double limit) {
  return map([limit](auto v) { return limit * std::tanh(v / limit); },
             [limit](auto v) {
               auto const t = std::tanh(v / limit);
               return 1 - t * t;
             },
             x);
};

constexpr auto of_operations = [](auto const& x, double limit) { return limit * tanh(x / limit); };

/// As if there were no cap in the backward pass.
constexpr auto straight_through = [](auto const& x, double limit) {
  return custom_gradient([limit](auto const& v) { return limit * tanh(v / limit); },
                         [](auto const& dz, auto const&) { return dz; }, x);
};

/// gelu(x + bias), of which a mask keeps some: a row as second operand, whose gradient is summed over the
/// batch in the same pass.
constexpr auto masked = [](auto const& x, auto const& bias, auto const& mask) {
  return fused([](auto v, auto b, auto keep) { return gelu(v + b) * keep; }, x, bias, mask);
};

/// A loss whose terms are stored nowhere; one of Huber's.
constexpr auto huber = [](auto const& x, auto const& y) {
  return meshtf::fused_sum<>(
      [](auto a, auto b) { return where(abs(a - b) > 1, abs(a - b) - 0.5, 0.5 * square(a - b)); }, x, y);
};

/// The middle of two, as far as they are near one another: one pass for both results.
constexpr auto joined = [](auto const& x, auto const& y) {
  auto const [centre, distance] =
      fused([](auto a, auto b) { return std::tuple{(a + b) / 2, abs(a - b)}; }, x, y);
  return centre / (1 + distance);
};

struct two_results {
  template<meshtf::Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    meshtf::parameter<float, L, batch, hidden> const x{m, meshtf::normal{1}};
    meshtf::parameter<float, L, hidden> const bias{m, meshtf::normal{2}};
    backward(sum(joined(x, bias)));
  }
};
static_assert(meshtf::dry_run<split>(two_results{}).calls() == 1);  // of the sum

template<class Operation>
struct step_with {
  template<meshtf::Layout L>
  constexpr void operator()(meshtf::machine<L>& m) const {
    meshtf::parameter<float, L, batch, hidden> const x{m, meshtf::normal{1}};
    meshtf::parameter<float, L, hidden> const bias{m, meshtf::normal{2}};
    meshtf::tensor<float, L, batch, hidden> const y{m};
    backward(huber(masked(Operation{}(x, 5.0), bias, y), y));
  }
};

template<class Operation>
void show(char const* name) {
  static constexpr auto alone = meshtf::dry_run<whole>(step_with<Operation>{});
  static constexpr auto parts = meshtf::dry_run<split>(step_with<Operation>{});
  std::printf(
      "%-16s %7lld steps of arithmetic, %7lld bytes touched; split: %7lld, %7lld\n", name,
      static_cast<long long>(alone.elementwise_flops()), static_cast<long long>(alone.bytes_touched()),
      static_cast<long long>(parts.elementwise_flops()), static_cast<long long>(parts.bytes_touched()));
}

int main() {
  show<decltype(in_one_line)>("in one line");
  show<decltype(with_derivative)>("with derivative");
  show<decltype(of_operations)>("of operations");
  show<decltype(straight_through)>("straight through");
}
