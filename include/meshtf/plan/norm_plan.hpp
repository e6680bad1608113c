// What a normalisation along a dimension will do, decided before it runs.
#pragma once

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// A scale or bias of a normalisation has the normalised dimension and no other, that of a batch norm the
/// channels: its shape is `Expected`, not `Given`.
template<class Expected, class Given>
struct scale_has_other_dims {};

/// A tensor that is added before a normalisation has the dimensions of the other in the same order: its shape
/// is `Expected`, not `Given`.
template<class Expected, class Given>
struct addend_has_other_dims {};

/// Rows along a dimension. If `centred`, they are first centred about their mean (layer norm), otherwise only
/// scaled (RMS norm).
struct norm_steps {
  line_steps lines{};
  bool centred = true;

  constexpr extent rows() const { return lines.rows(); }
  constexpr extent block_rows() const { return lines.outer * lines.inner; }
  constexpr extent elements() const { return rows() * lines.along; }
  /// Numbers that processes with parts of the same rows exchange: for each row the sum and the sum of
  /// squares, or only the latter.
  constexpr extent numbers() const { return (centred ? 2 : 1) * rows(); }
};

/// The arrays that a normalisation reads and writes. `mean` is used only if rows are centred, `added` and
/// `sum` only if a tensor is added first. If elements are narrow, what belongs to a whole row or column is in
/// the type that is computed with.
template<class T>
struct norm_arrays {
  T const* x               = nullptr;
  T const* added           = nullptr;
  T* sum                   = nullptr;  // x + added, which is normalised
  computed<T> const* scale = nullptr;
  computed<T> const* bias  = nullptr;
  computed<T>* mean        = nullptr;
  computed<T>* rstd        = nullptr;  // 1 / standard deviation, of each row
  T* z                     = nullptr;
};

/// Which gradients of a normalisation are wanted. `adds`: the gradient of x is added to another.
struct norm_wishes {
  bool x     = false;
  bool scale = false;
  bool bias  = false;
  bool adds  = false;
};

template<class T>
struct norm_gradient_arrays {
  T const* x               = nullptr;
  computed<T> const* mean  = nullptr;
  computed<T> const* rstd  = nullptr;
  computed<T> const* scale = nullptr;
  T const* dz              = nullptr;
  T const* before          = nullptr;  // added to dx, and may be dx
  T* dx                    = nullptr;
  computed<T>* dscale      = nullptr;
  computed<T>* dbias       = nullptr;
};

// Arithmetic steps, counted the same in the compiler and in a process.
constexpr extent moments_flops(norm_steps const& s, bool adds) {
  return s.elements() * ((s.centred ? 5 : 2) + (adds ? 1 : 0));
}
constexpr extent normalising_flops(norm_steps const& s) { return s.elements() * (s.centred ? 4 : 2); }
constexpr extent norm_sums_flops(norm_steps const& s, norm_wishes const& wants) {
  extent an_element = 0;
  if (wants.x) an_element += s.centred ? 4 : 3;
  if (wants.x || wants.scale) an_element += s.centred ? 2 : 1;
  if (wants.scale) an_element += 2;
  if (wants.bias) an_element += 1;
  return s.elements() * an_element;
}
constexpr extent norm_gradient_flops(norm_steps const& s, norm_wishes const& wants) {
  if (!wants.x) return 0;
  return s.elements() * ((s.centred ? 7 : 5) + (wants.adds ? 1 : 0));
}

namespace task {

/// The common part of the normalisations: whether rows are centred, and whether a tensor is added to x first.
template<template<class> class Self, class T>
struct of_norm_rows {
  using steps_type = line_steps;
  bool centred     = true;
  bool adds        = false;

  constexpr unsigned options() const { return detail::to_bits(centred, adds); }
  static constexpr Self<T> from_bits(unsigned w) { return {{detail::has_bit(w, 0), detail::has_bit(w, 1)}}; }
};

/// Normalises whole rows. Arrays: `norm_arrays<T>`.
template<class T>
struct normalise : of_norm_rows<normalise, T> {
  double epsilon = 0;

