// What a layout makes of a model, before a process exists: who holds what, what is sent and why, what a step
// costs, and what each rule saves and costs. It needs no MPI: the compiler has worked it all out.
// Run:    build/release/examples/meshtf-plan --model transformer --layout mixed
// Prints: the pages of docs/explain.md, for that model and layout, or draws them.
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/explain/chakra_trace.hpp>
#include <meshtf/explain/explain.hpp>
#include <meshtf/explain/explain_schedule.hpp>
#include <meshtf/explain/explain_svg.hpp>
#include <meshtf/io/describe_checkpoint.hpp>
#include <meshtf/io/description.hpp>
#include <meshtf/planning.hpp>

namespace {

constexpr char const* usage =
    R"(usage: meshtf-plan [--model NAME] [--layout NAME] [--what NAME] [--svg FILE] [--beside NAME]
       meshtf-plan --schedule NAME [--svg FILE]     meshtf-plan --stages     meshtf-plan --processes N
       meshtf-plan --diff A B [--model NAME]
       meshtf-plan --trace chakra FILE [--rank N] [--model NAME] [--layout NAME]

  --model NAME    mlp, transformer or images (default: mlp)
  --layout NAME   replicated, data_parallel, model_parallel or mixed (default: mixed)
  --what NAME     layout: the rules, and who is where
                  tensors: where some of the model's tensors are
                  operations: what some of its operations send, and why
                  step: what a training step costs
                  rules: what each rule saves and costs in such a step; not said: all of it
  --stages        what a step of 8 layers costs each of 4 stages, with 8 micro-batches
  --processes N   the shapes of a mesh of 4, 8 or 16 processes, and their best layouts (mlp, transformer)
  --svg FILE      write pictures instead: the layout on its mesh, a step's messages, and its memory
  --beside NAME   with --svg: this layout next to the other, each with its step
  --schedule NAME gpipe or one_forward_one_backward: its passes on 4 stages, over 8 micro-batches
  --diff A B      what differs between two checkpoints, each a folder or a file: arrays, settings, mesh,
                  layout, position; or between one and `model`, the program of --model, whose
                  arrays alone are compared. Status 0: nothing differs; 1: something does
  --trace chakra FILE   write the step of process --rank (0) as an MLCommons Chakra execution trace, for
                  simulators of networks, and print what is in it
  --help          this text
)";

// clang-format off
struct batch   : meshtf::dim<256>  {};
struct pixels  : meshtf::dim<784>  {};
struct hidden  : meshtf::dim<4096> {};
struct classes : meshtf::dim<16>   {};

struct length  : meshtf::dim<64>    {};
struct vocab   : meshtf::dim<50257> {};  // of GPT-2: four parts are not equal
struct model   : meshtf::dim<128>   {};
struct heads   : meshtf::dim<4>     {};
struct key     : meshtf::dim<32>    {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows, cols> {};

using meshtf::padded, meshtf::split;
struct replicated     : meshtf::layout<grid> {};
struct data_parallel  : meshtf::layout<grid, split<batch, rows>> {};
struct model_parallel : meshtf::layout<grid, split<heads, cols>, split<hidden, cols>, padded<vocab, cols>> {};
struct mixed          : meshtf::layout<grid, split<batch, rows>, split<heads, cols>, split<hidden, cols>,
                                       padded<vocab, cols>> {};

// Images are split along their rows instead.
namespace of_images {

struct height  : meshtf::dim<32> {};    struct width       : meshtf::dim<32> {};
struct half    : meshtf::dim<16> {};    struct half_width  : meshtf::dim<16> {};
struct tap     : meshtf::dim<3>  {};    struct tap_across  : meshtf::dim<3>  {};
struct two     : meshtf::dim<2>  {};    struct two_across  : meshtf::dim<2>  {};
struct colours : meshtf::dim<3>  {};    struct features    : meshtf::dim<16> {};

struct replicated     : meshtf::layout<grid> {};
struct data_parallel  : meshtf::layout<grid, split<batch, rows>> {};
struct model_parallel : meshtf::layout<grid, split<features, cols>> {};
struct mixed          : meshtf::layout<grid, split<batch, rows>, split<height, cols>, split<half, cols>> {};

}  // namespace of_images
// clang-format on

/// Two layers, trained by SGD.
template<meshtf::Layout L>
struct mlp {
  meshtf::parameter<float, L, pixels, hidden> w1;
  meshtf::parameter<float, L, hidden, classes> w2;
  meshtf::tensor<float, L, batch, pixels> x;
  meshtf::tensor<int, L, batch> labels;
  meshtf::sgd opt{0.1f};

