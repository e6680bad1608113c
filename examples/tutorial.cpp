// The program of docs/tutorial.md, from the first dimension to a trained model. Its text shows parts of this
// file, and of what it prints.
// Run:    examples/processes 4 build/release/examples/tutorial [FOLDER]   (where checkpoints go;
// build/tutorial)
// Prints: where tensors are, then losses while a small model learns the order of the months, the lines that
// it continues, and a profile.
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <boost/mpi/collectives.hpp>

#include <meshtf/meshtf.hpp>

#include "promise.hpp"

namespace first_steps {

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};
struct out : meshtf::dim<2> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

// of 8 * 16: each process holds a quarter
static_assert(meshtf::tensor<float, mixed, batch, hidden>::size == 4 * 8);
// of 8 * 4: a half, the same in both columns
static_assert(meshtf::tensor<float, mixed, batch, in>::size == 4 * 4);
static_assert(meshtf::tensor<float, mixed, in, out>::size == 4 * 2);  // all of it, on every process

struct people : meshtf::dim<10> {};
struct uneven : meshtf::layout<grid, meshtf::padded<people, rows, cols>> {};
static_assert(meshtf::tensor<float, uneven, people>::size == 3);  // 3 allocated elements on every process

struct clash : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, rows>> {};
static_assert(std::same_as<meshtf::placement_verdict<clash, batch, hidden>,
                           meshtf::one_axis_splits_two_dims<rows, batch, hidden>>);

void tensors(meshtf::process_mesh<grid>& m) {
  auto numbers = xt::xarray<float>::from_shape({8, 16});
  std::iota(numbers.begin(), numbers.end(), 0.0f);

  // each process takes its shard: nothing is sent
  auto const x = meshtf::from_global<float, mixed, batch, hidden>(m, numbers);
  // that shard: a view of 4 x 8 elements
  auto const mine = x.local();

  std::vector<float> corners;
  boost::mpi::gather(m.world(), mine(0, 0), corners, 0);
  auto const whole = to_global(x);  // every process gets all elements: this sends
  if (m.rank() == 0) {
    std::printf("%s\n", placement_text(x).c_str());
    std::printf("first elements of the parts: %g %g %g %g\n", corners[0], corners[1], corners[2], corners[3]);
    std::printf("the last element of the whole: %g\n", whole(7, 15));
  }

  // 0 to 9, in parts of 3, 3, 3 and 1
  auto const ages  = meshtf::iota<float, uneven, people>(m);
  auto const total = sum(ages).value();  // adds up no padding
  // ranks are in the order of the parts
  auto const mine_of_ten = meshtf::placed_under<uneven, people>.local_extent(m.rank());

  std::vector<meshtf::extent> held;
  boost::mpi::gather(m.world(), mine_of_ten, held, 0);
  if (m.rank() == 0) {
    std::printf("%s\n", placement_text(ages).c_str());
    std::printf("parts of %ld, %ld, %ld and %ld; the sum is %g\n", long{held[0]}, long{held[1]},
                long{held[2]}, long{held[3]}, total);
  }
}

constexpr auto network(auto const& x, auto const& w, auto const& v) {
  auto const h = relu(einsum<batch, hidden>(x, w));  // in is whole: each process multiplies what it holds
  // hidden is split over cols: an all-reduce adds up the two local terms
  return einsum<batch, out>(h, v);
}

constexpr auto forward = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, in> const x{m};
  meshtf::tensor<float, L, in, hidden> const w{m};
  meshtf::tensor<float, L, hidden, out> const v{m};
  network(x, w, v);
});
static_assert(forward.calls() == 1 && forward.calls<meshtf::collective::all_reduce>() == 1);
static_assert(forward.bytes_sent<rows>() == 0);
// 4 rows of the batch, 2 outputs, 4 bytes each
static_assert(forward.bytes_sent<cols>() == 4 * 2 * 4);
// two for each multiply-add, of one process
static_assert(forward.flops() == 2 * (4 * 4 * 8) + 2 * (4 * 8 * 2));
static_assert(forward.peak_bytes() <= 1 * meshtf::KiB);

using w_of_mixed = meshtf::parameter<float, mixed, in, hidden>;
static_assert(std::same_as<decltype(gradient(std::declval<w_of_mixed&>())),  //
                           meshtf::partial<meshtf::tensor<float, mixed, in, hidden>, meshtf::axes<rows>>>);

template<meshtf::Layout L>
struct regression {
  meshtf::parameter<float, L, in, hidden> w;
  meshtf::parameter<float, L, hidden, out> v;
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<float, L, batch, out> y;
  meshtf::sgd opt{0.05};

