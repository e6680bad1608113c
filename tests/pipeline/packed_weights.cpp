// The weights of a block travel in one message each way: the bits of one message a weight, the same bytes,
// and prices that are counted.
// test: program pipeline
#include <cmath>
#include <vector>

#include "../layout_fixture.hpp"

namespace {

using namespace meshtf;
using boost::mpi::communicator;

struct batch : dim<8> {};
struct part : dim<4> {};
struct length : dim<8> {};
struct vocab : dim<32> {};
struct width : dim<18> {};  // four processes do not divide it
struct middle : dim<260> {};
struct heads : dim<3> {};
struct key : dim<6> {};
struct groups : dim<3> {};
struct each_ : dim<1> {};
struct hidden : dim<24> {};

template<int R>
struct rows : axis<R> {};
struct cols : axis<2> {};
struct stages : axis<2> {};
template<int R>
struct line : mesh<rows<R>> {};
struct square : mesh<rows<2>, cols> {};
struct pipe : mesh<stages, rows<2>> {};

template<int R>
struct packed : layout<line<R>, split<batch, rows<R>>, split<part, rows<R>>, kept_over<rows<R>>> {};
template<int R>
struct single
    : layout<line<R>, split<batch, rows<R>>, split<part, rows<R>>, kept_over<rows<R>>, one_message_a_weight> {
};
struct mixed_packed : layout<square, split<batch, rows<2>>, split<hidden, cols>, kept_over<rows<2>>> {};
struct mixed_single
    : layout<square, split<batch, rows<2>>, split<hidden, cols>, kept_over<rows<2>>, one_message_a_weight> {};
struct staged_packed
    : layout<pipe, staged<stages>, split<batch, rows<2>>, split<part, rows<2>>, kept_over<rows<2>>> {};
struct staged_single : layout<pipe, staged<stages>, split<batch, rows<2>>, split<part, rows<2>>,
                              kept_over<rows<2>>, one_message_a_weight> {};

// ---- models (of any class: g++ 12 mistakes the constraint of a template parameter that is a template)

struct dims : nn::transformer_dims<length, vocab, width, heads, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.1;
};
struct llama_dims : nn::llama_dims<length, vocab, width, groups, each_, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.1;
};
template<class L>
using transformer = nn::transformer<double, L, dims>;
template<class L>
using llama = nn::llama<double, L, llama_dims>;
template<class L>
using narrow_transformer = nn::transformer<float, L, dims, bfloat16>;

/// A user's own block: a norm whose scale is long enough to be cut, products, a weight that is used twice,
/// one that is gathered by hand, and one that nothing uses.
template<Layout L, FloatingElement T = double>
struct own_block {
  kept_parameter<T, L, vocab, middle> up;
  nn::layer_norm<T, L, middle> norm;
  kept_parameter<T, L, middle> scale;
  nn::linear<T, L, middle, vocab> down;
  kept_parameter<T, L, vocab, middle> unused;

  constexpr explicit own_block(machine<L>& m, std::uint64_t seed)
      : up{m, normal{seed, 0.1}},
        norm{m},
        scale{m, constant{1}},
        down{m, normal{seed + 1, 0.1}},
        unused{m, normal{seed + 2, 0.1}} {}
  template<class X>
  constexpr auto operator()(X const& x) const {
    auto const h = norm(nn::detail::einsum_with_weight(shape<batch, length, middle>{}, x, up,
                                                       std::source_location::current()));
    auto const y = tanh(h * nn::detail::weight_for<X>(scale, std::source_location::current()));
    auto const back =
        nn::detail::einsum_with_weight(shape<batch, length, vocab>{}, y, up, std::source_location::current());
    return x + down(y) + back;
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("up", up), named("norm", norm), named("scale", scale),
                              named("down", down), named("unused", unused));
  }
};
/// One that computes itself again: its weights are gathered once for that and its gradients.
template<Layout L>
struct again_inside : own_block<L> {
  using own_block<L>::own_block;
  constexpr auto operator()(auto const& x) const {
    return recompute([this](auto const& v) { return own_block<L>::operator()(v); }, x);
  }
};

enum class call : unsigned char { by_itself, around, again_around, again_within };

template<Layout L, FloatingElement T, FloatingElement Activation, call How>
struct own_model {
  std::conditional_t<How == call::again_within, again_inside<L>, own_block<L, T>> first;
  own_block<L, T> second;

