// What machines ask of kernels besides tasks: passes over whole arrays, and the copies around messages.
#pragma once

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/core/function.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Calls f(a, b, ...) with references to the i-th elements of `p...`, for i < n, as `transform` does.
template<class F, class... P>
void update(extent n, F const& f, P*... p);

/// z = x + y; z may be one of them.
template<Element T>
void add(extent n, T const* x, T const* y, T* z);

template<Element T>
void fill(extent n, T value, T* z);

/// z = x, which does not overlap it.
template<Element T>
void copy(extent n, T const* x, T* z);

/// Copies x to z over a nest of two operands.
template<Element T>
void copy_nest(nest_steps const& steps, T* z, T const* x);

/// Views of elements as xtensor's arrays: xtensor_view.hpp defines it, and reading that takes as long as
/// reading all of meshtf's own headers.
template<class T>
struct viewer;

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