  constexpr explicit mlp(meshtf::machine<L>& m)
      : w1{m, meshtf::he_normal{1}}, w2{m, meshtf::he_normal{2}}, x{m}, labels{m} {}
  constexpr auto list() { return parameters(w1, w2); }
  constexpr auto step() {
    auto const h    = relu(einsum<batch, hidden>(x, w1));
    auto const loss = mean(softmax_cross_entropy<classes>(einsum<batch, classes>(h, w2), labels));
    backward(loss);
    opt.step(list());
    return loss;
  }
};

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 2;
};

/// A language model, trained by AdamW.
template<meshtf::Layout L>
struct transformer {
  meshtf::nn::transformer<float, L, dims> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;

  constexpr explicit transformer(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    opt.prepare(parameters(net));
  }
  constexpr auto list() { return parameters(net); }
  constexpr auto step() {
    auto const loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(list());
    return loss;
  }
};

namespace of_images {

using meshtf::window, meshtf::stride;

/// A convolution, pooling and a linear layer, trained by SGD. Where rows are split, parts of an image
/// exchange halos.
template<meshtf::Layout L>
struct network {
  meshtf::nn::conv<float, L, colours, features, window<height, tap>, window<width, tap_across>> edges;
  meshtf::nn::linear<float, L, meshtf::shape<half, half_width, features>, classes> last;
  meshtf::tensor<float, L, batch, height, width, colours> x;
  meshtf::tensor<int, L, batch> labels;
  meshtf::sgd opt{0.1f};

  constexpr explicit network(meshtf::machine<L>& m)
      : edges{m, meshtf::he_normal{1}}, last{m, meshtf::he_normal{2}}, x{m}, labels{m} {}
  constexpr auto list() { return parameters(edges, last); }
  constexpr auto step() {
    auto const seen = relu(edges(x));
    auto const small =
        max_pool<window<height, two, half, stride<2>>, window<width, two_across, half_width, stride<2>>>(
            seen);
    auto const loss = mean(softmax_cross_entropy<classes>(last(small), labels));
    backward(loss);
    opt.step(list());
    return loss;
  }
};

}  // namespace of_images

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

struct asked {
  std::string model  = "mlp";
  std::string layout = "mixed";
  std::string what   = "all";
  std::string svg;
  std::string beside;
  std::string schedule;
  std::vector<std::string> diff;
  std::vector<std::string> trace;
  std::string rank = "0";
  std::string processes;
  bool stages = false;
  bool wants(std::string_view part) const { return what == "all" || what == part; }
};

using meshtf::shape;

template<class L>
void say_of_mlp(asked const& a) {
  if (a.wants("layout")) say(meshtf::explain<L>());
  if (a.wants("tensors")) say(meshtf::explain<meshtf::parameter<float, L, pixels, hidden>>());
  if (a.wants("operations"))
    say(meshtf::explain_einsum<L, shape<batch, classes>, shape<batch, hidden>, shape<hidden, classes>>());
  if (a.wants("step")) say(meshtf::explain<mlp, L>());
  if (a.wants("rules")) say(meshtf::explain_rules<mlp, L>());
}

template<class L>
void say_of_transformer(asked const& a) {
  using queries = shape<batch, heads, length, key>;
  if (a.wants("layout")) say(meshtf::explain<L>());
  if (a.wants("tensors")) say(meshtf::explain<meshtf::tensor<float, L, batch, length, model>>());
  if (a.wants("tensors")) say(meshtf::explain<meshtf::parameter<float, L, model, heads, key>>());
  if (a.wants("operations"))
    say(meshtf::explain_gather<L, shape<vocab, model>, vocab, shape<batch, length>>());
  if (a.wants("operations"))
    say(meshtf::explain_attention<L, length, length, key, queries, queries, queries>());
  if (a.wants("operations"))
    say(meshtf::explain_einsum<L, shape<batch, length, model>, shape<batch, length, hidden>,
                               shape<hidden, model>>());
  if (a.wants("step")) say(meshtf::explain<transformer, L>());
  if (a.wants("rules")) say(meshtf::explain_rules<transformer, L>());
}

