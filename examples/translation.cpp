// Trains an encoder and a decoder to translate English to French: packed pairs, any layout, one source.
//
// With four processes first a few steps under each of three layouts: the losses must be equal, and what each
// layout sends must be what the compiler promised. Then training under one of them.
// Two sizes are two programs. One binary for 1, 2, 4, 8 or 16 processes.
// Run:    examples/processes 2 build/release/examples/translation_tiny   (examples/translate makes the text
// and the vocabulary, builds it and runs it) Prints: a table of the layouts, promised and counted, then the
// losses of the training and on dev.tsv; with
// --translate, how many sentences it has translated.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <boost/mpi/collectives/broadcast.hpp>

#include <meshtf/io/checkpoint.hpp>
#include <meshtf/meshtf.hpp>
#include <meshtf/nn/seq2seq.hpp>

#include "progress.hpp"
#include "side_by_side.hpp"
#include "translation_options.hpp"
#include "translation_text.hpp"

#ifndef MODEL_SIZE
#define MODEL_SIZE tiny  // one size a program: sizes are types, and each is compiled for seven layouts
#endif

namespace {

// ---- the model ------------------------------------------------------------------------------------------

/// What a size is, and how it learns.
struct model_size {
  char const* name;
  int layers;  // of the encoder, and of the decoder
  meshtf::extent pieces;
  meshtf::extent model;
  meshtf::extent heads;
  meshtf::extent key;
  meshtf::extent source;  // positions in a row
  meshtf::extent target;
  meshtf::extent batch;  // rows
  double rate;           // the learning rate after the warm-up
  long warmup;
  long steps;
  long pace;  // of the loss on dev.tsv, in steps
};
// A step has as many target positions as batch * target. A French side has 1.17 times the ids of an English
// one, so rows of 112 and 128 positions fill up together.
// clang-format off
//                                               layers pieces width heads key source target batch rate warmup steps pace
[[maybe_unused]] constexpr model_size tiny{"tiny",   2,  2000,  128,    4, 32,   112,   128,   16, 4e-3,   200, 1500,  250};
[[maybe_unused]] constexpr model_size base{"base",   3,  8000,  256,    4, 64,   112,   128,   32, 2e-3,   400, 4800,  200};
// clang-format on
constexpr model_size size = MODEL_SIZE;

// clang-format off
struct batch  : meshtf::dim<size.batch>     {};   // dimensions: a name and a size
struct source : meshtf::dim<size.source>    {};
struct target : meshtf::dim<size.target>    {};
struct vocab  : meshtf::dim<size.pieces>    {};
struct model  : meshtf::dim<size.model>     {};
struct heads  : meshtf::dim<size.heads>     {};
struct key    : meshtf::dim<size.key>       {};
struct hidden : meshtf::dim<4 * size.model> {};

/// The machine: processes as a rectangle, and the layouts on it.
template<int Rows, int Cols>
struct processes {
  struct rows : meshtf::axis<Rows> {};
  struct cols : meshtf::axis<Cols> {};
  struct grid : meshtf::mesh<rows, cols> { using machine = processes; };

  template<class Dim, class... Axis>
  using split = meshtf::split<Dim, Axis...>;
  struct replicated : meshtf::layout<grid> {};
  struct data       : meshtf::layout<grid, split<batch, rows, cols>> {};
  struct model      : meshtf::layout<grid, split<heads, rows, cols>, split<hidden, rows, cols>,
                                     split<vocab, rows, cols>> {};
  struct mixed      : meshtf::layout<grid, split<batch, rows>, split<heads, cols>, split<hidden, cols>,
                                     split<vocab, cols>> {};
};
using one     = processes<1, 1>;
using two     = processes<2, 1>;
using four    = processes<2, 2>;
using eight   = processes<8, 1>;
using sixteen = processes<16, 1>;

// the layouts on so many processes, and the one to train under unless another one is named
template<class P>
struct layouts_on : layouts<typename P::data> { using first_choice = typename P::data; };
template<> struct layouts_on<one>  : layouts<one::replicated> { using first_choice = one::replicated; };
template<> struct layouts_on<four> : layouts<four::data, four::model, four::mixed> {
  using first_choice = four::data;
};
// clang-format on

struct dims : meshtf::nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {
  static constexpr int encoder_layers = size.layers;
  static constexpr int decoder_layers = size.layers;
};

template<meshtf::Layout L>
struct training {
  meshtf::nn::seq2seq<float, L, dims> net;
  meshtf::adamw opt{size.rate, 0.01, 0.9, 0.98};
  meshtf::nn::seq2seq_loss_options how;
  meshtf::tensor<int, L, batch, source> from;
  meshtf::tensor<int, L, batch, source> pair_of_from;
  meshtf::tensor<int, L, batch, target> to;
  meshtf::tensor<int, L, batch, target> pair_of_to;

