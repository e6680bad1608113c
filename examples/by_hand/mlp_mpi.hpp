// A two-layer perceptron's training step in raw MPI, split by batch or by hidden units: what meshtf's step is
// measured against.
#pragma once

#include "exchange.hpp"
#include "kernels.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace by_hand {

/// What is divided among the processes: the examples (data parallel) or the units of the hidden layer (tensor
/// parallel, as in Megatron).
enum class split { batch, hidden };

struct mlp_sizes {
  int batch  = 256;
  int in     = 512;
  int hidden = 2048;
  int out    = 512;

  /// 2mnk of the five products a step needs: two forward, both weights' gradients and that of the hidden
  /// layer.
  double flops() const { return 2.0 * batch * hidden * (2.0 * in + 3.0 * out); }
};

/// A block of a matrix whose rows are `stride` long.
inline void fill(float* to, std::uint64_t stream, int rows, int columns, int first_row, int first_column,
                 int stride, float scale) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      to[std::int64_t{i} * columns + j] =
          scale * random_at(stream, std::int64_t{first_row + i} * stride + first_column + j);
}

/// x(batch, in) w1(in, hidden) relu, w2(hidden, out), the mean of softmax cross entropy, w -= rate dw. All
/// memory is taken by the constructor.
class mlp_step {
public:
  mlp_step(MPI_Comm comm, split by, float rate, mlp_sizes whole = {})
      : comm_{comm}, by_{by}, rate_{rate}, whole_{whole} {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (whole.batch % size != 0 || whole.hidden % size != 0 || whole.out % 16 != 0)
      throw std::invalid_argument{
          "expected a number of processes that divides batch " + std::to_string(whole.batch) +
          " and hidden " + std::to_string(whole.hidden) + ", and outputs in sixteens, got " +
          std::to_string(size) + " processes and " + std::to_string(whole.out) + " outputs"};
    (by == split::batch ? batch_ : hidden_) /= size;
    x_         = floats(std::int64_t{batch_} * whole.in);
    h_         = floats(units());
    dh_        = floats(units());
    y_         = floats(std::int64_t{batch_} * whole.out);
    weights_   = floats(w1_size() + w2_size());
    gradients_ = floats(w1_size() + w2_size());

    int const first_row  = by == split::batch ? rank * batch_ : 0;
    int const first_unit = by == split::hidden ? rank * hidden_ : 0;
    fill(x_.get(), 1, batch_, whole.in, first_row, 0, whole.in, 1.0f);
    fill(w1(), 2, whole.in, hidden_, 0, first_unit, whole.hidden,
         1.0f / std::sqrt(static_cast<float>(whole.in)));
    fill(w2(), 3, hidden_, whole.out, first_unit, 0, whole.out,
         1.0f / std::sqrt(static_cast<float>(whole.hidden)));
    for (int row = 0; row < batch_; ++row) labels_.push_back(label(first_row + row, whole.out));
  }

  /// The label of an example: any number below `out`.
  static int label(int example, int out) {
    return static_cast<int>((random_at(4, example) + 1.0f) / 2.0f * static_cast<float>(out));
  }

  /// One step; the mean loss of the whole batch before the weights change.
  double operator()() {
    int const in     = whole_.in;
    int const out    = whole_.out;
    float* const x   = x_.get();
    float* const h   = h_.get();
    float* const dh  = dh_.get();
    float* const y   = y_.get();
    float* const dw1 = gradients_.get();
    float* const dw2 = dw1 + w1_size();

    gemm('N', 'N', batch_, hidden_, in, x, w1(), h);
    relu(h, units());
    gemm('N', 'N', batch_, out, hidden_, h, w2(), y);
    if (by_ == split::hidden) all_reduce(comm_, y, std::int64_t{batch_} * out, scratch_.get());

    // y is dy from here
    double loss =
        softmax_cross_entropy(y, labels_.data(), batch_, out, 1.0f / static_cast<float>(whole_.batch)) /
        whole_.batch;

    gemm('T', 'N', hidden_, out, batch_, h, y, dw2);
    gemm('N', 'T', batch_, hidden_, out, y, w2(), dh);
    relu_gradient(h, dh, units());
    gemm('T', 'N', in, hidden_, batch_, x, dh, dw1);

    if (by_ == split::batch) {
      all_reduce(comm_, dw1, w1_size() + w2_size(), scratch_.get());
      MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, comm_);
    }
    descend(w1(), dw1, rate_, w1_size() + w2_size());
    return loss;
  }

private:
  std::int64_t w1_size() const { return std::int64_t{whole_.in} * hidden_; }
  std::int64_t w2_size() const { return std::int64_t{hidden_} * whole_.out; }
  std::int64_t units() const { return std::int64_t{batch_} * hidden_; }
  float* w1() { return weights_.get(); }
  float* w2() { return weights_.get() + w1_size(); }

  MPI_Comm comm_;
  split by_;
  float rate_;
  mlp_sizes whole_;
  // of this process
  int batch_  = whole_.batch;
  int hidden_ = whole_.hidden;
  std::vector<int> labels_;
  buffer x_;
  buffer h_;
  buffer dh_;
  buffer y_;
  buffer weights_;
  buffer gradients_;
  buffer scratch_ = floats(piece);
};

/// relu(x w1) w2 of a batch of 8, too small for the work to hide what a call costs. The hidden units are
/// divided among the processes.
class small_forward {
public:
  static constexpr int batch  = 8;
  static constexpr int in     = 64;
  static constexpr int hidden = 256;
  static constexpr int out    = 64;

  explicit small_forward(MPI_Comm comm) : comm_{comm} {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (hidden % size != 0)
      throw std::invalid_argument{"expected a number of processes that divides hidden 256, got " +
                                  std::to_string(size)};
    units_ = hidden / size;
    fill(x_.get(), 1, batch, in, 0, 0, in, 1.0f);
    fill(w1_.get(), 2, in, units_, 0, rank * units_, hidden, 0.125f);
    fill(w2_.get(), 3, units_, out, rank * units_, 0, out, 0.0625f);
  }

  float const* operator()() {
    gemm('N', 'N', batch, units_, in, x_.get(), w1_.get(), h_.get());
    relu(h_.get(), std::int64_t{batch} * units_);
    gemm('N', 'N', batch, out, units_, h_.get(), w2_.get(), y_.get());
    MPI_Allreduce(MPI_IN_PLACE, y_.get(), batch * out, MPI_FLOAT, MPI_SUM, comm_);
    return y_.get();
  }

private:
  MPI_Comm comm_;
  int units_ = hidden;
  buffer x_  = floats(batch * in);
  buffer w1_ = floats(in * hidden);
  buffer w2_ = floats(hidden * out);
  buffer h_  = floats(batch * hidden);
  buffer y_  = floats(batch * out);
};

}  // namespace by_hand
