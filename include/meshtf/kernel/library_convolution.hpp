// Convolutions in single precision by oneDNN, which keeps the filter in a format of its own while it
// convolves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include <meshtf/kernel/onednn.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/transposed.hpp>
#include <meshtf/plan/convolution_steps.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

enum class convolution_way : unsigned char { forward, to_input, to_filter };

/// Whether convolutions in single precision are left to oneDNN. Tests change it.
inline bool& convolves_by_library() {
  static bool yes = MESHTF_HAS_ONEDNN_PRIMITIVES != 0;
  return yes;
}

#if MESHTF_HAS_ONEDNN_PRIMITIVES

namespace detail {

/// What oneDNN has prepared for convolutions of one shape: preparing takes longer than a small convolution.
/// The images are as they are in memory, and the filter is copied to the format that the primitive likes.
class prepared_convolution {
public:
  prepared_convolution(convolution_way way, convolution_steps const& s, extent batch) {
    // a line is an image of one row: of lines whose channels stay apart oneDNN has only its reference
    int const dims   = std::max(s.dims, 2);
    auto const n     = static_cast<std::size_t>(dims);
    auto const first = std::size_t{3} - n;
    dnnl_dims_t x{batch, s.groups * s.in};
    dnnl_dims_t z{batch, s.groups * s.out};
    dnnl_dims_t filter{s.groups, s.out, s.in};
    dnnl_dims_t filter_strides{s.filter_group, s.filter_out, s.filter_in};
    dnnl_dims_t step{};
    dnnl_dims_t dilation{};
    dnnl_dims_t before{};
    dnnl_dims_t after{};
    for (std::size_t i = 0; i < n; ++i) {
      x[2 + i]              = s.from[first + i];
      z[2 + i]              = s.to[first + i];
      filter[3 + i]         = s.taps[first + i];
      filter_strides[3 + i] = s.filter_tap[first + i];
      step[i]               = s.step[first + i];
      dilation[i]           = s.dilation[first + i] - 1;
      before[i]             = s.before[first + i];
      after[i]              = s.after[first + i];
    }
    // of what there is once
    for (std::size_t i = 0; i < 3 + n; ++i) filter_strides[i] = std::max<extent>(filter_strides[i], 1);
    // Images of one channel, or of one block of 16, are in memory as they are in oneDNN's own format, for
    // which its code is faster.
    auto const in_block = [&](extent channels) {
      return s.groups == 1 && n == 2 && (channels == 1 || channels == 16);
    };
    bool const blocks_only = way == convolution_way::forward && in_block(s.in) && in_block(s.out);
    auto const tag         = [&](extent channels) {
      if (n == 3) return dnnl_ndhwc;
      if (!blocks_only) return dnnl_nhwc;
      return channels == 1 ? dnnl_nchw : dnnl_nChw16c;
    };
    int const left_out = s.groups > 1 ? 0 : 1;  // dimensions of the filter: that of groups
    dnnl_memory_desc_t in_x{};
    dnnl_memory_desc_t in_z{};
    dnnl_memory_desc_t in_filter{};
    dnnl_memory_desc_t liked{};
    if (dnnl_memory_desc_init_by_tag(&in_x, dims + 2, x, dnnl_f32, tag(s.in)) != dnnl_success) return;
    if (dnnl_memory_desc_init_by_tag(&in_z, dims + 2, z, dnnl_f32, tag(s.out)) != dnnl_success) return;
    if (dnnl_memory_desc_init_by_tag(&liked, dims + 3 - left_out, filter + left_out, dnnl_f32,
                                     dnnl_format_tag_any) != dnnl_success)
      return;
    if (dnnl_memory_desc_init_by_strides(&in_filter, dims + 3 - left_out, filter + left_out, dnnl_f32,
                                         filter_strides + left_out) != dnnl_success)
      return;

    dnnl_convolution_desc_t about{};
    plan hint;
    plan p;
    if (dnnl_dilated_convolution_forward_desc_init(&about, dnnl_forward_training, dnnl_convolution_direct,
                                                   &in_x, &liked, nullptr, &in_z, step, dilation, before,
                                                   after) != dnnl_success)
      return;
    if (!hint.make(about, nullptr, s.in == 16 && s.all_taps() > 1)) return;
    if (way == convolution_way::to_input && dnnl_dilated_convolution_backward_data_desc_init(
                                                &about, dnnl_convolution_direct, &in_x, &liked, &in_z, step,
                                                dilation, before, after) != dnnl_success)
      return;
    if (way == convolution_way::to_filter && dnnl_dilated_convolution_backward_weights_desc_init(
                                                 &about, dnnl_convolution_direct, &in_x, &liked, nullptr,
                                                 &in_z, step, dilation, before, after) != dnnl_success)
      return;
    if (way == convolution_way::forward) std::swap(p.made, hint.made);
    else if (!p.make(about, hint.made, false)) return;
    if (p.name().starts_with("ref")) return;  // its reference, element by element
    auto const* const chosen = dnnl_primitive_desc_query_md(
        p.made, way == convolution_way::to_filter ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    if (chosen == nullptr) return;
    auto const bytes = dnnl_memory_desc_get_size(chosen);
    if (bytes > static_cast<std::size_t>(s.filter_scratch()) * sizeof(float)) return;
    filter_elements_ = static_cast<extent>(bytes / sizeof(float));

    auto const make = [](dnnl_memory_t& m, dnnl_memory_desc_t const* d) {
      onednn::expect_done(dnnl_memory_create(&m, d, onednn::engine(), DNNL_MEMORY_NONE), convolution);
    };
    make(x_, &in_x);
    make(z_, &in_z);
    make(filter_, chosen);
    make(stored_, &in_filter);
    dnnl_memory_desc_t blocks{};
    if (way == convolution_way::to_input && n == 2 && left_out == 1 && s.filter_out == 1 && s.in % 16 == 0 &&
        s.out % 16 == 0 &&
        dnnl_memory_desc_init_by_tag(&blocks, 4, filter + 1, dnnl_f32, dnnl_ABcd16a16b) == dnnl_success &&
        dnnl_memory_desc_equal(&blocks, chosen) != 0)
      squared_ = s;
    dnnl_memory_desc_t const likes = *chosen;
    bool const back                = way == convolution_way::to_filter;
    plan copy;
    if (dnnl_reorder_primitive_desc_create(&copy.made, back ? &likes : &in_filter, onednn::engine(),
                                           back ? &in_filter : &likes, onednn::engine(),
                                           nullptr) != dnnl_success)
      return;
    onednn::expect_done(dnnl_primitive_create(&copy_, copy.made), convolution);
    onednn::expect_done(dnnl_primitive_create(&primitive_, p.made), convolution);
    switch (way) {
      case convolution_way::forward: arguments_ = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}; break;
      case convolution_way::to_input:
        arguments_ = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST};
        break;
      case convolution_way::to_filter:
        arguments_ = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
        break;
    }
  }
  prepared_convolution(prepared_convolution const&) = delete;
  void operator=(prepared_convolution const&)       = delete;
  ~prepared_convolution() {
    for (dnnl_memory_t m : {x_, z_, filter_, stored_})
      if (m != nullptr) dnnl_memory_destroy(m);
    for (dnnl_primitive_t p : {copy_, primitive_})
      if (p != nullptr) dnnl_primitive_destroy(p);
  }