  constexpr explicit training(meshtf::machine<L>& m, std::uint64_t seed = 1)
      : net{m, seed},
        how{.dropout = {.rate = 0.1, .random = {.seed = seed, .stream = 0}},
            .terms   = {.label_smoothing = 0.1, .z_loss = 1e-4}},
        from{m},
        pair_of_from{m},
        to{m},
        pair_of_to{m} {
    opt.max_norm    = 1;
    opt.shard_state = true;  // processes that hold the same weights keep a part of their means each
    opt.prepare(net.parameters());
  }

  constexpr auto pairs() const { return meshtf::nn::packed_pairs{from, pair_of_from, to, pair_of_to}; }

  /// The mean loss of all targets, however many a process has.
  constexpr auto step() {
    auto const loss = net.loss(pairs(), how) / net.count(pairs());
    backward(loss);
    opt.step(net.parameters());  // adds the gradients up over the processes that share a parameter
    ++how.dropout.random.stream;
    return loss;
  }

  void take(batch_of_pairs const& rows) {
    auto& m      = from.machine();
    from         = meshtf::from_global<int, L, batch, source>(m, rows.source.ids);
    pair_of_from = meshtf::from_global<int, L, batch, source>(m, rows.source.segments);
    to           = meshtf::from_global<int, L, batch, target>(m, rows.target.ids);
    pair_of_to   = meshtf::from_global<int, L, batch, target>(m, rows.target.segments);
  }
};

constexpr meshtf::warmup_cosine schedule(long steps) {
  return {.peak         = size.rate,
          .warmup_steps = std::min(steps / 10 + 1, size.warmup),
          .total_steps  = steps,
          .floor        = size.rate / 20};
}

packed_batches batches_of(text_of_pairs const& text, std::uint64_t seed) {
  return {text.pairs, seed, batch::size, source::size, target::size};
}

template<class M>
void compare_layouts(meshtf::process_mesh<M>& m, text_of_pairs const& text, options const& chosen) {
  using all       = typename M::machine;
  auto const seed = static_cast<std::uint64_t>(chosen.seed.value_or(1));
  side_by_side<M, typename all::rows, typename all::cols> table{m, static_cast<std::size_t>(chosen.compare)};
  layouts_on<all>::visit(chosen.layout, [&]<class L>() {
    training<L> t{m, seed};
    t.opt.rate   = size.rate / 10;
    auto batches = batches_of(text, seed);
    table.add(t, [&] { t.take(batches.next()); });
  });
  table.finish(1e-3F);
}

// ---- training -------------------------------------------------------------------------------------------

/// The mean loss of all targets of `rows`, each once: without dropout and label smoothing.
template<meshtf::Layout L>
double evaluate(training<L>& t, text_of_pairs const& text, std::vector<row_of_pairs> const& rows) {
  meshtf::no_gradient const guard{t.from.machine()};
  double total = 0;
  double count = 0;
  for (std::size_t first = 0; first < rows.size(); first += std::size_t{batch::size}) {
    batch_of_pairs some{batch::size, source::size, target::size};
    for (std::size_t row = 0; row < std::size_t{batch::size} && first + row < rows.size(); ++row)
      some.put(row, text.pairs, rows[first + row]);
    t.take(some);
    total += t.net.loss(t.pairs()).value();
    count += t.net.count(t.pairs()).value();
  }
  return total / count;
}

std::vector<row_of_pairs> rows_in_order(text_of_pairs const& text) {
  std::vector<std::size_t> order(text.pairs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return packed(text.pairs, order, source::size, target::size);
}

/// The flops of products of a step, and of a batch of dev.tsv, of all processes.
struct teraflop {
  double of_step;
  double of_evaluation;

  /// After `steps` steps, with an evaluation each `pace` of them.
  double after(long steps, long pace) const {
    return static_cast<double>(steps) * of_step + static_cast<double>(steps / pace) * of_evaluation;
  }
};

/// Counted by the ledger, in a step of a model that is thrown away.
template<meshtf::Layout L>
teraflop count_flops(meshtf::machine<L>& m, text_of_pairs const& text, text_of_pairs const& dev,
                     std::vector<row_of_pairs> const& rows) {
  training<L> t{m};
  t.take(batches_of(text, 1).next());
  auto const all = [](auto const& counted) {
    return static_cast<double>(counted.flops()) * static_cast<double>(L::mesh_type::size) / 1e12;
  };
  auto const step       = meshtf::recorded<L>(m, [&]<class>(auto&) { t.step(); });
  auto const evaluation = meshtf::recorded<L>(m, [&]<class>(auto&) { evaluate(t, dev, rows); });
  return {all(step), all(evaluation)};
}

bool has_checkpoint(std::string const& folder) {
  std::error_code failed;
  for (auto const& entry : std::filesystem::directory_iterator{folder, failed})
    if (entry.path().extension() == ".safetensors") return true;
  return false;
}

/// Errors: `data_error` if the checkpoint is of another vocabulary.
void check_vocabulary(meshtf::training_position const& position, vocabulary const& words,
                      options const& chosen) {
  if (position.vocabulary == words.pieces.hash()) return;
  auto const spelled = [](std::uint64_t hash) {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return std::string{text};
  };
  throw meshtf::data_error("expected a checkpoint of the vocabulary " + spelled(words.pieces.hash()) +
                           " in " + chosen.checkpoint + ", got one of " + spelled(position.vocabulary) +
                           ": name its vocabulary after --vocabulary instead of " + chosen.vocabulary +
                           ", or another folder");
}

/// Goes on from a checkpoint: the model, the optimizer and the place in the text become its own.
template<meshtf::Layout L>
meshtf::training_position resume(training<L>& t, vocabulary const& words, options const& chosen) {
  auto const at = meshtf::load(t.net.parameters(), t.opt, chosen.checkpoint);
  check_vocabulary(at, words, chosen);
  if (chosen.seed && at.seed != static_cast<std::uint64_t>(*chosen.seed))
    throw meshtf::usage_error("expected --seed " + std::to_string(at.seed) + ", that of the training in " +
                              chosen.checkpoint + ", got " + std::to_string(*chosen.seed) +
                              ": leave --seed out");
  t.how.dropout.random = {.seed = at.seed, .stream = at.step};
  return at;
}

/// What there is to train with.
struct texts {
  vocabulary const& words;
  text_of_pairs training;
  text_of_pairs dev;
};

/// The least loss on dev.tsv so far, whose parameters are in the folder `best` below that of the checkpoints.
template<meshtf::Layout L>
class best_parameters {
public:
  best_parameters(training<L>& t, texts const& text, std::vector<row_of_pairs> const& rows,
                  options const& chosen)
      : folder_{chosen.checkpoint.empty() ? "" : chosen.checkpoint + "/best"} {
    auto& m      = t.from.machine();
    int is_there = m.rank() == 0 && !folder_.empty() && has_checkpoint(folder_) ? 1 : 0;
    boost::mpi::broadcast(m.world(), is_there, 0);
    if (is_there == 0) return;
    check_vocabulary(meshtf::load(t.net.parameters(), folder_), text.words, chosen);
    least_ = evaluate(t, text.dev, rows);
  }

  /// True if it is the least.
  bool add(training<L>& t, double loss, meshtf::training_position const& at) {
    if (!(loss < least_)) return false;
    least_ = loss;
    if (!folder_.empty()) meshtf::save(t.net.parameters(), at, folder_);
    return true;
  }

private:
  std::string folder_;
  double least_ = std::numeric_limits<double>::infinity();
};

/// Ends a training by the clock of one process, at the same step on all.
template<class M>
bool time_is_over(meshtf::process_mesh<M> const& m, options const& chosen, wall_clock::time_point start) {
  if (chosen.minutes == 0) return false;
  int over = seconds_since(start) >= 60.0 * static_cast<double>(chosen.minutes) ? 1 : 0;
  boost::mpi::broadcast(m.world(), over, 0);
  return over != 0;
}

long steps_of(options const& chosen, teraflop const& cost) {
  if (chosen.tflop == 0) return chosen.steps == 0 ? size.steps : chosen.steps;
  long steps = static_cast<long>(static_cast<double>(chosen.tflop) / cost.of_step);
  while (steps > 1 && cost.after(steps, chosen.pace) > static_cast<double>(chosen.tflop)) --steps;
  return chosen.steps == 0 ? steps : std::min(steps, chosen.steps);
}

/// What a line of progress says, since the line before it.
struct since_last_line {
  double loss    = 0;
  double targets = 0;
  double seconds = 0;
  long steps     = 0;
};

template<meshtf::Layout L>
void train(meshtf::machine<L>& m, texts const& text, options const& chosen, wall_clock::time_point start) {
  auto const dev_rows = rows_in_order(text.dev);
  auto const cost     = count_flops<L>(m, text.training, text.dev, dev_rows);
  auto const steps    = steps_of(chosen, cost);
  meshtf::training_position at{.step       = 0,
                               .seed       = static_cast<std::uint64_t>(chosen.seed.value_or(1)),
                               .vocabulary = text.words.pieces.hash()};
  training<L> t{m, at.seed};
  best_parameters<L> best{t, text, dev_rows, chosen};
  int is_there = m.rank() == 0 && !chosen.checkpoint.empty() && has_checkpoint(chosen.checkpoint) ? 1 : 0;
  boost::mpi::broadcast(m.world(), is_there, 0);
  if (is_there != 0) at = resume(t, text.words, chosen);
  m.agree(t.net.parameters());
  auto const first = static_cast<long>(at.step);
  auto batches     = batches_of(text.training, at.seed);
  say(m, "%zu pairs in %zu rows of %ld and %ld positions, %.1f %% of which are wasted\n",
      text.training.pairs.size(), batches.rows(), static_cast<long>(source::size),
      static_cast<long>(target::size), 100 * batches.wasted());
  batches.seek(at.step);
  say(m, "training under %s on %d processes: steps %ld to %ld of %ld rows each, %.4f Tflop a step\n",
      name<L>.c_str(), m.world().size(), first + 1, steps, static_cast<long>(batch::size), cost.of_step);

  auto const rate = schedule(steps);
  progress shown{m.rank() == 0, first, steps, chosen.every, chosen.plain};
  since_last_line so_far;
  double dev_loss = 0;
  auto const save = [&](long step) {
    at.step = static_cast<std::uint64_t>(step);
    if (!chosen.checkpoint.empty()) meshtf::save(t.net.parameters(), t.opt, at, chosen.checkpoint);
  };
  for (long step = first; step < steps;) {
    auto const began = wall_clock::now();
    auto const rows  = batches.next();
    t.take(rows);
    t.opt.rate = rate(step);
    so_far.loss += t.step().value();
    so_far.targets += std::accumulate(rows.target.segments.begin(), rows.target.segments.end(), 0.0,
                                      [](double n, std::int32_t pair) { return n + (pair != 0 ? 1 : 0); });
    so_far.seconds += seconds_since(began);
    ++so_far.steps;
    ++step;
    bool const ends = time_is_over(m, chosen, start);
    if (step % chosen.pace == 0 || step == steps) {
      save(step);
      dev_loss = evaluate(t, text.dev, dev_rows);
      best.add(t, dev_loss, at);
    } else if (ends) {
      save(step);
    }
    if (shown.at(step)) {
      shown.say(
          "loss %.4f  dev %.4f  %6.1f Tflop  epoch %4.1f  rate %.2e  %6.0f tokens/s",
          so_far.loss / static_cast<double>(so_far.steps), dev_loss, cost.after(step, chosen.pace),
          static_cast<double>(step) * static_cast<double>(batch::size) / static_cast<double>(batches.rows()),
          t.opt.rate, so_far.targets / so_far.seconds);
      so_far = {};
    }
    if (ends) {
      say(m, "%ld minutes are over after step %ld of %ld\n", chosen.minutes, step, steps);
      break;
    }
  }
  if (!chosen.checkpoint.empty()) say(m, "saved in %s\n", chosen.checkpoint.c_str());
}

// ---- translating ----------------------------------------------------------------------------------------

/// Sentences as ids, the most probable next one at a time.
template<meshtf::Layout L>
std::vector<id_list> translated(training<L>& t, vocabulary const& words,
                                std::vector<id_list> const& sentences) {
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // a batch takes as many steps as its longest sentence
  sort_longest_first(order, [&](std::size_t i) { return sentences[i].size(); });
  std::vector<id_list> found(sentences.size());
  for (std::size_t first = 0; first < order.size(); first += std::size_t{batch::size}) {
    batch_of_pairs some{batch::size, source::size, target::size};
    for (std::size_t row = 0; row < std::size_t{batch::size}; ++row) {
      std::size_t at = 0;  // the last batch is filled up with its last sentence
      some.source.put(row, at, sentences[order[std::min(first + row, order.size() - 1)]], 1);
    }
    t.take(some);
    auto const ids = to_global(t.net.greedy(meshtf::nn::source_rows{t.from, t.pair_of_from}, words.end));
    for (std::size_t row = 0; row < std::size_t{batch::size} && first + row < order.size(); ++row)
      for (std::size_t i = 0; i < ids.shape(1) && ids(row, i) > words.end; ++i)
        found[order[first + row]].push_back(ids(row, i));
  }
  return found;
}

template<meshtf::Layout L>
void translate(meshtf::machine<L>& m, vocabulary const& words, options const& chosen) {
  auto const start = wall_clock::now();
  training<L> t{m};
  auto const best = chosen.checkpoint + "/best";
  int is_there    = m.rank() == 0 && has_checkpoint(best) ? 1 : 0;
  boost::mpi::broadcast(m.world(), is_there, 0);
  check_vocabulary(meshtf::load(t.net.parameters(), is_there != 0 ? best : chosen.checkpoint), words, chosen);

  vocabulary::too_long too_long;
  auto const sentences = meshtf::agreed(m.world(), [&] {
    auto const file = meshtf::read_text(chosen.translate);
    std::vector<id_list> made;
    for (auto const line : lines_of(file))
      made.push_back(
          words.ids(line, chosen.translate, made.size() + 1, source::size, chosen.strict, too_long));
    return made;
  });
  if (too_long.cut != 0)
    say(m, "%ld of %zu sentences have more than %ld pieces and are cut, %s first\n", too_long.cut,
        sentences.size(), static_cast<long>(source::size) - 1,
        line_of(chosen.translate, too_long.first).c_str());
  auto const found = translated(t, words, sentences);
  meshtf::agreed(m.world(), [&] {
    if (m.rank() != 0) return;
    std::ofstream out{chosen.to, std::ios::binary};
    for (auto const& ids : found) out << words.pieces.decode(ids) << '\n';
    if (!(out << std::flush))
      throw meshtf::unavailable("expected to write the translations to " + chosen.to +
                                ", got an error: name a file in a folder that is there, or make room");
  });
  say(m, "%zu sentences translated in %.1f s: %s\n", sentences.size(), seconds_since(start),
      chosen.to.c_str());
}

// ---- what is given --------------------------------------------------------------------------------------

/// A folder that checkpoints can't go to is refused. One process looks.
void check_folder(options const& chosen, bool here) {
  if (!here || chosen.checkpoint.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(chosen.checkpoint, failed);
  if (failed || access(chosen.checkpoint.c_str(), W_OK | X_OK) != 0)
    throw meshtf::unavailable("expected a folder that can be written after --checkpoint, got '" +
                              chosen.checkpoint + "': " + (failed ? failed.message() : "permission denied") +
                              ": name another one");
}

template<class M>
text_of_pairs read_set(meshtf::process_mesh<M>& m, vocabulary const& words, options const& chosen,
                       std::string const& set) {
  auto const path = chosen.folder + "/" + set + ".tsv";
  auto read       = read_pairs(m.world(), words, path, source::size, target::size, chosen.strict);
  if (read.too_long.cut != 0)
    say(m, "%ld sentences of %s have more than %ld pieces, or %ld in French, and are cut, %s first\n",
        read.too_long.cut, path.c_str(), static_cast<long>(source::size) - 1,
        static_cast<long>(target::size) - 1, line_of(path, read.too_long.first).c_str());
  return read;
}

}  // namespace

int main(int argc, char** argv) {
  auto const start = wall_clock::now();
  meshtf::environment env{argc, argv};  // MPI is up, and an error becomes one line and an exit status
  meshtf::run_on<one::grid, two::grid, four::grid, eight::grid, sixteen::grid>(
      env, [&]<class M>(meshtf::process_mesh<M>& m) {
        using all_layouts = layouts_on<typename M::machine>;
        using first       = typename all_layouts::first_choice;
        auto const chosen = read_options(argc, argv, all_layouts::names(), size.pace);
        if (chosen.help) {
          say(m, "%s", usage(size.name, size.steps, size.pace).c_str());
          return;
        }
        agree_on(m, chosen);
        auto const words =
            meshtf::agreed(m.world(), [&] { return vocabulary{chosen.vocabulary, vocab::size}; });
        m.agree("the hash of the vocabulary", words.pieces.hash());
        if (!chosen.translate.empty()) return translate<first>(m, words, chosen);

        meshtf::agreed(m.world(), [&] { check_folder(chosen, m.rank() == 0); });
        texts const text{words, read_set(m, words, chosen, "train"), read_set(m, words, chosen, "dev")};
        say(m, "%zu pairs to train with, read in %.1f s\n", text.training.pairs.size(), seconds_since(start));
        if constexpr (M::size == 4)
          if (chosen.compare != 0) compare_layouts(m, text.training, chosen);
        all_layouts::visit(chosen.layout.empty() ? name<first> : chosen.layout,
                           [&]<class L>() { train<L>(m, text, chosen, start); });
      });
}
