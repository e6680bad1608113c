// The Transformer language model compared with PyTorch: the same loss, gradients and steps of AdamW from the
// same weights. See tests/golden/README.md.
// test: processes 1 4
#include "../layout_fixture.hpp"

#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/nn/transformer.hpp>

#if MESHTF_WITH_JANSSON

using namespace meshtf;

namespace {

struct batch : dim<4> {};
struct length : dim<16> {};
struct vocab : dim<32> {};
struct model : dim<16> {};
struct heads : dim<4> {};
struct key : dim<4> {};
struct hidden : dim<64> {};

struct whole : layout<fixture::single> {};
struct mixed : layout<fixture::two_by_two, split<batch, fixture::rows>, split<heads, fixture::cols>,
                      split<hidden, fixture::cols>, split<vocab, fixture::cols>> {};

struct small : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 2;
};
struct small_untied : small {
  static constexpr bool tied = false;
};

safetensors_reader const& golden() {
  static safetensors_reader const file{MESHTF_TESTS_FOLDER "/golden/transformer.safetensors"};
  return file;
}

double number(std::string const& name) { return golden().read<double>(name).at(0); }

double largest(std::vector<double> const& values) {
  double most = 0;
  for (double x : values) most = std::max(most, std::abs(x));
  return most;
}

/// What a process holds of a tensor. Its functions do not depend on the tensor's type, so they are compiled
/// once for all.
template<class T>
struct shard {
  T* elements;
  std::span<placed const> dims;
  std::array<extent, max_rank> first;

  template<class L, class... D>
  explicit shard(tensor<T, L, D...>& x)
      : elements{x.data()},
        dims{placed_dims<L, shape<D...>>},
        first(first_indices(dims, x.machine().place())) {}

  /// Takes its part of the golden array `name`, of elements `Stored`.
  template<class Stored>
  void take(std::string const& name) const {
    auto const whole = array<Stored>(name);
    for_each_run(dims, first, [&](extent local, extent at, extent n) {
      for (extent i = 0; i < n; ++i)
        elements[local + i] = static_cast<T>(whole[static_cast<std::size_t>(at + i)]);
    });
  }

  /// The largest difference of any element from the golden array `name`; infinite if one is not a number.
  double distance(std::string const& name) const {
    auto const whole = array<double>(name);
    double most      = 0;
    for_each_run(dims, first, [&](extent local, extent at, extent n) {
      for (extent i = 0; i < n; ++i) {
        double const difference =
            std::abs(static_cast<double>(elements[local + i]) - whole[static_cast<std::size_t>(at + i)]);
        if (!(difference <= most))
          most = std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
      }
    });
    return most;
  }

private:
  template<class Stored>
  std::vector<Stored> array(std::string const& name) const {
    std::vector<extent> extents;
    for (placed const& d : dims) extents.push_back(d.size);
    INFO(name);
    REQUIRE(golden().header().arrays.at(name).extents == extents);
    return golden().read<Stored>(name);
  }
};

template<class T, class L, class... D>
shard<T> shard_of(tensor<T, L, D...>& x) {
  return shard<T>{x};
}

void check_gradient(std::string const& name, double distance, double tolerance) {
  INFO("the gradient of " << name << ", in parts of the largest entry of all");
  CHECK(distance <= tolerance);
}

void check_weight(std::string const& name, double distance, double tolerance) {
  INFO(name << " after the last step");
  CHECK(distance <= tolerance);
}

/// The golden weights, ids and targets, on the processes of a layout.
template<class T, Layout L, class Dims>
struct language_model {
  nn::transformer<T, L, Dims> net;
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;

  explicit language_model(machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    shard_of(ids).template take<int>("ids");
    shard_of(targets).template take<int>("targets");
    net.parameters().for_each_named([](std::string const& name, auto& w) {
      shard_of(w).template take<double>((name == "output.weight" ? "untied.w." : "w.") + name);
    });
  }

  auto loss() const {
    auto const scores = net(ids);
    return mean(softmax_cross_entropy<vocab>(scores, targets));
  }
};

template<class T, Layout L, class Dims>
void check_gradients(double tolerance) {
  language_model<T, L, Dims> lm{fixture::processes<typename L::mesh_type>()};
  std::string const prefix = Dims::tied ? "" : "untied.";
  auto const loss          = lm.loss();
  backward(loss);
  CHECK(std::abs(static_cast<double>(loss.value()) - number(prefix + "loss")) <=
        tolerance * number(prefix + "loss"));

  double scale = 0;
  int count    = 0;
  lm.net.parameters().for_each_named([&](std::string const& name, auto&) {
    scale = std::max(scale, largest(golden().read<double>(prefix + "g." + name)));
    ++count;
  });
  CHECK(count == (Dims::tied ? 36 : 37));
  lm.net.parameters().for_each_named([&](std::string const& name, auto& w) {
    auto g = finish(gradient(w));
    check_gradient(name, shard_of(g).distance(prefix + "g." + name) / scale, tolerance);
  });
}

/// Three steps; the state of AdamW whole, and in parts on the processes that hold a weight alike.
template<class T, Layout L>
void check_steps(double loss_tolerance, double weight_tolerance) {
  auto& m           = fixture::processes<typename L::mesh_type>();
  auto const losses = golden().read<double>("losses");
  REQUIRE(losses.size() == 4);
  for (bool sharded : {false, true}) {
    INFO("state of AdamW " << (sharded ? "sharded" : "whole"));
    language_model<T, L, small> lm{m};
    adamw opt{1e-3, 0.1};
    opt.decayed_rank = 0;
    opt.shard_state  = sharded;
    for (std::size_t step = 0; step < 3; ++step) {
      auto const loss = lm.loss();
      INFO("loss before step " << step + 1);
      CHECK(std::abs(static_cast<double>(loss.value()) - losses[step]) <= loss_tolerance * losses[step]);
      backward(loss);
      opt.step(lm.net.parameters());
    }
    no_gradient const guard{m};
    INFO("after the last step");
    CHECK(std::abs(static_cast<double>(lm.loss().value()) - losses[3]) <= loss_tolerance * losses[3]);
    lm.net.parameters().for_each_named([&](std::string const& name, auto& w) {
      check_weight(name, shard_of(w).distance("w3." + name), weight_tolerance);
    });
  }
}

// The gradient of a key's bias is rounding, which Adam makes steps of up to the rate: so single precision
// does not end at the same weights.
constexpr double any = std::numeric_limits<double>::infinity();

template<Layout L>
void check_all() {
  SECTION("loss and gradients, double") { check_gradients<double, L, small>(1e-12); }
  SECTION("loss and gradients, double, softmax not tied") { check_gradients<double, L, small_untied>(1e-12); }
  SECTION("loss and gradients, float") { check_gradients<float, L, small>(1e-5); }
  SECTION("three steps, double") { check_steps<double, L>(1e-12, 1e-9); }
  SECTION("three steps, float") { check_steps<float, L>(1e-4, any); }
}

}  // namespace

TEST_CASE("a Transformer's loss, gradients and three steps of AdamW are PyTorch's", "[1]") {
  check_all<whole>();
}

TEST_CASE("so they are on a mesh of 2 x 2: batch over rows; heads, hidden and vocabulary over columns",
          "[4]") {
  check_all<mixed>();
}

#endif