  constexpr own_model(machine<L>& m, std::uint64_t seed) : first{m, seed}, second{m, seed + 7} {}
  constexpr auto operator()(tensor<int, L, batch, length> const& ids) const {
    auto const x = one_hot<vocab, Activation>(ids);
    if constexpr (How == call::by_itself) return second(first(x));
    else if constexpr (How == call::again_around)
      return with_gathered_weights(
          second, recompute([this](auto const& v) { return with_gathered_weights(first, v); }, x));
    else return with_gathered_weights(second, with_gathered_weights(first, x));
  }
  constexpr auto parameters() { return meshtf::parameters(named("first", first), named("second", second)); }
};
template<class L>
using own = own_model<L, double, double, call::around>;
template<class L>
using own_plain = own_model<L, double, double, call::by_itself>;
template<class L>
using own_again = own_model<L, double, double, call::again_around>;
template<class L>
using own_within = own_model<L, double, double, call::again_within>;
template<class L>
using own_narrow = own_model<L, float, bfloat16, call::around>;

struct whole_batch {};
struct micro_batches {};

template<Layout L, class In, template<class> class Model>
struct training {
  Model<L> net;
  adamw opt{1e-2};
  tensor<int, L, batch, length> ids;

  constexpr explicit training(machine<L>& m)
      : net(m, 1), ids{argmax<vocab>(random_normal<double, L, batch, length, vocab>(m, {.seed = 3}))} {
    opt.max_norm    = 0.5;
    opt.shard_state = true;
  }
  constexpr auto step() {
    auto loss = gradients();
    opt.step(parameters(net));
    return loss;
  }

private:
  constexpr auto gradients() {
    if constexpr (std::is_same_v<In, whole_batch>) {
      auto loss = mean(softmax_cross_entropy<vocab>(cast<float>(net(ids)), flip<length>(ids)));
      backward(loss);
      return loss;
    } else {
      auto const targets = flip<length>(ids);
      return accumulate<2>(ids.machine(), [&](extent i) {
        auto const scores = net(micro_batch<batch, part>(ids, i));
        return mean(softmax_cross_entropy<vocab>(scores, micro_batch<batch, part>(targets, i))) / 2;
      });
    }
  }
};

template<Mesh M>
process_mesh<M>& processes() {
  static auto* const made = new process_mesh<M>{communicator{}};
  return *made;
}

/// All elements of the weights of this process, after some steps.
template<Layout L, class In, template<class> class Model>
std::vector<double> trained_on(process_mesh<typename L::mesh_type>& m) {
  training<L, In, Model> t{m};
  for (int i = 0; i < 3; ++i) t.step();
  std::vector<double> all;
  parameters(t.net).for_each([&](auto& w) {
    if (w.handle()->is_absent()) return;
    for (auto const x : w.local()) all.push_back(static_cast<double>(x));
  });
  m.agree(parameters(t.net));
  return all;
}

double mean_difference(std::vector<double> const& x, std::vector<double> const& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::abs(x[i] - y[i]);
  return sum / static_cast<double>(x.size());
}

template<class In, template<class> class Model>
struct step_of {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<L, In, Model> t{m};
    auto const loss = t.step();
  }
};

template<class Cost>
constexpr extent messages_of_weights(Cost const& c) {
  return c.template calls<collective::all_gather>() + c.template calls<collective::reduce_scatter>();
}

struct figures {
  extent calls                          = 0;
  extent calls_single                   = 0;
  extent peak                           = 0;
  extent peak_single                    = 0;
  bool operator==(figures const&) const = default;
};
template<class Packed, class Single>
constexpr figures figures_of(Packed const& p, Single const& s) {
  return {messages_of_weights(p), messages_of_weights(s), p.peak_bytes(), s.peak_bytes()};
}

/// Of what is expected besides a price that is counted: the bits of one message a weight, and as many bytes.
enum class equal : unsigned char { bits_and_bytes, bits, neither };

