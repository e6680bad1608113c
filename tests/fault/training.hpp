// A training of four processes that saves, for tests of what faults do to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <meshtf/meshtf.hpp>

namespace training {

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<32> {};
struct out : meshtf::dim<256> {};
struct line : meshtf::axis<4> {};
struct four : meshtf::mesh<line> {};
struct divided : meshtf::layout<four, meshtf::split<out, line>> {};

/// Two arrays, of which each process has two chunks and a bit.
class net {
private:
  auto list() { return parameters(named("w", w_), named("b", b_)); }

public:
  net() { meshtf::detail::chunk_bytes = 4096; }

  /// A step with the same loss each time.
  double step() {
    auto const z    = meshtf::einsum<batch, out>(x_, w_);
    auto const loss = mean(square(z + 1.0F));
    backward(loss);
    meshtf::sgd{0.1}.step(list());
    return static_cast<double>(loss.value());
  }

  void set(float x) {
    std::fill_n(w_.data(), w_.size, x);
    std::fill_n(b_.data(), b_.size, double{x} + 0.5);
  }
  bool has(float x) const {
    return std::all_of(w_.data(), w_.data() + w_.size, [x](float y) { return x == y; }) &&
           std::all_of(b_.data(), b_.data() + b_.size, [x](double y) { return double{x} + 0.5 == y; });
  }
  /// Each element is its number in the whole.
  void number() {
    for (int i = 0; i < w_.size; ++i) w_.data()[i] = static_cast<float>(number_of(i));
    for (int i = 0; i < b_.size; ++i) b_.data()[i] = number_of(i) + 0.5;
  }
  bool is_numbered() const {
    bool is = true;
    for (int i = 0; i < w_.size; ++i) is = is && w_.data()[i] == static_cast<float>(number_of(i));
    for (int i = 0; i < b_.size; ++i) is = is && b_.data()[i] == number_of(i) + 0.5;
    return is;
  }
  void save_numbered(std::uint64_t k, std::string const& folder) {
    number();
    save(list(), {k, 7}, folder);
  }
  /// The values are those of step k: all k.
  void save_step(std::uint64_t k, std::string const& folder) { save_as(k, static_cast<float>(k), folder); }
  void save_as(std::uint64_t k, float value, std::string const& folder) {
    set(value);
    save(list(), {k, 7}, folder);
  }
  std::uint64_t load_from(std::string const& path) {
    set(-1);
    return load(list(), path).step;
  }
  /// A model of two files: each has an array.
  void save_model(float value, std::string const& folder) {
    set(value);
    save(list(), folder, meshtf::several_files{.max_bytes = 1});
  }
  void load_model(std::string const& folder) {
    set(-1);
    load(list(), folder);
  }
  int rank() const { return m_.rank(); }
  boost::mpi::communicator const& world() const { return m_.world(); }

private:
  /// The place of element i of this process, whose last dimension is out.
  int number_of(int i) const {
    constexpr int width = out::size / line::size;
    return i / width * static_cast<int>(out::size) + m_.rank() * width + i % width;
  }

  meshtf::process_mesh<four> m_{MPI_COMM_WORLD};
  meshtf::tensor<float, divided, batch, in> x_{m_};
  meshtf::parameter<float, divided, in, out> w_{m_, meshtf::constant{0}};
  meshtf::parameter<double, divided, out> b_{m_, meshtf::constant{0}};
};

/// The folders in a folder.
inline std::vector<std::string> folders_in(std::string const& folder) {
  std::vector<std::string> names;
  if (!std::filesystem::is_directory(folder)) return names;
  for (auto const& entry : std::filesystem::directory_iterator{folder})
    if (entry.is_directory()) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace training
