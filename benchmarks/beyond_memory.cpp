// The training step of a Transformer language model in less and less memory: its blocks recomputed or
// spilled, the state of its optimizer in the file between two updates, its parameters updated in the backward
// pass, its weights in the file too.
//
// The model of small_language_model.hpp: 6 layers of 384, 10.84 million parameters, AdamW, one process. One
// variant a run, so that the resident memory is its own:
//
//     for v in kept recomputed spilled halves {spilled,halves}+state
//         {spilled,halves,parts,recomputed,recomputed_halves}+backward recomputed_halves+weights; do
//       build/release/benchmarks/beyond_memory --only $v --rounds 10; done
//
// Each prints the promised peak, the resident memory (and what of it the process had before it made its first
// array: libraries, MPI, the program), the seconds of a step and those of the processor, the bytes to the
// file and back, the seconds waited, and the last loss, whose digits are equal. `--only file` prints the
// rates of the file.
#include "setting.hpp"
#include "small_language_model.hpp"
#include "timing.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace {

/// What is done with a block. `halves` spills attention and feed-forward one by one; `parts` spills the
/// feed-forward in two, and recomputes the second, the gelu and the product that follows it. What is
/// recomputed has its arguments in the file where parameters are updated in the backward pass.
enum class held { kept, recomputed, spilled, halves, parts, recomputed_halves };

/// When and where the optimizer works; with `weights_in_file` in the backward pass, and the weights of a half
/// are in memory while it works.
enum class updates { after, state_in_file, in_backward, weights_in_file };

template<class X>
constexpr auto normed(auto const& norm, meshtf::nn::residual<X> const& x) {
  return norm(x.stream, x.branch);
}
template<class X>
struct first {
  X sum;
  X norm;
};
template<meshtf::Tensor X>
constexpr auto normed(auto const& norm, X const& x) {
  return first<X>{x, norm(x)};
}

/// The halves of a block.
template<class Block>
struct attention_half {
  Block* b;
  template<class X>
  constexpr auto operator()(X const& before) const {
    auto r = normed(b->norm1, before);
    return meshtf::nn::detail::residual_of(std::move(r.sum), b->attention(r.norm));
  }
  constexpr auto parameters() { return meshtf::parameters(b->norm1, b->attention); }
};
template<class Block>
struct feed_half {
  Block* b;
  template<class X>
  constexpr auto operator()(X const& before) const {
    auto r = normed(b->norm2, before);
    return meshtf::nn::detail::residual_of(std::move(r.sum), b->feed(r.norm));
  }
  constexpr auto parameters() { return meshtf::parameters(b->norm2, b->feed); }
};

template<meshtf::Layout L>
struct training {
  using model_type = meshtf::nn::transformer<float, L, base>;
  using block_type = std::remove_reference_t<decltype(std::declval<model_type&>().blocks[0])>;
  using random     = random_language_model<L, batch, base>;

  model_type net;
  meshtf::adamw opt{3e-4, 0.1};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;
  std::array<attention_half<block_type>, base::layers> attends{};
  std::array<feed_half<block_type>, base::layers> feeds{};
  meshtf::weights_in_file<meshtf::machine<L>> file;
  held blocks;
  bool in_backward;
  bool sends_weights;

  constexpr training(meshtf::machine<L>& m, held h, updates u)
      : net{m, 1},
        ids{random::random_ids(m, 2)},
        targets{random::random_ids(m, 3)},
        file{m},
        blocks(h),
        in_backward(u == updates::in_backward || u == updates::weights_in_file),
        sends_weights(u == updates::weights_in_file) {
    for (std::size_t i = 0; i < base::layers; ++i) {
      attends[i].b = feeds[i].b = &net.blocks[i];
      if (!sends_weights) continue;
      file.send_away(attends[i]);
      file.send_away(feeds[i]);
    }
    opt.spill_state = u != updates::after;
    opt.prepare(parameters(net));
    if (in_backward) step();  // the first one does not know yet whose state the backward pass needs next
  }

  constexpr auto step() {
    auto result = loss();
    if (in_backward) {
      backward(result, opt, parameters(net));
    } else {
      backward(result);
      opt.step(parameters(net));
    }
    return result;
  }

private:
  /// A function of its own, so that no variable holds what the backward pass is done with.
  constexpr auto loss() {
    auto const& model_ = net;
    auto r             = block(0, model_.positions(model_.tokens(ids)));
    for (std::size_t i = 1; i < model_.blocks.size(); ++i) {
      auto next = block(i, r);
      r         = std::move(next);
    }
    auto const last = model_.norm(r.stream, r.branch);
    return mean(meshtf::softmax_cross_entropy<vocab>(model_.tokens.logits(last.norm), targets));
  }
  /// f(x), recomputed, with x in the file.
  template<class F>
  static constexpr auto recompute_from_file(F const& f, auto const& x) {
    return spill([&f](auto const& y) { return recompute(f, y); }, x);
  }
  constexpr auto block(std::size_t i, auto const& x) {
    auto const& b      = net.blocks[i];
    auto const whole   = [&b](auto const& before) { return b(before); };
    auto const& attend = attends[i];
    auto const& feed   = feeds[i];
    if (sends_weights) return half_from_file(feeds[i], half_from_file(attends[i], x));
    switch (blocks) {
      case held::recomputed:
        if (in_backward) return recompute_from_file(whole, x);
        return recompute(whole, x);
      case held::spilled: return spill(whole, x);
      case held::halves: return spill(feed, spill(attend, x));
      case held::recomputed_halves: return recompute_from_file(feed, recompute_from_file(attend, x));
      case held::parts: return fed_in_parts(b, spill(attend, x));
      case held::kept: break;
    }
    return whole(x);
  }
  /// The same with its weights in the file.
  constexpr auto half_from_file(auto& half, auto const& x) {
    return recompute_from_file([this, &half](auto const& y) { return file(half, y); }, x);
  }
  template<class X>
  static constexpr auto fed_in_parts(auto const& b, meshtf::nn::residual<X> const& x) {
    auto const up = [&b](auto const& before) {
      auto r = normed(b.norm2, before);
      return std::tuple{std::move(r.sum), b.feed.up.without_bias(r.norm)};
    };
    auto const down     = [&b](auto const& y) { return b.feed.down(bias_gelu(y, b.feed.up.bias)); };
    auto [stream, wide] = spill(up, x);
    return meshtf::nn::detail::residual_of(std::move(stream), recompute_from_file(down, wide));
  }
};

