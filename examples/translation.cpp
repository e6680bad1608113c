// Trains an encoder and a decoder to translate English to French: packed pairs, any layout, one source.
//
// With four processes first a few steps under each of three layouts: the losses must be equal, and what each
// layout sends must be what the compiler promised. Then training under one of them.
// Two sizes are two programs: tiny for 1, 2 or 4 processes, base for 8 and 16 too. With EXPERTS each is
// another program, such as translation_tiny_experts: every second block has that number of experts, on the
// processes that share the batch.
//
// Run:    examples/processes 2 build/release/examples/translation_tiny   (examples/translate makes the text,
// builds it and runs it)
//
// Prints: a table of the layouts, promised and counted, then the losses of the training and on dev.tsv; with
// --translate, how many sentences it has translated.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <boost/mpi/collectives/broadcast.hpp>

#include <meshtf/data/prefetched.hpp>
#include <meshtf/io/asynchronous_saves.hpp>
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/meshtf.hpp>
#include <meshtf/nn/beam_search.hpp>
#include <meshtf/nn/experts_in_blocks.hpp>
#include <meshtf/nn/seq2seq.hpp>

#include "progress.hpp"
#include "side_by_side.hpp"
#include "translation_options.hpp"
#include "translation_text.hpp"

#ifndef MODEL_SIZE
#define MODEL_SIZE tiny  // one size a program: sizes are types, and each is compiled for seven layouts
#endif
#ifndef EXPERTS
#define EXPERTS 0  // of a layer of experts; 0: there is none
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
  meshtf::extent batch;   // rows
  meshtf::extent groups;  // of rows whose tokens compete for the places of experts
  double rate;            // the learning rate after the warm-up
  long warmup;
  long steps;
  long pace;       // of the loss on dev.tsv, in steps
  bool has_beams;  // decodes by beam search too, which takes the compiler as long as the rest of a layout
};
// A step has as many target positions as batch * target. A French side has 1.17 times the ids of an English
// one, so both sides of a row fill up together.
[[maybe_unused]] constexpr model_size tiny{.name      = "tiny",
                                           .layers    = 2,
                                           .pieces    = 2000,
                                           .model     = 128,
                                           .heads     = 4,
                                           .key       = 32,
                                           .source    = 80,
                                           .target    = 96,
                                           .batch     = 16,
                                           .groups    = 4,
                                           .rate      = 4e-3,
                                           .warmup    = 200,
                                           .steps     = 3000,
                                           .pace      = 300,
                                           .has_beams = false};
// 900 teraflop are about 4,700 steps, 12 epochs: 16 processes have two rows each in a step.
[[maybe_unused]] constexpr model_size base{.name      = "base",
                                           .layers    = 3,
                                           .pieces    = 8000,
                                           .model     = 256,
                                           .heads     = 4,
                                           .key       = 64,
                                           .source    = 112,
                                           .target    = 128,
                                           .batch     = 32,
                                           .groups    = 16,
                                           .rate      = 2e-3,
                                           .warmup    = 400,
                                           .steps     = 4700,
                                           .pace      = 200,
                                           .has_beams = true};
constexpr model_size size  = MODEL_SIZE;
constexpr bool has_experts = EXPERTS != 0;

// clang-format off
struct batch  : meshtf::dim<size.batch>     {};   // dimensions: a name and a size
struct source : meshtf::dim<size.source>    {};
struct target : meshtf::dim<size.target>    {};
struct vocab  : meshtf::dim<size.pieces>    {};
struct model  : meshtf::dim<size.model>     {};
struct heads  : meshtf::dim<size.heads>     {};
struct key    : meshtf::dim<size.key>       {};
struct hidden : meshtf::dim<4 * size.model> {};
struct beam   : meshtf::dim<4> {};                // hypotheses of a sentence

// An expert is narrower than the layer in whose place it is: with 1.25 places for a token, four fifths of the
// width, rounded down to a multiple of 8, make a step as many flops as without experts, to 2 %.
struct experts : meshtf::dim<has_experts ? EXPERTS : 1>     {};
struct groups  : meshtf::dim<size.groups>                   {};
struct inside  : meshtf::dim<4 * size.model * 4 / 5 / 8 * 8> {};

/// The machine: processes as a rectangle, and the layouts on it.
template<int Rows, int Cols>
struct processes {
  struct rows : meshtf::axis<Rows> {};
  struct cols : meshtf::axis<Cols> {};
  struct grid : meshtf::mesh<rows, cols> { using machine = processes; };