template<class L>
void say_of_images(asked const& a) {
  using namespace of_images;
  if (a.wants("layout")) say(meshtf::explain<L>());
  if (a.wants("tensors")) say(meshtf::explain<meshtf::tensor<float, L, batch, height, width, features>>());
  if (a.wants("tensors"))
    say(meshtf::explain<meshtf::parameter<float, L, tap, tap_across, colours, features>>());
  if (a.wants("operations"))
    say(meshtf::explain_einsum<L, shape<batch, classes>, shape<batch, half, half_width, features>,
                               shape<half, half_width, features, classes>>());
  if (a.wants("step")) say(meshtf::explain<network, L>());
  // no rules: windows of rows that are split make rows that are split, so no rule can be left out alone
}

/// Calls f.operator()<X>() for that one of the layouts, or of the schedules, `All` which has this name.
template<class... All>
struct types_by_name {
  template<class F>
  static void under(std::string_view name, F const& f) {
    auto const is = [&]<class X> {
      if (name == meshtf::name_of<X>()) f.template operator()<X>();
    };
    (is.template operator()<All>(), ...);
  }
};
using max_layouts       = types_by_name<replicated, data_parallel, model_parallel, mixed>;
using layouts_of_images = types_by_name<of_images::replicated, of_images::data_parallel,
                                        of_images::model_parallel, of_images::mixed>;
using schedules         = types_by_name<meshtf::gpipe, meshtf::one_forward_one_backward>;

template<class L>
inline constexpr auto mlp_step = meshtf::dry_run<mlp, L>();
template<class L>
inline constexpr auto transformer_step = meshtf::dry_run<transformer, L>();
template<class L>
inline constexpr auto step_of_images = meshtf::dry_run<of_images::network, L>();

/// The language model, deeper, as a pipeline.
namespace of_stages {

struct part : meshtf::dim<32> {};
struct stages : meshtf::axis<4> {};
struct grid : meshtf::mesh<stages, rows> {};
struct piped : meshtf::layout<grid, meshtf::staged<stages>, split<batch, rows>, split<part, rows>> {};

struct deep : dims {
  static constexpr int layers = 8;
};

template<meshtf::Layout L>
struct training {
  meshtf::nn::transformer<float, L, deep> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;

  constexpr explicit training(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    opt.prepare(parameters(net));
  }
  constexpr auto step() {
    auto const loss = meshtf::accumulate<8>(ids.machine(), [this](meshtf::extent i) {
      auto const scores = net(meshtf::micro_batch<batch, part>(ids, i));
      return mean(softmax_cross_entropy<vocab>(scores, meshtf::micro_batch<batch, part>(targets, i))) / 8.0F;
    });
    opt.step(parameters(net));
    return loss;
  }
};

inline constexpr auto step = meshtf::dry_run<training, piped>();
inline constexpr auto time = step.time();

void say() {
  auto const bytes = [](meshtf::extent n) { return std::string{meshtf::bytes_text(n).view()}; };
  std::printf("%-8s %12s %12s %18s %12s %10s\n", "stage", "parameters", "peak", "sent to stages",
              "sent to rows", "Gflops");
  for (int k = 0; k < step.stages; ++k) {
    auto const& c = step.stage(k);
    std::printf("%-8d %12s %12s %18s %12s %10.1f\n", k, bytes(c.parameter_bytes()).c_str(),
                bytes(c.peak_bytes()).c_str(), bytes(c.bytes_sent<stages>()).c_str(),
                bytes(c.bytes_sent<rows>()).c_str(), static_cast<double>(c.flops()) / 1e9);
  }
  std::printf("A step takes %.0f ms, modelled; in the passes the stages wait %.0f %% of the time.\n",
              1e3 * time.total(), 100 * time.bubble());
}

}  // namespace of_stages

inline constexpr auto mlp_record         = meshtf::record<mlp, batch, pixels, hidden, classes>();
inline constexpr auto transformer_record = meshtf::record<transformer, batch, vocab, heads, hidden>();
using splits_of_mlp                      = meshtf::candidates<batch, pixels, hidden, classes>;
using splits_of_transformer              = meshtf::candidates<batch, padded<vocab>, heads, hidden>;

/// The shapes of a mesh of `Processes`, each with its best layout.
template<meshtf::extent Processes, class Candidates, class Record>
void say_shapes(Record const& record) {
  std::printf("%-16s %12s %12s  %s\n", "mesh", "modelled ms", "peak", "best layout");
  for (auto const& shape : meshtf::rank_meshes<Processes, grid, Candidates>(record).meshes) {
    if (shape.fits)
      std::printf("%-16s %12.3f %12s  %s\n", shape.shape.c_str(), 1e3 * shape.best.seconds,
                  meshtf::bytes_text(shape.best.peak).c_str(), shape.layout.c_str());
    else std::printf("%-16s %12s %12s  %s\n", shape.shape.c_str(), "", "", "no layout can be placed");
  }
}

