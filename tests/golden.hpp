// Arrays that other libraries computed, as tensors of any layout, and how far results are from them. See
// tests/golden/README.md.
//
// A test says once which file it reads:  golden_arrays const& golden() { static golden_arrays const
// file{"windows"}; return file; }
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <meshtf/io/global.hpp>
#include <meshtf/io/safetensors_reader.hpp>

#include "catch.hpp"

/// The arrays of tests/golden/NAME.safetensors.
class golden_arrays {
public:
  explicit golden_arrays(std::string const& name)
      : file_{MESHTF_TESTS_FOLDER "/golden/" + name + ".safetensors"} {}

  meshtf::safetensors_reader const& file() const { return file_; }

  /// The array `name` as a tensor: this process's part.
  template<class T, class L, class... D>
  meshtf::tensor<T, L, D...> tensor(meshtf::machine<L>& m, std::string const& name) const {
    auto const elements = file_.read<T>(name);
    std::vector<std::size_t> const extents{static_cast<std::size_t>(D::size)...};
    return meshtf::from_global<T, L, D...>(m, xt::adapt(elements, extents));
  }

  /// The largest difference of an element from the array `name`; infinite if one is not a number, or there
  /// are more or fewer of them. All processes call it.
  template<class X>
  double distance(X const& x, std::string const& name) const {
    auto const all      = to_global(x);
    auto const expected = file_.read<typename X::element_type>(name);
    if (all.size() != expected.size()) return std::numeric_limits<double>::infinity();
    double most = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double const difference =
          std::abs(static_cast<double>(all.data()[i]) - static_cast<double>(expected[i]));
      if (!(difference <= most))
        most = std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
    }
    return most;
  }

private:
  meshtf::safetensors_reader file_;
};

/// z has the result, and the operands have the gradients, that the file has under `name`, but for `close`. An
/// operand has its `name` there, and its parameter, `value`.
template<class Z, class... X>
void check_case(golden_arrays const& file, std::string const& name, Z const& z, double close,
                X&... operands) {
  CAPTURE(name);
  CHECK(file.distance(z, name + ".result") <= close);
  auto const weighted = [&]<class T, class L, class... D>(meshtf::tensor<T, L, D...> const& x) {
    return sum(x * file.tensor<T, L, D...>(x.machine(), name + ".weights"));
  };
  backward(weighted(z));
  auto const check = [&](auto& x) {
    CAPTURE(x.name);
    CHECK(file.distance(finish(gradient(x.value)), name + ".gradient." + x.name) <= close);
    x.value.zero_gradient();
  };
  (check(operands), ...);
}
