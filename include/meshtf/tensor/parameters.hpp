// Lists of parameters, for optimizers and whatever else walks a model.
#pragma once

#include <ranges>

#include <boost/hana/basic_tuple.hpp>
#include <boost/hana/for_each.hpp>

#include <meshtf/tensor/parameter.hpp>

namespace meshtf::inline v0 {

namespace detail {

template<class P>
concept Parameter = requires(P& p) { []<class T, class L, class... D>(parameter<T, L, D...>&) {}(p); };

/// A model names its parameters in a member: `constexpr auto parameters() { return meshtf::parameters(w1, w2); }`.
template<class M>
concept HasParameters = requires(M& m) { m.parameters(); };

/// Calls `f` with each parameter in `part`: a parameter, a model, or a range of models.
template<class Part, class F>
constexpr void visit_parameters(Part& part, F const& f) {
  if constexpr (Parameter<Part>) {
    f(part);
  } else if constexpr (HasParameters<Part>) {
    part.parameters().for_each(f);
  } else {
    static_assert(std::ranges::range<Part>, "meshtf: parameters(...) takes parameters, models with a member parameters(), and ranges of these");
    for (auto& element : part) visit_parameters(element, f);
  }
}

}  // namespace detail

/// The parameters of a program, in the order in which they were named. It refers to them, so it must not outlive them.
template<class... Part>
class parameter_list {
public:
  constexpr explicit parameter_list(Part&... part) : parts_{&part...} {}

  /// Calls `f` with each parameter, in order: a layer that a model has twelve times is compiled once.
  template<class F>
  constexpr void for_each(F const& f) const {
    hana::for_each(parts_, [&f](auto* part) { detail::visit_parameters(*part, f); });
  }

private:
  hana::basic_tuple<Part*...> parts_;
};

/// Parameters, models (which have a member `parameters()`) and ranges of these, as one list.
template<class... Part>
constexpr parameter_list<Part...> parameters(Part&... part) {
  return parameter_list<Part...>{part...};
}

/// Forgets all gradients; optimizers do so at the end of `step`.
template<class... Part>
constexpr void zero_gradients(parameter_list<Part...> const& list) {
  list.for_each([](auto& w) { w.zero_gradient(); });
}

}  // namespace meshtf::inline v0