  template<class Dim, class... Axis>
  using split = meshtf::split<Dim, Axis...>;
  struct replicated : meshtf::layout<grid> {};
  struct data       : meshtf::layout<grid, split<batch, rows, cols>, split<groups, rows, cols>,
                                     split<experts, rows, cols>> {};
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

// the layouts on these processes, and the one to train under unless another one is named
template<class P>
struct layouts_on : layouts<typename P::data> { using first_choice = typename P::data; };
template<> struct layouts_on<one>  : layouts<one::replicated> { using first_choice = one::replicated; };
template<> struct layouts_on<four>
    : std::conditional_t<has_experts, layouts<four::data>, layouts<four::data, four::model, four::mixed>> {
  using first_choice = four::data;
};
// clang-format on

struct dims : meshtf::nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {
  using feed_forward =
      std::conditional_t<has_experts,
                         meshtf::nn::experts_in_every_second_block<experts, groups, inside>::skipping_padding,
                         meshtf::nn::feed_forward_in_every_block>;
  static constexpr int encoder_layers = size.layers;
  static constexpr int decoder_layers = size.layers;
};

/// What a loss is without those of experts.
template<class Z>
constexpr auto value_of(Z const& z) {
  if constexpr (has_experts) return z.value;
  else return z;
}

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
        how{.dropout = {.rate = 0.1, .random = {.seed = seed, .stream = 0}, .trains = true},
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
    auto const sum  = net.loss(pairs(), how);
    auto const loss = value_of(sum) / net.count(pairs());  // not in one line: the order is not said
    if constexpr (has_experts) backward(loss + finish(sum.balance_loss * 0.01F + sum.router_z_loss * 0.001F));
    else backward(loss);
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
    total += value_of(t.net.loss(t.pairs())).value();
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

/// One process looks.
template<class M>
bool any_checkpoint(meshtf::process_mesh<M> const& m, std::string const& folder) {
  int found = 0;
  if (m.rank() == 0 && !folder.empty()) {
    std::error_code failed;
    for (auto const& entry : std::filesystem::directory_iterator{folder, failed})
      if (entry.path().extension() == ".safetensors" ||
          (!entry.path().has_extension() &&  // a save that was cut off is called step-00000200.tmp-JOB
           std::filesystem::exists(entry.path() / "manifest.json")))
        found = 1;
  }
  boost::mpi::broadcast(m.world(), found, 0);
  return found != 0;
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

/// What there is to train with.
struct texts {
  vocabulary const& words;
  text_of_pairs training;
  text_of_pairs dev;
};

/// Ends a training by the clock of one process, at the same step on all.
template<class M>
bool time_is_over(meshtf::process_mesh<M> const& m, options const& chosen, wall_clock::time_point start) {
  if (chosen.minutes == 0) return false;
  int over = seconds_since(start) >= 60.0 * static_cast<double>(chosen.minutes) ? 1 : 0;
  boost::mpi::broadcast(m.world(), over, 0);
  return over != 0;
}

/// Errors: `usage_error` if the teraflop do not pay for a step.
long steps_of(options const& chosen, teraflop const& cost) {
  if (chosen.tflop == 0) return chosen.steps == 0 ? size.steps : chosen.steps;
  auto steps = static_cast<long>(static_cast<double>(chosen.tflop) / cost.of_step);
  while (steps > 0 && cost.after(steps, chosen.pace) > static_cast<double>(chosen.tflop)) --steps;
  if (steps == 0)
    throw meshtf::usage_error("expected teraflop for a step of " + std::to_string(cost.of_step) +
                              " or more after --tflop, got " + std::to_string(chosen.tflop) +
                              ": for example --tflop 900");
  return chosen.steps == 0 ? steps : std::min(steps, chosen.steps);
}

/// A training from its beginning, or from its newest checkpoint, to its last step.
template<meshtf::Layout L>
class training_run {
public:
  training_run(meshtf::machine<L>& m, texts const& text, options const& chosen)
      : machine_{m},
        text_{text},
        chosen_{chosen},
        dev_rows_{rows_in_order(text.dev)},
        cost_{count_flops<L>(m, text.training, text.dev, dev_rows_)},
        steps_{steps_of(chosen, cost_)},
        at_{.step       = 0,
            .seed       = static_cast<std::uint64_t>(chosen.seed.value_or(1)),
            .vocabulary = text.words.pieces.hash()},
        t_{m, at_.seed},
        best_{chosen.checkpoint.empty() ? "" : chosen.checkpoint + "/best"} {
    if (any_checkpoint(m, chosen.checkpoint)) resume();
    m.agree(t_.net.parameters());
  }

  /// Up to the last step, or until the minutes are over.
  void go(wall_clock::time_point start) {
    auto rows = batches_of(text_.training, at_.seed);
    say_beginning(rows);
    prefetched_rows batches{std::move(rows)};  // a thread packs the next ones while a step is taken
    batches.seek(static_cast<meshtf::extent>(at_.step));
    auto const first = static_cast<long>(at_.step);
    auto const rate  = schedule(steps_);
    progress shown{machine_.rank() == 0, first, steps_, chosen_.every, chosen_.plain};
    for (long step = first; step < steps_;) {
      t_.opt.rate = rate(step);
      take_step(batches);
      if (saves_to_disk()) saves_.poll();
      at_.step        = static_cast<std::uint64_t>(++step);
      bool const ends = time_is_over(machine_, chosen_, start);
      if (step % chosen_.pace == 0 || step == steps_ || ends) save();
      if (step % chosen_.pace == 0 || step == steps_) look_at_dev();
      if (shown.at(step)) say_line(shown, batches);
      if (ends && step < steps_) {
        say(machine_, "%ld minutes are over after step %ld of %ld\n", chosen_.minutes, step, steps_);
        break;
      }
    }
    if (!saves_to_disk()) return;
    saves_.finish();
    say(machine_, "saved in %s\n", chosen_.checkpoint.c_str());
  }

private:
  using prefetched_rows = meshtf::prefetched<packed_batches>;

  /// The model, the optimizer and the place in the text become those of the checkpoint. What its least loss
  /// on dev.tsv was, its best parameters tell.
  void resume() {
    auto& opt = t_.opt;
    if (any_checkpoint(machine_, best_)) {
      check_vocabulary(meshtf::load(t_.net.parameters(), best_), text_.words, chosen_);
      least_ = evaluate(t_, text_.dev, dev_rows_);
    }
    at_ = meshtf::load(t_.net.parameters(), opt, chosen_.checkpoint, chosen_);
    check_vocabulary(at_, text_.words, chosen_);
    if (chosen_.seed && at_.seed != static_cast<std::uint64_t>(*chosen_.seed))
      throw meshtf::usage_error("expected --seed " + std::to_string(at_.seed) + ", that of the training in " +
                                chosen_.checkpoint + ", got " + std::to_string(*chosen_.seed) +
                                ": leave --seed out");
    t_.how.dropout.random = {.seed = at_.seed, .stream = at_.step};
  }

  void say_beginning(packed_batches const& batches) const {
    say(machine_, "%zu pairs in %zu rows of %ld and %ld positions, %.1f %% of which are wasted\n",
        text_.training.pairs.size(), batches.rows(), static_cast<long>(source::size),
        static_cast<long>(target::size), 100 * batches.wasted());
    say(machine_, "training under %s on %d processes: steps %ld to %ld of %ld rows each, %.4f Tflop a step\n",
        name<L>.c_str(), machine_.world().size(), static_cast<long>(at_.step) + 1, steps_,
        static_cast<long>(batch::size), cost_.of_step);
  }

  void take_step(prefetched_rows& batches) {
    auto const began = wall_clock::now();
    auto const rows  = batches.next();
    t_.take(rows);
    since_line_.loss += t_.step().value();
    since_line_.targets +=
        std::accumulate(rows.target.segments.begin(), rows.target.segments.end(), 0.0,
                        [](double n, std::int32_t pair) { return n + (pair != 0 ? 1 : 0); });
    since_line_.seconds += seconds_since(began);
    ++since_line_.steps;
  }

  bool saves_to_disk() const { return !chosen_.checkpoint.empty(); }

  /// A thread writes it while training goes on.
  void save() {
    if (saves_to_disk()) saves_.save(t_.net.parameters(), t_.opt, at_, chosen_, chosen_.checkpoint);
  }

  /// The save of the best parameters first waits for that of the same step, which has had the evaluation's
  /// time: so what training goes on from is never of an earlier step than they are.
  void look_at_dev() {
    dev_loss_ = evaluate(t_, text_.dev, dev_rows_);
    if (!(dev_loss_ < least_)) return;
    least_ = dev_loss_;
    if (saves_to_disk()) saves_.save(t_.net.parameters(), at_, best_);
  }

  void say_line(progress& shown, prefetched_rows const& batches) {
    auto const step  = static_cast<double>(at_.step);
    auto const epoch = step * static_cast<double>(batch::size) / static_cast<double>(batches.position().rows);
    std::string const dev{dev_loss_ == 0 ? "-" : meshtf::decimal_text(dev_loss_, 4).c_str()};
    shown.say("loss %.4f  dev %6s  %6.1f Tflop  epoch %4.1f  rate %.2e  %6.0f tokens/s",
              since_line_.loss / static_cast<double>(since_line_.steps), dev.c_str(),
              cost_.after(static_cast<long>(at_.step), chosen_.pace), epoch, t_.opt.rate,
              since_line_.targets / since_line_.seconds);
    since_line_ = {};
  }

  /// What a line of progress says, since the line before it.
  struct since_line {
    double loss    = 0;
    double targets = 0;
    double seconds = 0;
    long steps     = 0;
  };

  meshtf::machine<L>& machine_;
  texts const& text_;
  options const& chosen_;
  std::vector<row_of_pairs> dev_rows_;
  teraflop cost_;
  long steps_;
  meshtf::training_position at_;
  training<L> t_;
  std::string best_;  // the folder of the parameters that have the least loss on dev.tsv
  double least_    = std::numeric_limits<double>::infinity();
  double dev_loss_ = 0;  // 0: not computed yet
  since_line since_line_;
  meshtf::asynchronous_saves<meshtf::machine<L>> saves_{machine_};
};

// ---- translating ----------------------------------------------------------------------------------------

/// Decodes the sources of `t`: by beam search, or the most probable next id at a time.
template<meshtf::Layout L>
std::vector<id_list> decoded(training<L>& t, vocabulary const& words, [[maybe_unused]] bool greedy) {
  std::vector<id_list> found(std::size_t{batch::size});
  auto const take = [&](auto const& id_at) {
    for (std::size_t row = 0; row < found.size(); ++row)
      for (std::size_t i = 0; i < std::size_t{target::size} && id_at(row, i) > words.end; ++i)
        found[row].push_back(id_at(row, i));
  };
  meshtf::nn::source_rows const rows{t.from, t.pair_of_from};
  if constexpr (size.has_beams)
    if (!greedy) {
      auto const [all, scores] =
          meshtf::nn::beam_search<beam>(t.net, rows, words.end, {.length_penalty = 0.6});
      auto const ids = to_global(all);
      take([&](std::size_t row, std::size_t i) { return ids(row, 0, i); });
      return found;
    }
  take(to_global(t.net.greedy(rows, words.end)));
  return found;
}

template<meshtf::Layout L>
std::vector<id_list> translated(training<L>& t, vocabulary const& words,
                                std::vector<id_list> const& sentences, bool greedy) {
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
    auto ids = decoded(t, words, greedy);
    for (std::size_t row = 0; row < ids.size() && first + row < order.size(); ++row)
      found[order[first + row]] = std::move(ids[row]);
  }
  return found;
}

template<meshtf::Layout L>
void translate(meshtf::machine<L>& m, vocabulary const& words, options const& chosen) {
  auto const start = wall_clock::now();
  training<L> t{m};
  auto const best = chosen.checkpoint + "/best";
  check_vocabulary(meshtf::load(t.net.parameters(), any_checkpoint(m, best) ? best : chosen.checkpoint),
                   words, chosen);

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
  auto const found = translated(t, words, sentences, chosen.greedy);
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

template<class M>
void run(meshtf::process_mesh<M>& m, int argc, char** argv, wall_clock::time_point start) {
  using all_layouts = layouts_on<typename M::machine>;
  using first       = typename all_layouts::first_choice;
  auto const chosen = read_options(argc, argv, all_layouts::names(), size.pace);
  if (chosen.help) {
    say(m, "%s",
        usage(std::string{size.name} + (has_experts ? "_experts" : ""), size.steps, size.pace).c_str());
    return;
  }
  agree_on(m, chosen);
  auto const words = meshtf::agreed(m.world(), [&] { return vocabulary{chosen.vocabulary, vocab::size}; });
  m.agree("the hash of the vocabulary", words.pieces.hash());
  if (!chosen.translate.empty()) return translate<first>(m, words, chosen);

  // now, and not after an hour of training
  meshtf::agreed(m.world(), [&] { check_folder(chosen, m.rank() == 0); });
  texts const text{words, read_set(m, words, chosen, "train"), read_set(m, words, chosen, "dev")};
  say(m, "%zu pairs to train with, read in %.1f s\n", text.training.pairs.size(), seconds_since(start));
  if constexpr (M::size == 4)
    if (chosen.compare != 0 && !any_checkpoint(m, chosen.checkpoint))
      compare_layouts(m, text.training, chosen);
  all_layouts::visit(chosen.layout.empty() ? name<first> : chosen.layout,
                     [&]<class L>() { training_run<L>{m, text, chosen}.go(start); });
}

}  // namespace

int main(int argc, char** argv) {
  auto const start = wall_clock::now();
  meshtf::environment env{argc, argv};  // MPI is up, and an error becomes one line and an exit status
  auto const program = [&]<class M>(meshtf::process_mesh<M>& m) { run(m, argc, argv, start); };
  if constexpr (size.layers < 3) meshtf::run_on<one::grid, two::grid, four::grid>(env, program);
  else meshtf::run_on<one::grid, two::grid, four::grid, eight::grid, sixteen::grid>(env, program);
}