  /// Whether oneDNN has a fast way.
  bool is_there() const { return primitive_ != nullptr; }
  extent filter_elements() const { return filter_elements_; }

  /// Copies the filter from its array to the format of the primitive, or back, as the way of the convolution
  /// needs it.
  void copy_filter(float const* from, float* to) const {
    if (squared_.in > 0) return copy_to_squares(squared_, from, to);
    bool const back = arguments_[1] == DNNL_ARG_DIFF_WEIGHTS;
    point(back ? filter_ : stored_, from);
    point(back ? stored_ : filter_, to);
    std::array<dnnl_exec_arg_t, 2> const arrays{
        {{DNNL_ARG_FROM, back ? filter_ : stored_}, {DNNL_ARG_TO, back ? stored_ : filter_}}};
    execute(copy_, 2, arrays.data());
  }
  void convolve(float const* x, float const* filter, float const* z) const {
    point(x_, x);
    point(filter_, filter);
    point(z_, z);
    std::array<dnnl_exec_arg_t, 3> const arrays{
        {{arguments_[0], x_}, {arguments_[1], filter_}, {arguments_[2], z_}}};
    execute(primitive_, 3, arrays.data());
  }

private:
  static constexpr char const* convolution = "a convolution (dnnl_convolution)";

  struct plan {
    dnnl_primitive_desc_t made  = nullptr;
    plan()                      = default;
    plan(plan const&)           = delete;
    void operator=(plan const&) = delete;
    ~plan() {
      if (made != nullptr) dnnl_primitive_desc_destroy(made);
    }

