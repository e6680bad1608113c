// What a core can do: one product of matrices by the library that the steps use.
#pragma once

#include <vector>

#include <meshtf/kernel/gemm.hpp>

namespace bench {

/// One product of 1024^3.
class product {
public:
  static constexpr int n        = 1024;
  static constexpr double flops = 2.0 * n * n * n;

  void operator()() {
    meshtf::kernel::gemm<float>(false, false, n, n, n, a_.data(), n, b_.data(), n, 0, c_.data(), n);
  }

private:
  std::vector<float> a_ = std::vector<float>(n * n, 0.5f);
  std::vector<float> b_ = a_;
  std::vector<float> c_ = a_;
};

}  // namespace bench