  constexpr explicit regression(meshtf::machine<L>& m)
      : w{m, meshtf::he_normal{1}},
        v{m, meshtf::he_normal{2}},
        x{meshtf::random_normal<float, L, batch, in>(m, {.seed = 3})},
        y{meshtf::random_normal<float, L, batch, out>(m, {.seed = 4})} {}

  constexpr auto step() {
    auto const error = network(x, w, v) - y;
    auto const loss  = mean(square(error));
    backward(loss);              // gradients add up in w and v
    opt.step(parameters(w, v));  // finishes their sums over processes, updates, and clears them
    return loss;
  }
};

void train(meshtf::process_mesh<grid>& m) {
  regression<mixed> r{m};
  m.agree(parameters(r.w, r.v));  // processes that hold the same shard begin with the same elements
  double const before = r.step().value();
  for (int i = 0; i < 500; ++i) r.step();
  double const after = r.step().value();
  if (m.rank() == 0)
    std::printf("mean square error: %.2f at the start, %.2f after 500 steps\n", before, after);
}

}  // namespace first_steps

namespace calendar {

struct batch : meshtf::dim<32> {};
struct length : meshtf::dim<32> {};
struct vocab : meshtf::dim<meshtf::byte_tokenizer::vocabulary> {};  // a byte is a token
struct model : meshtf::dim<64> {};
struct heads : meshtf::dim<4> {};
struct key : meshtf::dim<16> {};
struct hidden : meshtf::dim<256> {};

using first_steps::cols, first_steps::grid, first_steps::rows, meshtf::split;
struct data_parallel : meshtf::layout<grid, split<batch, rows, cols>> {};
struct mixed
    : meshtf::layout<grid, split<batch, rows>, split<heads, cols>, split<hidden, cols>, split<vocab, cols>> {
};

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 2;
};

template<meshtf::Layout L, class Activation>
struct training_in {
  meshtf::nn::transformer<float, L, dims, Activation> net;
  meshtf::adamw opt{3e-3};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;

  constexpr explicit training_in(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    opt.max_norm    = 1;     // gradients are scaled down to this norm
    opt.shard_state = true;  // processes that hold the same weights keep a part of AdamW's means each
  }

  constexpr auto losses() const { return softmax_cross_entropy<vocab>(net(ids), targets); }

