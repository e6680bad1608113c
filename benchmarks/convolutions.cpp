// Convolutions: each compared with the primitive of oneDNN that it calls, shape by shape, and steps of two
// networks: a block of ResNet-18 at 56x56x64, and the net of examples/images. One process alone, or two that
// split the batch. benchmarks/peers/images_with_pytorch.py has the same steps in PyTorch.
#include "program.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include <meshtf/kernel/convolution.hpp>
#include <meshtf/meshtf.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

using meshtf::extent;
using meshtf::stride, meshtf::window;

// ---- shapes ---------------------------------------------------------------------------------------------

#if MESHTF_HAS_ONEDNN_PRIMITIVES

using meshtf::kernel::convolution_way;

/// A square image, taps and a step; "SAME" ends.
struct shape {
  extent batch;
  extent size;
  extent in;
  extent out;
  extent taps   = 3;
  extent step   = 1;
  extent groups = 1;
  std::string name() const {
    auto const n = [](extent i) { return std::to_string(i); };
    return n(batch) + "x" + n(size) + "x" + n(size) + ", " + n(groups * in) + " to " + n(groups * out) +
           ", " + n(taps) + "x" + n(taps) + (step > 1 ? ", stride " + n(step) : "") +
           (groups > 1 ? ", " + n(groups) + " groups" : "");
  }
};

meshtf::convolution_steps steps_of(shape const& a) {
  meshtf::window_rule const rule{.step = a.step};
  extent const to     = rule.windows(a.size, a.taps);
  extent const before = rule.before(a.size, a.taps);
  extent const after  = std::max<extent>(0, (to - 1) * a.step + a.taps - before - a.size);
  meshtf::convolution_steps s{.dims = 2, .batch = a.batch, .groups = a.groups, .in = a.in, .out = a.out};
  s.from         = {1, a.size, a.size};
  s.to           = {1, to, to};
  s.taps         = {1, a.taps, a.taps};
  s.step         = {1, a.step, a.step};
  s.before       = {0, before, before};
  s.after        = {0, after, after};
  s.filter_out   = 1;
  s.filter_in    = a.out;
  s.filter_group = a.in * a.out;
  s.filter_tap   = {1, a.taps * a.groups * a.in * a.out, a.groups * a.in * a.out};
  s.x.iterations = s.x_allocated = a.batch * a.size * a.size * a.groups * a.in;
  s.z.iterations                 = a.batch * to * to * a.groups * a.out;
  return s;
}

/// Floats that begin at a line of the cache, as those of a machine do.
class array {
public:
  explicit array(std::size_t n) : all_(n + 16, 0.01F) {}
  float* data() {
    return all_.data() + (64 - reinterpret_cast<std::uintptr_t>(all_.data()) % 64) % 64 / sizeof(float);
  }

private:
  std::vector<float> all_;
};