  constexpr meshtf::work work(line_steps const& lines) const {
    norm_steps const s{lines, this->centred};
    return {.kind        = "norm",
            .elementwise = moments_flops(s, this->adds) + normalising_flops(s),
            .bytes       = s.elements() * (this->adds ? 4 : 2) * extent{sizeof(T)} +
                     s.numbers() * extent{sizeof(computed<T>)}};
  }
  void compute(line_steps const&, place_in_mesh const&, norm_arrays<T> const& arrays) const;
};

/// Computes, of parts of rows, the sums to be added over processes. Arrays: `norm_arrays<T>`, the sums.
template<class T>
struct row_moments : of_norm_rows<row_moments, T> {
  constexpr meshtf::work work(line_steps const& lines) const {
    norm_steps const s{lines, this->centred};
    return {.kind        = "norm",
            .elementwise = moments_flops(s, this->adds),
            .bytes       = s.elements() * (this->adds ? 3 : 1) * extent{sizeof(T)} +
                     s.numbers() * extent{sizeof(double)}};
  }
  void compute(line_steps const&, place_in_mesh const&, norm_arrays<T> const& arrays, double* moments) const;
};

/// Normalises parts of rows by the sums of all processes. Arrays: `norm_arrays<T>`, the sums.
template<class T>
struct normalise_by : of_norm_rows<normalise_by, T> {
  double epsilon = 0;

  constexpr meshtf::work work(line_steps const& lines) const {
    norm_steps const s{lines, this->centred};
    return {.kind        = "norm",
            .elementwise = normalising_flops(s),
            .bytes       = 2 * s.elements() * extent{sizeof(T)} + s.numbers() * extent{sizeof(computed<T>)}};
  }
  void compute(line_steps const&, place_in_mesh const&, norm_arrays<T> const& arrays,
               double const* moments) const;
};

/// The common part of the gradients: whether rows are centred, and which gradients are wanted.
template<template<class> class Self, class T>
struct of_norm_gradients {
  using steps_type = line_steps;
  bool centred     = true;
  norm_wishes wants{};

  constexpr unsigned options() const {
    return detail::to_bits(centred, wants.x, wants.scale, wants.bias, wants.adds);
  }
  static constexpr Self<T> from_bits(unsigned w) {
    return {{detail::has_bit(w, 0),
             {detail::has_bit(w, 1), detail::has_bit(w, 2), detail::has_bit(w, 3), detail::has_bit(w, 4)}}};
  }
};

/// The gradients of whole rows. Arrays: `norm_gradient_arrays<T>`.
template<class T>
struct norm_gradient : of_norm_gradients<norm_gradient, T> {
  constexpr meshtf::work work(line_steps const& lines) const {
    norm_steps const s{lines, this->centred};
    extent const passes = 2 + int{this->wants.x} + int{this->wants.x && this->wants.adds};
    return {.kind        = "norm",
            .elementwise = norm_sums_flops(s, this->wants) + norm_gradient_flops(s, this->wants),
            .bytes = passes * s.elements() * extent{sizeof(T)} + s.numbers() * extent{sizeof(computed<T>)}};
  }
  void compute(line_steps const&, place_in_mesh const&, norm_gradient_arrays<T> const& arrays) const;
};

/// Computes, of parts of rows, the sums to be added over processes. Arrays: `norm_gradient_arrays<T>`, the
/// sums.
template<class T>
struct norm_gradient_sums : of_norm_gradients<norm_gradient_sums, T> {
  constexpr meshtf::work work(line_steps const& lines) const {
    norm_steps const s{lines, this->centred};
    return {.kind        = "norm",
            .elementwise = norm_sums_flops(s, this->wants),
            .bytes       = 2 * s.elements() * extent{sizeof(T)} + s.numbers() * extent{sizeof(computed<T>)}};
  }
  void compute(line_steps const&, place_in_mesh const&, norm_gradient_arrays<T> const& arrays,
               computed<T>* sums) const;
};

/// The gradients of parts of rows by the sums of all processes. Arrays: `norm_gradient_arrays<T>`, the sums.
template<class T>
struct norm_gradient_by : of_norm_gradients<norm_gradient_by, T> {
  constexpr meshtf::work work(line_steps const& lines) const {
    norm_steps const s{lines, this->centred};
    extent const arrays = this->wants.adds ? 4 : 3;
    return {.kind        = "norm",
            .elementwise = norm_gradient_flops(s, this->wants),
            .bytes       = this->wants.x ? arrays * s.elements() * extent{sizeof(T)} +
                                         s.numbers() * extent{sizeof(computed<T>)}
                                         : 0};
  }
  void compute(line_steps const&, place_in_mesh const&, norm_gradient_arrays<T> const& arrays,
               computed<T> const* sums) const;
};

}  // namespace task

