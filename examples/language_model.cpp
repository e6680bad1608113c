// Trains a Transformer on a text, byte by byte: one source, any layout, its price known to the compiler.
//
// First a few steps under each of its layouts, five with four processes: the losses must be equal, and what
// each layout sends must be what the compiler promised.
// Then training under one of them, how well the model knows a part of the text that it has not seen, and a
// continuation of a line.
// Two models: --model gpt2 and --model llama are two programs.
// One binary for 1, 2, 4 or 8 processes, each with its own layouts.
// Run:    examples/processes 4 build/release/examples/language_model_tiny   (examples/demo makes the text,
// builds it and runs it)
// Prints: a table of the layouts, promised and counted, then the losses of the training, bits per character,
// and the continuation.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <unistd.h>

#include <meshtf/data/prefetched.hpp>
#include <meshtf/data/text.hpp>
#include <meshtf/data/windows.hpp>
#include <meshtf/io/asynchronous_saves.hpp>
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/io/log.hpp>
#include <meshtf/meshtf.hpp>
#include <meshtf/ops/random/sample.hpp>
#include <meshtf/runtime/stop_on_signal.hpp>

#include "language_model_options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "side_by_side.hpp"

#include "language_model.hpp"  // last: its names are short

namespace {

template<meshtf::Layout L>
struct training {
  language_model<L> net;
  meshtf::adamw opt{size.rate, 0.1, 0.9, 0.95};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;

  constexpr explicit training(meshtf::machine<L>& m, std::uint64_t seed = 1)
      : net{m, seed}, ids{m}, targets{m} {
    opt.max_norm    = 1;
    opt.shard_state = true;  // processes that hold the same weights keep a part of their means each
    opt.prepare(parameters(net));
  }

  constexpr auto losses() const { return meshtf::softmax_cross_entropy<vocab>(net(ids), targets); }