    std::string_view name() const {
      char const* known = nullptr;
      dnnl_primitive_desc_query(made, dnnl_query_impl_info_str, 0, &known);
      return known == nullptr ? "ref" : known;
    }
    /// The first of oneDNN's ways; if there are `few_channels`, the first that does not multiply the channels
    /// of some pixels as a small matrix, which is slower then ("brgconv").
    bool make(dnnl_convolution_desc_t const& about, const_dnnl_primitive_desc_t forward, bool few_channels) {
      dnnl_primitive_desc_iterator_t ways = nullptr;
      if (dnnl_primitive_desc_iterator_create(&ways, &about, nullptr, onednn::engine(), forward) !=
          dnnl_success)
        return false;
      made = dnnl_primitive_desc_iterator_fetch(ways);
      while (few_channels && name().starts_with("brg") &&
             dnnl_primitive_desc_iterator_next(ways) == dnnl_success) {
        dnnl_primitive_desc_destroy(made);
        made = dnnl_primitive_desc_iterator_fetch(ways);
      }
      dnnl_primitive_desc_iterator_destroy(ways);
      return made != nullptr;
    }
  };
  /// Copies a filter to squares of 16 channels that come out by 16 that come in, where those of all taps lie
  /// together. OneDNN's own copy takes three times as long, a quarter of a convolution of few pixels.
  static void copy_to_squares(convolution_steps const& s, float const* from, float* to) {
    extent const across = s.in / 16;
    extent const high   = s.out / 16;
    extent const taps   = s.taps[1] * s.taps[2];
    // squares that lie next to each other in the filter: more of them write to too many places
    constexpr extent adjacent = 4;
    parallel_for((high + adjacent - 1) / adjacent, 1, s.filter_elements(), [&](extent begin, extent end) {
      for (extent first = begin * adjacent; first < std::min(end * adjacent, high); first += adjacent)
        for (extent i = 0; i < across; ++i)
          for (extent tap = 0; tap < taps; ++tap) {
            float const* const rows = from + tap / s.taps[2] * s.filter_tap[1] +
                                      tap % s.taps[2] * s.filter_tap[2] + 16 * i * s.filter_in;
            for (extent o = first; o < std::min(first + adjacent, high); ++o)
              copy_transposed<lanes<float, default_arch>>(16, 16, rows + 16 * o, s.filter_in,
                                                          to + ((o * across + i) * taps + tap) * 256, 16);
          }
    });
  }
  static void point(dnnl_memory_t m, float const* at) {
    onednn::expect_done(dnnl_memory_set_data_handle(m, const_cast<float*>(at)), convolution);
  }
  static void execute(dnnl_primitive_t p, int n, dnnl_exec_arg_t const* arrays) {
    onednn::expect_done(dnnl_primitive_execute(p, onednn::stream(), n, arrays), convolution);
    onednn::expect_done(dnnl_stream_wait(onednn::stream()), convolution);
  }

  dnnl_memory_t x_            = nullptr;
  dnnl_memory_t z_            = nullptr;
  dnnl_memory_t filter_       = nullptr;
  dnnl_memory_t stored_       = nullptr;
  dnnl_primitive_t copy_      = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  std::array<int, 3> arguments_{};
  extent filter_elements_ = 0;
  convolution_steps squared_{.in = 0};  // if there are channels: those of a filter that is copied to squares
};

inline prepared_convolution const& prepared(convolution_way way, convolution_steps const& s, extent batch) {
  constexpr std::size_t max_shapes = 4096;  // shapes that a program may have at once
  using shape                      = std::array<extent, 33>;
  static thread_local std::map<shape, prepared_convolution> all;
  shape key{static_cast<extent>(way), s.dims,      batch,       s.groups, s.in, s.out,
            s.filter_group,           s.filter_in, s.filter_out};
  std::size_t at = 9;
  for (auto const* numbers :
       {&s.from, &s.to, &s.taps, &s.step, &s.dilation, &s.before, &s.after, &s.filter_tap})
    for (extent n : *numbers) key[at++] = n;
  auto found = all.find(key);
  if (found == all.end()) {
    if (all.size() == max_shapes) all.clear();
    found = all.try_emplace(key, way, s, batch).first;
  }
  return found->second;
}

/// Returns false, and does nothing, if oneDNN has no fast way. `filters` has space for the filter in the
/// primitive's format, for its gradient once for each part.
inline bool convolve_by_library(convolution_way way, convolution_steps const& s, float const* x,
                                float const* filter, float const* z, float* filters) {
  extent const parts    = s.parts();
  extent const batch    = s.batch / parts;
  extent const elements = s.filter_scratch();
  auto const& here      = prepared(way, s, batch);
  if (!here.is_there()) return false;
  extent const in_x = s.x.iterations / parts;
  extent const in_z = s.z.iterations / parts;
  if (way != convolution_way::to_filter) here.copy_filter(filter, filters);
  parallel_parts(parts, [&](extent part, int) {
    float* const own = way == convolution_way::to_filter ? filters + part * elements : filters;
    prepared(way, s, batch).convolve(x + part * in_x, own, z + part * in_z);
  });
  if (way != convolution_way::to_filter) return true;
  for (extent part = 1; part < parts; ++part) {
    float const* const more = filters + part * elements;
    for (extent i = 0; i < here.filter_elements(); ++i) filters[i] += more[i];
  }
  here.copy_filter(filters, const_cast<float*>(filter));
  return true;
}

}  // namespace detail

#endif

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