template<meshtf::extent... Processes, class Candidates, class Record>
void say_shapes_of(std::string const& processes, Candidates, Record const& record) {
  (void)((processes == std::to_string(Processes) && (say_shapes<Processes, Candidates>(record), true)) ||
         ...);
}

/// Errors: `usage_error`.
void say_processes(asked const& a) {
  if (a.model == "mlp") say_shapes_of<4, 8, 16>(a.processes, splits_of_mlp{}, mlp_record);
  else if (a.model == "transformer")
    say_shapes_of<4, 8, 16>(a.processes, splits_of_transformer{}, transformer_record);
  else
    throw meshtf::usage_error(
        "expected --model mlp or transformer with --processes, got images: its windows bind some axes");
}

/// f(cost of a step) for the model and the layout `layout`, which are priced in the compiler.
template<class F>
void with_cost(asked const& a, std::string const& layout, F const& f) {
  if (a.model == "mlp") max_layouts::under(layout, [&]<class L> { f.template operator()<L>(mlp_step<L>); });
  else if (a.model == "transformer")
    max_layouts::under(layout, [&]<class L> { f.template operator()<L>(transformer_step<L>); });
  else layouts_of_images::under(layout, [&]<class L> { f.template operator()<L>(step_of_images<L>); });
}

/// The picture that was asked for, made while this program runs.
meshtf::svg_text picture(asked const& a) {
  meshtf::svg_text made;
  if (!a.schedule.empty()) {
    schedules::under(a.schedule, [&]<class S> { made = meshtf::explain_schedule_svg<S, 4, 8>(); });
    return made;
  }
  auto const of = [&]<class All>(All, auto const& cost_under) {
    All::under(a.layout, [&]<class L> {
      if (a.beside.empty()) made = meshtf::explain_svg<L>(cost_under.template operator()<L>());
      else
        All::under(a.beside, [&]<class Other> {
          made = meshtf::explain_svg<L, Other>(cost_under.template operator()<L>(),
                                               cost_under.template operator()<Other>());
        });
    });
  };
  if (a.model == "mlp") of(max_layouts{}, []<class L>() -> auto const& { return mlp_step<L>; });
  else if (a.model == "transformer")
    of(max_layouts{}, []<class L>() -> auto const& { return transformer_step<L>; });
  else of(layouts_of_images{}, []<class L>() -> auto const& { return step_of_images<L>; });
  return made;
}

/// The arrays of a program, which are the same under each layout.
template<template<meshtf::Layout> class Program, class L>
meshtf::description describe_program() {
  meshtf::ledger<grid> m;
  Program<meshtf::dry<L>> program{m};
  return meshtf::describe(program.list());
}

meshtf::description describe_side(asked const& a, std::string const& side) {
  if (side == "model") {
    if (a.model == "mlp") return describe_program<mlp, replicated>();
    if (a.model == "transformer") return describe_program<transformer, replicated>();
    return describe_program<of_images::network, of_images::replicated>();
  }
#if MESHTF_WITH_JANSSON
  return meshtf::describe(side);
#else
  throw meshtf::usage_error("expected 'model' after --diff, got '" + side +
                            "': to read checkpoints, build this program with libjansson-dev");
#endif
}

/// Whether something differs.
bool say_differences(asked const& a) {
  auto from = describe_side(a, a.diff[0]);
  auto to   = describe_side(a, a.diff[1]);
  if (a.diff[0] == "model" || a.diff[1] == "model")
    for (auto* const about : {&from, &to})
      std::erase_if(*about, [](auto const& entry) {
        return !entry.first.starts_with("array.") || entry.first.starts_with("array.optimizer.");
      });
  auto const lines = meshtf::differences(from, to);
  for (auto const& line : lines) say(line);
  return !lines.empty();
}

/// Errors: `unavailable` if the file can't be written, all of it.
void write(std::string const& file, std::string_view text) {
  std::ofstream out{file, std::ios::binary};
  out << text << std::flush;
  if (!out)
    throw meshtf::unavailable("expected to write '" + file +
                              "', got an error: name a file in a folder that can be written, or make room");
}