struct variant {
  char const* name;
  held blocks;
  updates when;
};
constexpr std::array variants{
    variant{"kept", held::kept, updates::after},
    variant{"recomputed", held::recomputed, updates::after},
    variant{"spilled", held::spilled, updates::after},
    variant{"halves", held::halves, updates::after},
    variant{"spilled+state", held::spilled, updates::state_in_file},
    variant{"halves+state", held::halves, updates::state_in_file},
    variant{"spilled+backward", held::spilled, updates::in_backward},
    variant{"halves+backward", held::halves, updates::in_backward},
    variant{"parts+backward", held::parts, updates::in_backward},
    variant{"recomputed+backward", held::recomputed, updates::in_backward},
    variant{"recomputed_halves+backward", held::recomputed_halves, updates::in_backward},
    variant{"recomputed_halves+weights", held::recomputed_halves, updates::weights_in_file}};

template<std::size_t I>
constexpr auto price = meshtf::dry_run<training, alone>(variants[I].blocks, variants[I].when);

/// Bytes of this process in memory now.
double resident() {
  std::ifstream pages{"/proc/self/statm"};
  long all   = 0;
  long there = 0;
  pages >> all >> there;
  return static_cast<double>(there) * static_cast<double>(sysconf(_SC_PAGESIZE));
}
/// Seconds of the processor, of all threads of this process.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto const seconds = [](timeval const& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

template<std::size_t I>
void measure(bench::options const& options) {
  if (options.only != variants[I].name) return;
  static constexpr auto const& promised = price<I>;
  meshtf::process_mesh<meshtf::mesh<>> m{MPI_COMM_WORLD};
  double const before = resident();
  training<alone> program{m, variants[I].blocks, variants[I].when};
  auto const counted = meshtf::recorded<alone>(m, [&]<class L>(auto&) { program.step(); });
  if (counted.peak_bytes() != promised.peak_bytes() || counted.bytes_spilled() != promised.bytes_spilled())
    throw meshtf::software_error("expected the promised peak and bytes, got others");
  for (int i = 0; i < 2; ++i) program.step();  // the pool settles
  int const blocks    = m.memory().blocks();
  double const waited = m.seconds_waited_for_file();
  double const used   = processor_seconds();
  std::vector<double> seconds;
  double loss = 0;
  for (int i = 0; i < options.rounds; ++i) {
    double const begin = MPI_Wtime();
    loss               = static_cast<double>(program.step().value());
    seconds.push_back(MPI_Wtime() - begin);
  }
  if (m.memory().blocks() != blocks)
    throw meshtf::software_error("expected no new memory in a steady step, got some");
  auto const megabytes = [](auto bytes) { return 1e-6 * static_cast<double>(bytes); };
  std::printf(
      "%-26s peak %6.1f MB (1/%.2f), resident %6.1f MB (%.1f before), step %.3f s (fastest %.3f, "
      "processor %.3f), spilled %6.1f MB, waited %.3f s, loss %.7f\n",
      variants[I].name, megabytes(promised.peak_bytes()),
      static_cast<double>(price<0>.peak_bytes()) / static_cast<double>(promised.peak_bytes()),
      megabytes(bench::peak_resident()), megabytes(before), bench::quantile(seconds, 0.5),
      *std::min_element(seconds.begin(), seconds.end()), (processor_seconds() - used) / options.rounds,
      megabytes(promised.bytes_spilled()), (m.seconds_waited_for_file() - waited) / options.rounds, loss);
}

/// Arrays of 8 MB to the file and back.
void measure_file() {
  constexpr meshtf::extent bytes = 8 << 20;
  constexpr std::size_t arrays   = 64;
  meshtf::detail::spill_file file;
  std::vector<char> x(std::size_t{bytes}, 'x');
  std::vector<meshtf::detail::file_place> places(arrays);
  boost::mpi::communicator const here{MPI_COMM_SELF, boost::mpi::comm_attach};
  auto const rate = [&](auto const& ask) {
    double const begin = MPI_Wtime();
    for (auto& p : places) ask(p);
    file.wait(places.back());
    return 1e-9 * static_cast<double>(bytes) * static_cast<double>(arrays) / (MPI_Wtime() - begin);
  };
  auto const write = [&](auto& p) { file.write(x.data(), bytes, p, here); };
  rate(write);  // the file grows
  double const written = rate(write);
  double const read    = rate([&](auto& p) { file.read(x.data(), bytes, p); });
  std::printf("the file: %.2f GB/s written, %.2f GB/s read\n", written, read);
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  auto const options = bench::read(argc, argv);
  if (options.only == "file") return measure_file(), 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (measure<I>(options), ...);
  }(std::make_index_sequence<variants.size()>{});
}