/// A normalisation of a tensor of shape `X` along `Along`.
template<Layout L, class X, class Along>
struct norm_plan {
  using row     = without<X, shape<Along>>;
  using verdict = first_objection<detail::dims_are_in<X, Along>, placement_verdict_of<L, X>>;

  static constexpr steps_under<L, line_steps, X> lines = plan_steps<L, line_steps, X, Along>(arrays_of<X>{});
  static constexpr axis_set finished_over              = split_over<L, X> & ~split_over<L, row>;

  /// Numbers that processes with parts of the same rows exchange, for all rows: see `norm_steps`.
  template<bool Centred>
  static constexpr auto numbers = shard_size<L, row> * (Centred ? 2 : 1);

  /// The axes over which the gradients of scale and bias are still sums: each process has summed its own
  /// rows.
  static constexpr axis_set scale_unreduced = split_over<L, X> & ~split_over<L, shape<Along>>;
};

/// `legal`, or the objection to a normalisation along `Along` of a tensor of shape `X`, with a scale and
/// biases of the shapes `Scale...`.
template<Layout L, class X, class Along, class... Scale>
using norm_verdict = first_objection<typename norm_plan<L, X, Along>::verdict,
                                     std::conditional_t<std::same_as<Scale, shape<Along>>, legal,
                                                        scale_has_other_dims<shape<Along>, Scale>>...>;

namespace detail {

template<class L, class X, class Channels, class... Vector>
struct batch_norm_objection;
template<class L, class X, class... C, class... Vector>
struct batch_norm_objection<L, X, shape<C...>, Vector...>
    : std::type_identity<first_objection<detail::dims_are_in<X, C...>, detail::named_once<C, C...>...,
                                         std::conditional_t<std::same_as<Vector, shape<C...>>, legal,
                                                            scale_has_other_dims<shape<C...>, Vector>>...,
                                         placement_verdict_of<L, X>>> {};
template<class X, class S>
struct all_dims_are_in;
template<class X, class... D>
struct all_dims_are_in<X, shape<D...>> : std::type_identity<dims_are_in<X, D...>> {};

}  // namespace detail

/// `legal`, or the objection to a batch norm of a tensor of shape `X` with the channels `Channels` and
/// vectors of the shapes `Vector...`.
template<Layout L, class X, class Channels, class... Vector>
using batch_norm_verdict = typename detail::batch_norm_objection<L, X, Channels, Vector...>::type;

/// `legal`, or the objection to a group norm along `Along...` of a tensor of shape `X`, with a scale and a
/// bias of the shapes `Scale` and `Bias`.
template<Layout L, class X, class Scale, class Bias, class... Along>
using group_norm_verdict =
    first_objection<detail::dims_are_in<X, Along...>, detail::named_once<Along, Along...>...,
                    typename detail::all_dims_are_in<X, Scale>::type,
                    std::conditional_t<std::same_as<Scale, Bias>, legal, scale_has_other_dims<Scale, Bias>>,
                    placement_verdict_of<L, X>>;

}  // namespace v0
}  // namespace meshtf