/// The primitive, called directly: all three arrays are in the formats that it likes, or images with channels
/// last, and nothing is copied.
class primitive {
public:
  primitive(convolution_way way, meshtf::convolution_steps const& s, bool likes_images) {
    arrays_.reserve(3);
    dnnl_dims_t const x{s.batch, s.groups * s.in, s.from[1], s.from[2]};
    dnnl_dims_t const z{s.batch, s.groups * s.out, s.to[1], s.to[2]};
    dnnl_dims_t const grouped{s.groups, s.out, s.in, s.taps[1], s.taps[2]};
    dnnl_dims_t const plain{s.out, s.in, s.taps[1], s.taps[2]};
    dnnl_dims_t const step{s.step[1], s.step[2]};
    dnnl_dims_t const dilation{0, 0};
    dnnl_dims_t const before{s.before[1], s.before[2]};
    dnnl_dims_t const after{s.after[1], s.after[2]};
    auto const tag = likes_images ? dnnl_format_tag_any : dnnl_nhwc;
    dnnl_memory_desc_t in_x;
    dnnl_memory_desc_t in_z;
    dnnl_memory_desc_t in_filter;
    done(dnnl_memory_desc_init_by_tag(&in_x, 4, x, dnnl_f32, tag));
    done(dnnl_memory_desc_init_by_tag(&in_z, 4, z, dnnl_f32, tag));
    if (s.groups > 1)
      done(dnnl_memory_desc_init_by_tag(&in_filter, 5, grouped, dnnl_f32, dnnl_format_tag_any));
    else done(dnnl_memory_desc_init_by_tag(&in_filter, 4, plain, dnnl_f32, dnnl_format_tag_any));
    dnnl_convolution_desc_t about;
    done(dnnl_dilated_convolution_forward_desc_init(&about, dnnl_forward_training, dnnl_convolution_direct,
                                                    &in_x, &in_filter, nullptr, &in_z, step, dilation, before,
                                                    after));
    dnnl_primitive_desc_t hint = nullptr;
    dnnl_primitive_desc_t p    = nullptr;
    done(dnnl_primitive_desc_create(&hint, &about, nullptr, meshtf::kernel::onednn::engine(), nullptr));
    if (way == convolution_way::to_input)
      done(dnnl_dilated_convolution_backward_data_desc_init(
          &about, dnnl_convolution_direct, &in_x, &in_filter, &in_z, step, dilation, before, after));
    if (way == convolution_way::to_filter)
      done(dnnl_dilated_convolution_backward_weights_desc_init(
          &about, dnnl_convolution_direct, &in_x, &in_filter, nullptr, &in_z, step, dilation, before, after));
    done(dnnl_primitive_desc_create(&p, &about, nullptr, meshtf::kernel::onednn::engine(),
                                    way == convolution_way::forward ? nullptr : hint));
    done(dnnl_primitive_create(&made_, p));
    std::array<dnnl_query_t, 3> queries{dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    args_ = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    if (way == convolution_way::to_input)
      queries = {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md};
    if (way == convolution_way::to_input) args_ = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST};
    if (way == convolution_way::to_filter)
      queries = {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md};
    if (way == convolution_way::to_filter) args_ = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
    for (std::size_t i = 0; i < 3; ++i) {
      auto const* const md = dnnl_primitive_desc_query_md(p, queries[i], 0);
      arrays_.emplace_back(dnnl_memory_desc_get_size(md) / sizeof(float));
      done(dnnl_memory_create(&memory_[i], md, meshtf::kernel::onednn::engine(), arrays_[i].data()));
    }
    char const* name = nullptr;
    dnnl_primitive_desc_query(p, dnnl_query_impl_info_str, 0, &name);
    name_ = name;
    dnnl_primitive_desc_destroy(hint);
    dnnl_primitive_desc_destroy(p);
  }
  primitive(primitive const&)      = delete;
  void operator=(primitive const&) = delete;
  ~primitive() {
    for (auto m : memory_) dnnl_memory_destroy(m);
    dnnl_primitive_destroy(made_);
  }
  void operator()() const {
    std::array<dnnl_exec_arg_t, 3> const all{
        {{args_[0], memory_[0]}, {args_[1], memory_[1]}, {args_[2], memory_[2]}}};
    done(dnnl_primitive_execute(made_, meshtf::kernel::onednn::stream(), 3, all.data()));
    done(dnnl_stream_wait(meshtf::kernel::onednn::stream()));
  }
  std::string const& name() const { return name_; }

private:
  static void done(dnnl_status_t status) { meshtf::kernel::onednn::expect_done(status, "a convolution"); }

  dnnl_primitive_t made_ = nullptr;
  std::array<dnnl_memory_t, 3> memory_{};
  std::vector<array> arrays_;
  std::array<int, 3> args_{};
  std::string name_;
};

void measure_shapes(bench::report& report, bench::options const& options) {
  for (shape const& a :
       {shape{8, 56, 64, 64}, shape{8, 56, 64, 64, 1}, shape{8, 28, 128, 128}, shape{8, 14, 256, 256},
        shape{8, 7, 512, 512}, shape{8, 56, 64, 128, 3, 2}, shape{8, 224, 3, 64, 7, 2}, shape{128, 28, 1, 16},
        shape{128, 14, 16, 32}, shape{8, 56, 1, 1, 3, 1, 64}, shape{8, 28, 16, 16, 3, 1, 8}}) {
    auto const s = steps_of(a);
    for (auto way : {convolution_way::forward, convolution_way::to_input, convolution_way::to_filter}) {
      char const* const gradient = way == convolution_way::to_input ? ": to the input" : ": to the filter";
      std::string const what     = a.name() + (way == convolution_way::forward ? ": forward" : gradient);
      if (!options.wants(what)) continue;
      auto const of = [](extent n) { return array{static_cast<std::size_t>(n)}; };
      auto x        = of(s.x.iterations);
      auto f        = of(s.filter_elements());
      auto z        = of(s.z.iterations);
      auto scratch  = of(s.scratch(way == convolution_way::to_filter));
      primitive const likes{way, s, true};
      primitive const last{way, s, false};
      std::vector<bench::variant> const variants{
          {"meshtf", [&] { meshtf::kernel::convolve(way, s, x.data(), f.data(), z.data(), scratch.data()); },
           false},
          {"by products of windows",
           [&] {
             meshtf::kernel::convolves_by_library() = false;
             meshtf::kernel::convolve(way, s, x.data(), f.data(), z.data(), scratch.data());
             meshtf::kernel::convolves_by_library() = true;
           },
           false},
          {"oneDNN, channels last: " + last.name(), [&] { last(); }, true},
          {"oneDNN, formats that it likes: " + likes.name(), [&] { likes(); }, true}};
      report.add(what, bench::interleave(MPI_COMM_WORLD, variants, options.rounds, 1));
    }
  }
}

#endif

// ---- networks -------------------------------------------------------------------------------------------