  /// `look` sees the gradients, which the optimizer's step clears.
  constexpr auto step(auto const& look) {
    auto loss = mean(losses());
    backward(loss);
    look();
    opt.step(parameters(net));  // adds the gradients up over the processes that share a parameter
    return loss;
  }
  constexpr auto step() {
    return step([] {});
  }
};

constexpr meshtf::warmup_cosine schedule(long steps) {
  return {.peak         = size.rate,
          .warmup_steps = std::min(steps / 10, 200L),
          .total_steps  = steps,
          .floor        = size.rate / 20};
}

/// Adds the table as charts to the page.
template<class M>
void compare_layouts(meshtf::process_mesh<M>& m, meshtf::text const& text, options const& chosen,
                     report& page) {
  using all       = typename M::machine;
  auto const seed = static_cast<std::uint64_t>(chosen.seed.value_or(1));
  side_by_side<M, typename all::rows, typename all::cols> table{m};
  layouts_on<all>::visit(chosen.layout, [&]<class L>() {
    training<L> t{m, seed};
    t.opt.rate = size.rate / 10;
    meshtf::random_windows windows{text, seed};
    table.add(t, [&] { windows.next(t.ids, t.targets); });
  });
  table.finish(in_mixed_precision ? 1e-2F : 1e-5F);
  auto const add = [&](std::string const& title, auto const& figure, auto const& words) {
    report::chart c{title, {}};
    for (auto const& row : table.rows())
      c.bars.push_back(
          {row.layout, static_cast<double>(figure(row)), std::string{words(figure(row)).view()}});
    page.layouts.push_back(std::move(c));
  };
  add("Time of a step", [](auto const& row) { return row.seconds; }, meshtf::seconds_text);
  add("Sent along rows", [](auto const& row) { return row.along_rows; }, meshtf::bytes_text);
  add("Sent along cols", [](auto const& row) { return row.along_cols; }, meshtf::bytes_text);
  add("Memory at the peak", [](auto const& row) { return row.peak; }, meshtf::bytes_text);
}

// ---- training -------------------------------------------------------------------------------------------

// a token is a byte, a byte is a character of an English text
constexpr long tokens_a_step = batch::size * length::size;

double bits(double loss) { return loss / std::log(2.0); }

/// The mean loss over every byte of the text but the first, which nothing comes before: each counts once,
/// under every layout.
template<meshtf::Layout L>
double evaluate(training<L>& t, meshtf::text const& held_out) {
  meshtf::no_gradient guard{t.ids.machine()};
  meshtf::tensor<float, L, batch, length> weights{t.ids.machine()};  // 0 for what fills up the last batch
  meshtf::windows_in_order windows{held_out};
  double total = 0;
  while (windows.next(t.ids, t.targets, weights)) total += sum(t.losses() * weights).value();
  return total / static_cast<double>(windows.count());
}

/// What the model writes after `prompt`. Each byte comes from a pass over those before it.
template<meshtf::Layout L>
std::string continuation(training<L>& t, std::string const& prompt, std::size_t bytes, std::uint64_t seed) {
  auto& m = t.ids.machine();
  meshtf::no_gradient guard{m};
  meshtf::tensor<int, L, length> ids{m};
  meshtf::tensor<int, L> last{m};
  std::string text = prompt;
  while (text.size() < prompt.size() + bytes) {
    auto const first = text.size() - std::min<std::size_t>(text.size(), length::size);
    auto const known = meshtf::byte_tokenizer::encode(std::string_view{text}.substr(first));
    std::copy(known.begin(), known.end(), ids.data());
    *last.data()      = static_cast<int>(known.size()) - 1;
    auto const scores = gather<length>(t.net(ids), last);
    auto const next   = meshtf::sample<vocab>(scores, {.seed = seed, .stream = text.size()}, 0.8).value();
    text += meshtf::byte_tokenizer::decode(std::array{next});
  }
  for (char& c : text)
    if (c != '\n' && (c < ' ' || c > '~')) c = '?';
  return text;
}

/// Continues a training: the model, the optimizer and the place in the text become those of the checkpoint.
template<meshtf::Layout L>
meshtf::training_position resume(training<L>& t, options const& chosen) {
  auto const at        = meshtf::load(parameters(t.net), t.opt, chosen.resume, chosen);
  auto const completed = std::to_string(at.step);
  if (chosen.seed && at.seed != static_cast<std::uint64_t>(*chosen.seed))
    throw meshtf::usage_error("expected --seed " + std::to_string(at.seed) + ", that of the training in " +
                              chosen.resume + ", got " + std::to_string(*chosen.seed) + ": leave --seed out");
  bool const is_repeated = chosen.resume == chosen.save;  // a command that a requeue repeats
  if (at.step > static_cast<std::uint64_t>(chosen.steps) ||
      (at.step == static_cast<std::uint64_t>(chosen.steps) && !is_repeated))
    throw meshtf::usage_error("expected more --steps than the " + completed + " that the training in " +
                              chosen.resume + " has completed, got " + std::to_string(chosen.steps) +
                              ": for example --steps " + std::to_string(2 * at.step));
  return at;
}

template<meshtf::Layout L>
void train(meshtf::machine<L>& m, meshtf::text_parts const& text, options const& chosen, report& page) {
  auto const steps = chosen.steps;
  meshtf::training_position at{.step = 0, .seed = static_cast<std::uint64_t>(chosen.seed.value_or(1))};
  training<L> t{m, at.seed};
  if (chosen.sums == "bfloat16") t.opt.sums_travel_as = meshtf::element::bfloat16;
  if (!chosen.resume.empty()) at = resume(t, chosen);
  m.agree(parameters(t.net));
  auto const first = static_cast<long>(at.step);
  meshtf::prefetched windows{meshtf::random_windows{text.training, at.seed}};  // a thread reads ahead
  windows.seek(first);

  say(m, "\ntraining under %s%s: steps %ld to %ld of %ld tokens each\n", name<L>.c_str(),
      in_mixed_precision ? " in mixed precision" : "", first + 1, steps, tokens_a_step);
  auto const rate      = schedule(steps);
  long const save_pace = std::clamp(steps / 10, 1L, 500L);
  progress shown{m.rank() == 0, first, steps, chosen.every, chosen.plain};
  // for the curve: all of it takes too long
  meshtf::text const beginning{text.held_out.name, text.held_out.bytes.substr(0, 8 * tokens_a_step + 1)};
  auto const* const spent = chosen.report.empty() ? nullptr : &m.time_spent();
  std::optional<meshtf::log_to> log;
  if (!chosen.log.empty()) log.emplace(chosen.log, at);
  meshtf::asynchronous_saves saves{m};         // a thread writes while training goes on
  std::optional<meshtf::stop_on_signal> stop;  // SIGUSR1: save, and end with 75
  if (!chosen.save.empty()) stop.emplace();
  for (long step = first; step < steps;) {
    windows.next(t.ids, t.targets);
    t.opt.rate       = rate(step);
    bool const looks = log && (step + 1) % save_pace == 0;
    auto const loss  = t.step([&] {
      if (looks) log->histograms(parameters(t.net), static_cast<std::uint64_t>(step + 1));
    });
    ++step;
    if (log) {
      log->scalar("loss", loss, static_cast<std::uint64_t>(step));
      log->scalar("rate", t.opt.rate, static_cast<std::uint64_t>(step));
    }
    if (shown.at(step)) {
      double const x = loss.value();
      shown.say("loss %.5f  %.3f bits per character  %7.0f tokens/s", x, bits(x),
                static_cast<double>(tokens_a_step) / shown.seconds_a_step());
    }
    if (!chosen.report.empty()) {
      if (step == first + 1 || step % std::max(steps / 200, 1L) == 0)
        page.training.push_back({step, bits(loss.value())});
      if (step == steps || step % std::max(steps / 10, 1L) == 0)
        page.held_out.push_back({step, bits(evaluate(t, beginning))});
    }
    bool const stops = stop && step < steps && meshtf::stop_wanted(m);
    if (!chosen.save.empty()) saves.poll();
    if (!chosen.save.empty() && (step % save_pace == 0 || step == steps || stops)) {
      at.step = static_cast<std::uint64_t>(step);
      saves.save(parameters(t.net), t.opt, at, chosen, chosen.save);
    }
    if (stops) saves.finish();
    if (stops)
      throw meshtf::stopped("stopped by a signal after step " + std::to_string(step) + " of " +
                            std::to_string(steps) + ", saved in " + chosen.save +
                            ": the same command with --resume " + chosen.save + " goes on");
  }
  if (!chosen.save.empty()) {
    saves.finish();
    say(m, "saved in %s\n", chosen.save.c_str());
  }

  auto const loss = evaluate(t, text.held_out);
  say(m, "\nheld-out text: loss %.5f, %.3f bits per character (all of its %ld characters)\n", loss,
      bits(loss), static_cast<long>(text.held_out.size()) - 1);
  page.sample = continuation(t, "And God said", static_cast<std::size_t>(chosen.write), at.seed);
  say(m, "\n%s\n", page.sample.c_str());
  if (log) {
    log->scalar("held-out loss", loss, static_cast<std::uint64_t>(steps));
    log->text("continuation", page.sample, static_cast<std::uint64_t>(steps));
  }

  if (chosen.report.empty() || m.rank() != 0) return;
  page.note = "Held out: the first " + std::to_string(beginning.size() - 1) +
              " of its characters; all of them have " + meshtf::decimal_text(bits(loss), 3).c_str() +
              " bits each at the end.";
  page.title = std::string{"A Transformer of size "} + size.name + " under " + name<L> + ", " +
               std::to_string(steps) + " steps";
  page.time = {"Seconds of the training by kind of operation, in the process of rank 0", {}};
  for (auto const& line : spent->by_kind())
    page.time.bars.push_back(
        {line.words, line.spent.seconds, meshtf::seconds_text(line.spent.seconds).c_str()});
  // The training is done, so a page that can't be written is no reason to fail.
  if (page.write(chosen.report)) std::printf("report: %s\n", chosen.report.c_str());
  else
    std::fprintf(
        stderr,
        "meshtf: expected to write the report to %s, got an error: make room, or name another file after "
        "--report\n",
        chosen.report.c_str());
}

// ---- what is given --------------------------------------------------------------------------------------

meshtf::text_parts read_parts(std::string const& path) {
  auto const whole      = meshtf::read_text(path);
  constexpr long enough = 2 * (length::size + 1);  // a window to train with and some bytes to hold out
  if (whole.size() < enough)
    throw meshtf::data_error("expected a text of at least " + std::to_string(enough) + " bytes, got " +
                             std::to_string(whole.size()) + " in " + path + ": take a longer one");
  auto parts = meshtf::split_text(whole);
  // a byte is predicted from one before it: so the first one is, too
  parts.held_out.bytes.insert(0, 1, parts.training.bytes.back());
  return parts;
}

/// What a save that was cut off has left, step-00000200.tmp-JOB, is none.
bool is_checkpoint(std::filesystem::directory_entry const& entry) {
  auto const& path = entry.path();
  return path.extension() == ".safetensors" ||
         (!path.has_extension() && std::filesystem::exists(path / "manifest.json"));
}

/// A folder that checkpoints can't go to is refused, and so is a file that the report can't be written to.
/// One process looks.
void check_folder(options const& chosen, bool here) {
  namespace fs = std::filesystem;
  if (!here) return;
  std::error_code failed;
  // opening a FIFO would wait for a reader
  if (!chosen.report.empty() &&
      (fs::is_fifo(chosen.report, failed) || !std::ofstream{chosen.report, std::ios::app}))
    throw meshtf::unavailable("expected a file that can be written after --report, got '" + chosen.report +
                              "': name one in a folder that is there");
  if (chosen.save.empty()) return;
  fs::create_directories(chosen.save, failed);
  if (failed || access(chosen.save.c_str(), W_OK | X_OK) != 0)
    throw meshtf::unavailable("expected a folder that can be written after --save, got '" + chosen.save +
                              "': " + (failed ? failed.message() : "permission denied") +
                              ": name another one");
  if (!chosen.resume.empty() && fs::equivalent(chosen.save, chosen.resume, failed)) return;
  for (auto const& entry : fs::directory_iterator{chosen.save, failed})
    if (is_checkpoint(entry))
      throw meshtf::usage_error("expected a folder without checkpoints after --save, got " + chosen.save +
                                " with " + entry.path().filename().string() +
                                ": go on from there (--resume " + chosen.save + "), or name another folder");
}

/// Whether the folder to go on from is the one to save in and has no checkpoint, on all processes: a training
/// was to begin, or was cut off before its first one.
bool begins_in_its_folder(boost::mpi::communicator const& world, options const& chosen) {
  namespace fs = std::filesystem;
  int begins   = 0;
  std::error_code failed;
  if (world.rank() == 0 && !chosen.resume.empty() && chosen.resume == chosen.save) {
    begins = 1;
    for (auto const& entry : fs::directory_iterator{chosen.save, failed})
      if (is_checkpoint(entry)) begins = 0;
  }
  meshtf::broadcast(world, &begins, 1, 0);
  return begins != 0;
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};  // MPI is up, and an error becomes one line and an exit status
  meshtf::run_on<one::grid, two::grid, four::grid, eight::grid>(
      env, [&]<class M>(meshtf::process_mesh<M>& m) {
        using all_layouts = layouts_on<typename M::machine>;
        auto chosen       = read_options(argc, argv, all_layouts::names(), size.name,
                                   model_kind == kind::llama ? "llama" : "gpt2", size.steps);
        if (chosen.help) {
          say(m, "%s", usage(size.name, size.steps).c_str());
          return;
        }
        agree_on(m, chosen);

        auto const text = meshtf::agreed(m.world(), [&] { return read_parts(chosen.data); });
        m.agree("the text in --data", text.training.bytes);
        m.agree("the text in --data that is held out", text.held_out.bytes);
        // now, and not after an hour of training
        meshtf::agreed(m.world(), [&] { check_folder(chosen, m.rank() == 0); });
        if (begins_in_its_folder(m.world(), chosen)) chosen.resume.clear();
        report page;
        if (chosen.resume.empty()) compare_layouts(m, text.training, chosen, page);
        all_layouts::visit(chosen.layout.empty() ? name<typename all_layouts::first_choice> : chosen.layout,
                           [&]<class L>() { train<L>(m, text, chosen, page); });
      });
}
