// The weights of a block travel in one message each way: the bits of one message a weight, the same bytes,
// and prices that are counted.
// test: program pipeline
#include <tuple>
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
struct single : layout<line<R>, split<batch, rows<R>>, split<part, rows<R>>, kept_over<rows<R>>,
                       one_message_a_weight> {};
struct mixed_packed : layout<square, split<batch, rows<2>>, split<hidden, cols>, kept_over<rows<2>>> {};
struct mixed_single : layout<square, split<batch, rows<2>>, split<hidden, cols>, kept_over<rows<2>>,
                             one_message_a_weight> {};
struct staged_packed
    : layout<pipe, staged<stages>, split<batch, rows<2>>, split<part, rows<2>>, kept_over<rows<2>>> {};
struct staged_single : layout<pipe, staged<stages>, split<batch, rows<2>>, split<part, rows<2>>,
                              kept_over<rows<2>>, one_message_a_weight> {};

// ---- models

struct dims : nn::transformer_dims<length, vocab, width, heads, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.1;
};
struct llama_dims : nn::llama_dims<length, vocab, width, groups, each_, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.1;
};
template<Layout L>
using transformer = nn::transformer<double, L, dims>;
template<Layout L>
using llama = nn::llama<double, L, llama_dims>;
template<Layout L>
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
    auto const h    = norm(nn::detail::einsum_with_weight(
        shape<batch, length, middle>{}, x, up, std::source_location::current()));
    auto const y    = tanh(h * nn::detail::weight_for<X>(scale, std::source_location::current()));
    auto const back = nn::detail::einsum_with_weight(shape<batch, length, vocab>{}, y, up,
                                                     std::source_location::current());
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
    else if constexpr (How == call::around) return with_gathered_weights(second, with_gathered_weights(first, x));
    else return second(with_gathered_weights(first, x));
  }
  constexpr auto parameters() { return meshtf::parameters(named("first", first), named("second", second)); }
};
template<Layout L>
using own = own_model<L, double, double, call::around>;
template<Layout L>
using own_plain = own_model<L, double, double, call::by_itself>;
template<Layout L>
using own_again = own_model<L, double, double, call::again_around>;
template<Layout L>
using own_within = own_model<L, double, double, call::again_within>;
template<Layout L>
using own_narrow = own_model<L, float, bfloat16, call::around>;

enum class batches : unsigned char { whole, micro };

template<Layout L, template<Layout> class Model, batches In>
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
    if constexpr (In == batches::whole) {
      auto loss = mean(softmax_cross_entropy<vocab>(cast<float>(net(ids)), flip<length>(ids)));
      backward(loss);
      return loss;
    } else {
      return accumulate<2>(ids.machine(), [&](extent i) {
        auto const some = micro_batch<batch, part>(ids, i);
        return mean(softmax_cross_entropy<vocab>(net(some), flip<length>(some))) / 2;
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
template<Layout L, template<Layout> class Model, batches In>
std::vector<double> trained_on(process_mesh<typename L::mesh_type>& m) {
  training<L, Model, In> t{m};
  for (int i = 0; i < 3; ++i) t.step();
  std::vector<double> all;
  parameters(t.net).for_each([&](auto& w) {
    if (w.handle()->is_absent()) return;
    for (auto const x : w.local()) all.push_back(static_cast<double>(x));
  });
  m.agree(parameters(t.net));
  return all;
}

template<template<Layout> class Model, batches In>
struct step_of {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    training<L, Model, In> t{m};
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

/// The bits of one message a weight, as many bytes, and a price that is counted.
template<class Packed, class Single, template<Layout> class Model, batches In = batches::whole>
void check(figures const& expected, bool same_bits = true) {
  INFO(name_of<Packed>());
  auto& m        = processes<typename Packed::mesh_type>();
  auto const own = trained_on<Packed, Model, In>(m);
  auto const one = trained_on<Single, Model, In>(m);
  if (same_bits) CHECK(own == one);
  static constexpr auto promised = dry_run<Packed>(step_of<Model, In>{});
  static constexpr auto of_one   = dry_run<Single>(step_of<Model, In>{});
  if constexpr (!is_staged<Packed>) {
    fixture::compare(fixture::cost_summary{promised},
                     fixture::cost_summary{recorded<Packed>(m, step_of<Model, In>{})}, "packed");
    figures const seen = figures_of(promised, of_one);
    INFO("calls " << seen.calls << " of " << seen.calls_single << ", peak " << seen.peak << " of "
                  << seen.peak_single);
    CHECK(seen == expected);
    CHECK(promised.flops() == of_one.flops());
    CHECK(promised.parameter_bytes() == of_one.parameter_bytes());
    if (same_bits) CHECK(promised.bytes_sent() == of_one.bytes_sent());
  }
}

}  // namespace

TEST_CASE("weights of a block that travel together have the bits of weights that travel alone") {
  switch (communicator{}.size()) {
    case 2: check<packed<2>, single<2>, transformer>({}); break;
    case 4:
      check<packed<4>, single<4>, transformer>({});
      check<packed<4>, single<4>, llama>({});
      check<packed<4>, single<4>, transformer, batches::micro>({});
      check<mixed_packed, mixed_single, transformer>({});
      break;
    default: break;
  }
}