// clang-format off
struct few      : meshtf::dim<8> {};
struct images   : meshtf::dim<128> {};
struct side     : meshtf::dim<56> {};     struct across       : meshtf::dim<56> {};
struct channels : meshtf::dim<64> {};     struct made         : meshtf::dim<64> {};
struct height   : meshtf::dim<28> {};     struct width        : meshtf::dim<28> {};
struct half     : meshtf::dim<14> {};     struct half_width   : meshtf::dim<14> {};
struct quarter  : meshtf::dim<7> {};      struct quarter_width : meshtf::dim<7> {};
struct tap      : meshtf::dim<3> {};      struct tap_across   : meshtf::dim<3> {};
struct one      : meshtf::dim<1> {};
struct two      : meshtf::dim<2> {};      struct two_across   : meshtf::dim<2> {};
struct maps     : meshtf::dim<16> {};
struct features : meshtf::dim<32> {};
struct hidden   : meshtf::dim<128> {};
struct classes  : meshtf::dim<10> {};
// clang-format on

struct alone : meshtf::layout<meshtf::mesh<>> {};
struct by_batch : meshtf::layout<with_meshtf::line, meshtf::split<few, with_meshtf::all>,
                                 meshtf::split<images, with_meshtf::all>> {};

/// The basic block of ResNet-18 (He et al., 2015), forward and back.
template<meshtf::Layout L>
struct residual_block {
  template<class In, class Out, class Activation>
  using part = meshtf::nn::conv_block<float, L, In, Out, meshtf::nn::batch_norm<float, L, Out>, Activation,
                                      window<side, tap>, window<across, tap_across>>;

  part<channels, made, meshtf::nn::rectified> first;
  part<made, channels, meshtf::nn::not_activated> second;
  meshtf::parameter<float, L, few, side, across, channels> x;

  constexpr explicit residual_block(meshtf::machine<L>& m)
      : first{m, meshtf::he_normal{1}}, second{m, meshtf::he_normal{2}}, x{m, meshtf::normal{3}} {}
  constexpr auto parameters() { return meshtf::parameters(first, second, x); }
  constexpr auto step() {
    auto const y    = second(first(x));
    auto const loss = mean(relu(y + x));
    backward(loss);
    zero_gradients(parameters());
    return loss;
  }
};

/// The net of examples/images with Adam.
template<meshtf::Layout L>
struct image_net {
  meshtf::nn::conv<float, L, one, maps, window<height, tap>, window<width, tap_across>> first;
  meshtf::nn::conv<float, L, maps, features, window<half, tap>, window<half_width, tap_across>> second;
  meshtf::nn::linear<float, L, meshtf::shape<quarter, quarter_width, features>, hidden> third;
  meshtf::nn::linear<float, L, hidden, classes> last;
  meshtf::tensor<float, L, images, height, width, one> x;
  meshtf::tensor<int, L, images> labels;
  meshtf::adam opt{1e-3};

  constexpr explicit image_net(meshtf::machine<L>& m)
      : first{m, meshtf::he_normal{1}},
        second{m, meshtf::he_normal{2}},
        third{m, meshtf::he_normal{3}},
        last{m, meshtf::he_normal{4}},
        x{m},
        labels{m} {
    x = meshtf::random_normal<float, L, images, height, width, one>(m, {.seed = 5});
  }
  constexpr auto parameters() { return meshtf::parameters(first, second, third, last); }
  constexpr auto step() {
    auto const edges = relu(first(x));
    auto const small =
        max_pool<window<height, two, half, stride<2>>, window<width, two_across, half_width, stride<2>>>(
            edges);
    auto const parts = relu(second(small));
    auto const seen  = max_pool<window<half, two, quarter, stride<2>>,
                                window<half_width, two_across, quarter_width, stride<2>>>(parts);
    auto const loss  = mean(softmax_cross_entropy<classes>(last(relu(third(seen))), labels));
    backward(loss);
    opt.step(parameters());
    return loss;
  }
};

template<meshtf::Layout L>
void measure_networks(bench::report& report, bench::options const& options, std::string const& where) {
  meshtf::process_mesh<typename L::mesh_type> m{MPI_COMM_WORLD};
  auto const measure = [&](auto& program, std::string const& what) {
    if (!options.wants(what)) return;
    for (int i = 0; i < 3; ++i) program.step();
    std::vector<bench::variant> const variants{{"meshtf", [&] { program.step(); }, true}};
    report.add(what + where, bench::interleave(MPI_COMM_WORLD, variants, options.rounds, 1));
  };
  residual_block<L> block{m};
  measure(block, "ResNet-18 block at 56x56x64, 8 images, forward and back");
  image_net<L> net{m};
  measure(net, "training step of examples/images, 128 images");
}

void run(bench::options const& options) {
  bench::report report{MPI_COMM_WORLD};
  int processes = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes == 1) {
#if MESHTF_HAS_ONEDNN_PRIMITIVES
    measure_shapes(report, options);
#endif
    measure_networks<alone>(report, options, ", 1 process");
  } else {
    measure_networks<by_batch>(report, options, ", 2 processes");
  }
  report.write(options.json);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, [&] {
    bench::settle();
    run(bench::read(argc, argv));
  });
}