void write_trace(asked const& a) {
  with_cost(a, a.layout, [&]<class L>(auto const& step) {
    write(a.trace[1], meshtf::chakra_trace(step, std::stol(a.rank)));
    std::printf("%s: %lld calls, %lld bytes handed over, %lld sent, %lld flops, %lld bytes passed over\n",
                a.trace[1].c_str(), static_cast<long long>(step.calls()),
                static_cast<long long>(step.payload()), static_cast<long long>(step.bytes_sent()),
                static_cast<long long>(step.flops()), static_cast<long long>(step.elementwise_bytes()));
  });
}

/// Errors: `usage_error`.
std::string among(std::string const& option, std::vector<std::string> const& known,
                  std::string const& given) {
  std::string all;
  for (auto const& name : known) {
    if (name == given) return given;
    all += (all.empty() ? "" : ", ") + name;
  }
  throw meshtf::usage_error("expected one of " + all + " after " + option + ", got '" + given +
                            "': for example " + option + " " + known.front());
}

/// Calls take(option, next) for each option, up to --help. next() is the option's value, of `--steps 20` or
/// of `--steps=20`; `take` is false if it does not know the option. True if --help was asked for.
///
/// Errors: `usage_error`, on every process alike.
template<class Take>
bool for_each_option(int argc, char** argv, std::string const& known, Take const& take) {
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    std::string value;
    bool is_there = false;
    if (option == "--help") return true;
    if (auto const equals = option.find('='); option.starts_with("--") && equals != std::string::npos) {
      value    = option.substr(equals + 1);
      option   = option.substr(0, equals);
      is_there = true;
    }
    auto const next = [&] {
      if (!is_there && ++i == argc)
        throw meshtf::usage_error("expected a value after " + option +
                                  ", got nothing: --help shows the options");
      return is_there ? value : std::string{argv[i]};
    };
    if (!take(option, next))
      throw meshtf::usage_error("expected " + known + ", got '" + option + "': --help shows the options");
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    asked a;
    std::vector<std::string> const layouts{"replicated", "data_parallel", "model_parallel", "mixed"};
    bool const help = for_each_option(
        argc, argv,
        "--model, --layout, --what, --svg, --beside, --schedule, --stages, --processes, --diff, --trace, "
        "--rank or --help",
        [&](std::string const& option, auto const& next) {
          if (option == "--model") a.model = among(option, {"mlp", "transformer", "images"}, next());
          else if (option == "--layout") a.layout = among(option, layouts, next());
          else if (option == "--beside") a.beside = among(option, layouts, next());
          else if (option == "--svg") a.svg = next();
          else if (option == "--stages") a.stages = true;
          else if (option == "--processes") a.processes = among(option, {"4", "8", "16"}, next());
          else if (option == "--diff") a.diff = {next(), next()};
          else if (option == "--trace") a.trace = {among(option, {"chakra"}, next()), next()};
          else if (option == "--rank")
            a.rank = among(option, {"0", "1", "2", "3", "4", "5", "6", "7"}, next());
          else if (option == "--schedule")
            a.schedule = among(option, {"gpipe", "one_forward_one_backward"}, next());
          else if (option == "--what")
            a.what = among(option, {"layout", "tensors", "operations", "step", "rules", "all"}, next());
          else return false;
          return true;
        });
    if (help) {
      std::fputs(usage, stdout);
      return 0;
    }
    if (!a.beside.empty() && a.svg.empty())
      throw meshtf::usage_error(
          "expected --svg FILE with --beside, got none: two layouts are drawn side by side");
    if (!a.processes.empty()) {
      say_processes(a);
      return 0;
    }
    if (!a.diff.empty()) return say_differences(a) ? 1 : 0;
    if (!a.trace.empty()) {
      write_trace(a);
      return 0;
    }
    if (a.stages) {
      of_stages::say();
    } else if (a.svg.empty()) {
      if (!a.schedule.empty())
        schedules::under(a.schedule, [&]<class S> { say(meshtf::explain_schedule<S, 4, 8>()); });
      else if (a.model == "mlp") max_layouts::under(a.layout, [&]<class L> { say_of_mlp<L>(a); });
      else if (a.model == "transformer")
        max_layouts::under(a.layout, [&]<class L> { say_of_transformer<L>(a); });
      else layouts_of_images::under(a.layout, [&]<class L> { say_of_images<L>(a); });
    } else {
      write(a.svg, picture(a).view());
      std::printf("%s\n", a.svg.c_str());
    }
    return 0;
  } catch (meshtf::error const& e) {
    std::fprintf(stderr, "meshtf: %s\n", e.what());
    return e.exit_status();
  }
}
