// What a step waits for its batch: images in a file, which a batch is read from, decompressed and scaled, by
// the step itself or by a thread before it, beside the same step on a batch that stays in memory.
//
// Run:    examples/processes 1 build/release/benchmarks/prefetch
// Prints: medians and ratios to the step with resident data, of time and of the main thread's processor time
//         (own), which tells the same where no core is idle for the other thread.
#include "timing.hpp"

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>
#if MESHTF_WITH_ZLIB
#include <zlib.h>
#endif

#include <meshtf/data/prefetched.hpp>
#include <meshtf/meshtf.hpp>

namespace {

using meshtf::extent;

struct batch : meshtf::dim<256> {};
struct pixels : meshtf::dim<3072> {};
struct hidden : meshtf::dim<512> {};
struct classes : meshtf::dim<16> {};
struct one : meshtf::axis<1> {};
struct point : meshtf::mesh<one> {};
struct alone : meshtf::layout<point> {};

constexpr std::size_t batch_bytes = batch::size * (pixels::size + 1);  // a class after each image
constexpr extent batches_in_file  = 24;

std::vector<std::uint8_t> compressed(std::vector<std::uint8_t> const& plain) {
#if MESHTF_WITH_ZLIB
  auto bound = compressBound(plain.size());
  std::vector<std::uint8_t> small(bound);
  compress2(small.data(), &bound, plain.data(), plain.size(), 6);
  small.resize(bound);
  return small;
#else
  return plain;
#endif
}

/// A file of batches in blocks of their own, which the system removes when the program ends.
class file_of_batches {
public:
  file_of_batches() : file_{std::tmpfile()} {
    if (!file_) throw meshtf::unavailable("expected a temporary file, got none: make room in /tmp");
    std::vector<std::uint8_t> plain(batch_bytes);
    std::uint64_t draw = 1;
    long begin         = 0;
    for (extent i = 0; i < batches_in_file; ++i) {
      for (auto& byte : plain) {  // four values: it shrinks as images do
        draw = draw * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::uint8_t>(draw >> 62);
      }
      auto const block = compressed(plain);
      if (std::fwrite(block.data(), 1, block.size(), file_.get()) != block.size())
        throw meshtf::unavailable("expected room for a temporary file, got none: make room in /tmp");
      blocks_.push_back({begin, block.size()});
      begin += static_cast<long>(block.size());
    }
    std::fflush(file_.get());
  }

  /// Batch number `i`, decompressed into `plain`.
  void read(extent i, std::vector<std::uint8_t>& block, std::vector<std::uint8_t>& plain) const {
    auto const& [begin, size] = blocks_[static_cast<std::size_t>(i % batches_in_file)];
    block.resize(size);
    plain.resize(batch_bytes);
    if (pread(fileno(file_.get()), block.data(), size, begin) != static_cast<ssize_t>(size))
      throw meshtf::no_input("expected to read a temporary file, got an error");
#if MESHTF_WITH_ZLIB
    auto length = static_cast<uLongf>(batch_bytes);
    if (uncompress(plain.data(), &length, block.data(), size) != Z_OK)
      throw meshtf::data_error("expected a sound block in a temporary file, got a damaged one");
#else
    plain = block;
#endif
  }

private:
  struct closes {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct block_in_file {
    long begin;
    std::size_t size;
  };
  std::unique_ptr<std::FILE, closes> file_;
  std::vector<block_in_file> blocks_;
};

/// Reads them in order, again and again.
class file_reader {
public:
  explicit file_reader(file_of_batches const& from) : from_{from} {}

  template<class L>
  void fill(meshtf::batch_part<float, L, batch, pixels> const& x,
            meshtf::batch_part<int, L, batch> const& labels) {
    from_.read(step_++, block_, plain_);
    std::uint8_t const* byte = plain_.data();
    for (extent image = 0; image < batch::size; ++image) {
      for (extent p = 0; p < pixels::size; ++p)
        x.data()[image * pixels::size + p] = static_cast<float>(*byte++) / 3 - 0.5F;
      labels.data()[image] = *byte++;
    }
  }
  template<class L>
  void next(meshtf::tensor<float, L, batch, pixels>& x, meshtf::tensor<int, L, batch>& labels) {
    fill(meshtf::batch_part{x}, meshtf::batch_part{labels});
  }
  void seek(extent step) { step_ = step; }
  extent position() const { return step_; }

private:
  file_of_batches const& from_;
  extent step_ = 0;
  std::vector<std::uint8_t> block_;
  std::vector<std::uint8_t> plain_;
};

template<meshtf::Layout L>
struct training {
  meshtf::nn::linear<float, L, pixels, hidden> up;
  meshtf::nn::linear<float, L, hidden, classes> out;
  meshtf::adam opt{1e-4};
  meshtf::tensor<float, L, batch, pixels> x;
  meshtf::tensor<int, L, batch> labels;

  constexpr explicit training(meshtf::machine<L>& m)
      : up{m, meshtf::he_normal{1}}, out{m, meshtf::he_normal{2}}, x{m}, labels{m} {}

  constexpr void step() {
    backward(mean(meshtf::softmax_cross_entropy<classes>(out(relu(up(x))), labels)));
    opt.step(meshtf::parameters(up, out));
  }
};

/// The processor time of this thread for a step, in the median.
double own_seconds(std::function<void()> const& step) {
  auto const now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  std::vector<double> samples;
  for (int i = 0; i < 60; ++i) {
    double const begin = now();
    step();
    samples.push_back(now() - begin);
  }
  return bench::quantile(samples, 0.5);
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<point> m{env.world()};
  training<alone> t{m};
  file_of_batches const file;
  file_reader plain{file};
  meshtf::prefetched ahead{file_reader{file}, 2};
  plain.next(t.x, t.labels);
  std::vector<bench::variant> const variants{{"the batch stays in memory", [&] { t.step(); }, true},
                                             {"read by the step itself",
                                              [&] {
                                                plain.next(t.x, t.labels);
                                                t.step();
                                              }},
                                             {"prefetched, 2 batches", [&] {
                                                ahead.next(t.x, t.labels);
                                                t.step();
                                              }}};
  auto const times    = bench::interleave(env.world(), variants, 15, 20);
  auto const resident = own_seconds(variants[0].step);
  bench::report{env.world()}.add("a step on 256 images of 3,072 bytes", times, [&](bench::timing const& of) {
    std::size_t i = 0;
    while (variants[i].name != of.name) ++i;
    double const own = own_seconds(variants[i].step);
    return bench::report::extras{{"own_ms", 1e3 * own}, {"own_ratio", own / resident}};
  });
}