  constexpr auto step() {
    auto const loss = mean(losses());
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

template<meshtf::Layout L>
struct training : training_in<L, float> {
  using training_in<L, float>::training_in;
};

constexpr auto cost = meshtf::dry_run<training, mixed>();
static_assert(cost.bytes_sent<rows>() + cost.bytes_sent<cols>() <= 2 * meshtf::MiB);

template<meshtf::Layout L>
struct training_in_bfloat16 : training_in<L, meshtf::bfloat16> {
  using training_in<L, meshtf::bfloat16>::training_in;
};
static_assert(meshtf::dry_run<training_in_bfloat16, mixed>().peak_bytes() < 0.75 * cost.peak_bytes());

constexpr std::array months{"jan", "feb", "mar", "apr", "may", "jun",
                            "jul", "aug", "sep", "oct", "nov", "dec"};

std::string line(std::size_t month) { return std::string{"after "} + months[month] + " comes "; }

/// Lines as "after jan comes feb", in random order.
meshtf::text some_lines(int count) {
  std::mt19937 random{1};
  meshtf::text text{"months", "\n"};
  for (int i = 0; i < count; ++i) {
    std::size_t const month = random() % 12;
    text.bytes += line(month) + months[(month + 1) % 12] + "\n";
  }
  return text;
}

template<meshtf::Layout L, class Activation>
void train(training_in<L, Activation>& t, meshtf::text const& text, long steps) {
  meshtf::random_windows windows{text, 1};  // 1: the seed
  meshtf::warmup_cosine const rate{.peak = 3e-3, .warmup_steps = 20, .total_steps = steps, .floor = 1e-4};
  for (long step = 0; step < steps; ++step) {
    windows.next(t.ids, t.targets);  // each process fills the shard that it holds
    t.opt.rate       = rate(step);
    double const now = t.step().value();
    if (step % 100 == 0 && t.ids.machine().rank() == 0) std::printf("step %3ld: loss %.3f\n", step, now);
  }
}

template<meshtf::Layout L, class Activation>
double bits_a_character(training_in<L, Activation>& t, meshtf::text const& text) {
  auto& m = t.ids.machine();
  meshtf::no_gradient const guard{m};                  // nothing is put on the tape
  meshtf::tensor<float, L, batch, length> weights{m};  // 1, and 0 for what fills up the last batch
  meshtf::windows_in_order windows{text};
  double total = 0;
  while (windows.next(t.ids, t.targets, weights)) total += sum(t.losses() * weights).value();
  return total / static_cast<double>(windows.count()) / std::log(2.0);
}

/// Goes on with each of these lines, one a window, by `bytes` bytes.
template<meshtf::Layout L>
void write_on(training<L>& t, std::vector<std::string>& lines, int bytes) {
  struct one : meshtf::dim<1> {};
  auto& m = t.ids.machine();
  meshtf::no_gradient const guard{m};
  for (int i = 0; i < bytes; ++i) {
    auto known = xt::xarray<int>::from_shape({batch::size, length::size});
    known.fill(0);
    for (std::size_t line = 0; line < lines.size(); ++line)
      for (std::size_t k = 0; k < lines[line].size(); ++k)
        known(line, k) = meshtf::byte_tokenizer::id_of(lines[line][k]);
    t.ids = meshtf::from_global<int, L, batch, length>(m, known);

    auto const last   = static_cast<meshtf::extent>(lines[0].size()) - 1;
    auto const scores = slice<length, one>(t.net(t.ids), last);
    // 0: the likeliest
    auto const next =
        meshtf::sample<vocab>(scores, {.seed = 1, .stream = static_cast<std::uint64_t>(last)}, 0);
    auto const chosen = to_global(next);
    for (std::size_t line = 0; line < lines.size(); ++line) lines[line] += static_cast<char>(chosen(line, 0));
  }
}

/// How many of the 12 lines it ends as it should.
template<meshtf::Layout L>
int examine(training<L>& t) {
  std::vector<std::string> lines;
  for (std::size_t month = 0; month < 12; ++month) lines.push_back("\n" + line(month));
  write_on(t, lines, 3);
  int right = 0;
  for (std::size_t month = 0; month < 12; ++month)
    right += int{lines[month] == "\n" + line(month) + months[(month + 1) % 12]};
  if (t.ids.machine().rank() == 0) std::printf("%s\n", lines[4].substr(1).c_str());
  return right;
}

void run(meshtf::process_mesh<grid>& m, [[maybe_unused]] std::string const& folder) {
  auto const text = meshtf::split_text(some_lines(2000));  // the last twentieth is kept from training
  m.agree("the text", text.training.bytes);
  m.agree("the text that is held out", text.held_out.bytes);
  training<mixed> t{m};
  m.agree(parameters(t.net));
  train(t, text.training, 400);
  double const bits = bits_a_character(t, text.held_out);
  if (m.rank() == 0) std::printf("held-out text: %.2f bits a character\n", bits);
  int const right = examine(t);
  if (m.rank() == 0) std::printf("%d of 12 lines end as they should\n", right);
  if (right < 12 || bits > 0.5)
    throw meshtf::software_error("expected a model that knows the months, got another");

  training_in_bfloat16<mixed> half{m};
  train(half, text.training, 400);
  double const half_bits = bits_a_character(half, text.held_out);
  // processors round sums of bfloat16 differently
  if (m.rank() == 0) std::printf("in mixed precision: %.1f bits a character\n", half_bits);
  if (std::abs(half_bits / bits - 1) > 0.05)
    throw meshtf::software_error("expected mixed precision to learn as much, got another model");

#if MESHTF_WITH_JANSSON
  meshtf::save(parameters(t.net), t.opt, {.step = 400, .seed = 1}, folder);

  training<data_parallel> other{m};
  auto const position     = meshtf::load(parameters(other.net), other.opt, folder);
  double const other_bits = bits_a_character(other, text.held_out);
  if (m.rank() == 0)
    std::printf("loaded under data_parallel after step %d: %.2f bits a character\n",
                static_cast<int>(position.step), other_bits);
  if (std::abs(other_bits / bits - 1) > 1e-5)
    throw meshtf::software_error("expected the same model under another layout, got another");
#endif
}

}  // namespace calendar

int main(int argc, char** argv) {
  // MPI is up, and an error becomes one line and an exit status
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<first_steps::grid> m{env.world()};  // four processes, or an error
  std::string const folder = argc > 1 ? argv[1] : "build/tutorial";
  m.agree("the folder for checkpoints", folder);
  check_promise<first_steps::regression, first_steps::mixed>(m);
  check_promise<calendar::training, calendar::mixed>(m);
  check_promise<calendar::training, calendar::data_parallel>(m);
  check_promise<calendar::training_in_bfloat16, calendar::mixed>(m);
  first_steps::tensors(m);
  first_steps::train(m);
  calendar::run(m, folder);
}