template<class Packed, class Single, class In, template<class> class Model>
void check(figures const& expected, equal what = equal::bits_and_bytes) {
  INFO(name_of<Packed>());
  auto& m        = processes<typename Packed::mesh_type>();
  auto const own = trained_on<Packed, In, Model>(m);
  auto const one = trained_on<Single, In, Model>(m);
  if (what != equal::neither) CHECK((own == one));
  else CHECK(mean_difference(own, one) < 1e-4);
  static constexpr auto promised = dry_run<Packed>(step_of<In, Model>{});
  static constexpr auto of_one   = dry_run<Single>(step_of<In, Model>{});
  auto const counted             = recorded<Packed>(m, step_of<In, Model>{});
  if constexpr (is_staged<Packed>) {
    auto const stage = static_cast<int>(m.template coordinate<stages>());
    fixture::compare(fixture::cost_summary{promised.stage(stage)}, fixture::cost_summary{counted}, "packed");
    figures const seen = figures_of(promised.stage(0), of_one.stage(0));
    INFO("calls " << seen.calls << " of " << seen.calls_single << ", peak " << seen.peak << " of "
                  << seen.peak_single);
    CHECK(seen == expected);
  } else {
    fixture::compare(fixture::cost_summary{promised}, fixture::cost_summary{counted}, "packed");
    figures const seen = figures_of(promised, of_one);
    INFO("calls " << seen.calls << " of " << seen.calls_single << ", peak " << seen.peak << " of "
                  << seen.peak_single);
    CHECK(seen == expected);
    CHECK(promised.flops() == of_one.flops());
    CHECK(promised.parameter_bytes() == of_one.parameter_bytes());
    CHECK((promised.bytes_sent() == of_one.bytes_sent()) == (what == equal::bits_and_bytes));
  }
}

}  // namespace

TEST_CASE("weights of a block that travel together have the bits of weights that travel alone") {
  switch (communicator{}.size()) {
    case 2: check<packed<2>, single<2>, whole_batch, transformer>({15, 45, 179396, 157364}); break;
    case 4:
#ifdef MESHTF_LONG_ZOO
      check<packed<4>, single<4>, whole_batch, transformer>({15, 45, 117508, 93316});
      check<mixed_packed, mixed_single, whole_batch, transformer>({18, 48, 162596, 145748});
      check<packed<4>, single<4>, micro_batches, transformer>({28, 88, 103888, 77104});
#endif
      check<packed<4>, single<4>, whole_batch, llama>({13, 49, 129588, 99828});
      check<staged_packed, staged_single, micro_batches, transformer>({16, 46, 117488, 95456});
      break;
    default: break;
  }
}

TEST_CASE("so have those of a block that a program calls with its weights gathered") {
  if (communicator{}.size() != 4) return;
#ifdef MESHTF_LONG_ZOO
  check<packed<4>, single<4>, whole_batch, own>({10, 31, 657396, 474356}, equal::bits);
  check<packed<4>, packed<4>, whole_batch, own_plain>({31, 31, 474356, 474356});
#endif
  check<packed<4>, single<4>, whole_batch, own_again>({11, 37, 580044, 401100}, equal::bits);
  check<packed<4>, single<4>, whole_batch, own_within>({10, 37, 582124, 401100}, equal::bits);
  check<packed<4>, single<4>, whole_batch, own_narrow>({14, 31, 261540, 201868}, equal::neither);
}

TEST_CASE("in mixed precision the elements of use are gathered together") {
  if (communicator{}.size() == 4)
    check<packed<4>, single<4>, whole_batch, narrow_transformer>({13, 43, 42468, 34692});
}

namespace {

/// It fails after its weights have been used.
template<Layout L>
struct failing_block : own_block<L> {
  using own_block<L>::own_block;
  auto operator()(auto const& x) const {
    auto const y = own_block<L>::operator()(x);
    throw usage_error("no");
    return y;
  }
};

}  // namespace

TEST_CASE("a block that fails leaves no gathered weights") {
  if (communicator{}.size() != 4) return;
  using L = packed<4>;
  auto& m = processes<line<4>>();
  failing_block<L> const fails{m, 1};
  auto const x = random_normal<double, L, batch, length, vocab>(m, {.seed = 1});
  CHECK_THROWS_AS(with_gathered_weights(fails, x), usage_error);
  CHECK(m.packed_weights() == nullptr);
  {
    no_gradient const guard{m};
    CHECK_THROWS_AS(with_gathered_weights(fails, x), usage_error);
    CHECK(m.packed_weights() == nullptr);
  }
  m.unwind_tape(false);
}
