// Lists of parameters, for optimizers and everything else that walks a model.
#pragma once

#include <cstddef>
#include <string>  // also for std::begin: <iterator> would bring the streams
#include <type_traits>
#include <utility>

#include <boost/hana/basic_tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <meshtf/core/error.hpp>
#include <meshtf/core/verdict.hpp>
#include <meshtf/tensor/parameter.hpp>

namespace meshtf {
inline namespace v0 {

template<class... Part>
class parameter_list;

/// `Part` is neither a parameter nor a model (or a range of models) with a member that names its parameters:
/// `constexpr auto parameters() { return meshtf::parameters(w1, w2); }`. A constant model has no parameters
/// that could be updated.
template<class Part>
struct has_no_parameters {};

/// A parameter, a model or a range of models, under a name; `named` makes it.
template<class Part>
struct named_part {
  char const* name;
  Part* part;
};

/// `part` under a name, which is a literal: `parameters(named("scale", scale), named("bias", bias))`.
template<class Part>
[[gnu::always_inline]] constexpr named_part<Part> named(char const* name, Part& part) {
  return {name, &part};
}

namespace detail {

template<class T, class L, class... D>
void take_parameter(parameter<T, L, D...>&);
// not a lambda: clang 16 would take everything for a parameter
template<class P>
concept Parameter = requires(P& p) { detail::take_parameter(p); };

/// A tensor that is not trained. It is kept in files with the parameters, under its name; optimizers pass it
/// over.
template<class X>
concept Kept = !Parameter<X> && !std::is_const_v<X> && Tensor<X>;

/// A model names its parameters in a member:
/// `constexpr auto parameters() { return meshtf::parameters(w1, w2); }`.
template<class M>
concept HasParameters = requires(M& m) { m.parameters(); };

template<class R>
concept Range = requires(R& r) {
  std::begin(r);
  std::end(r);
};

/// Whether this may be in a list of parameters. The elements of a range are checked when the list is walked:
/// they may be the models that are checked now.
template<class Part>
struct naming : std::type_identity<has_no_parameters<Part>> {};
template<class Part>
  requires(Parameter<Part> || Kept<Part> || HasParameters<Part> || Range<Part>)
struct naming<Part> : std::type_identity<legal> {};
template<class Part>
struct naming<named_part<Part>> : naming<Part> {};

template<class X>
inline constexpr bool is_parameter_list = false;
template<class... Part>
inline constexpr bool is_parameter_list<parameter_list<Part...>> = true;

/// The first parameter that is trained; void if there is none.
template<class Part>
struct first_trained : std::type_identity<void> {};
template<Range Part>
  requires(!Parameter<Part> && !Kept<Part> && !HasParameters<Part>)
struct first_trained<Part>
    : first_trained<std::remove_cvref_t<decltype(*std::begin(std::declval<Part&>()))>> {};
template<Parameter Part>
struct first_trained<Part> : std::type_identity<Part> {};
template<class First, class... Rest>
struct first_trained<parameter_list<First, Rest...>>
    : std::conditional_t<std::is_void_v<typename first_trained<First>::type>,
                         first_trained<parameter_list<Rest...>>, first_trained<First>> {};
template<HasParameters Part>
struct first_trained<Part> : first_trained<decltype(std::declval<Part&>().parameters())> {};

/// `First`, or what is trained of `Rest` if anything is.
template<class First, class Rest>
struct first_trained_or : std::conditional_t<std::is_void_v<typename Rest::type>, First, Rest> {};

/// The first parameter in a list, a model or a range of models: which machine all of them are on, and which
/// type norms have. It is a tensor that is not trained only if nothing is.
template<class Part>
struct first_parameter {
  static_assert(accepted<typename naming<Part>::type>,
                "meshtf: a model needs constexpr auto parameters() { return meshtf::parameters(w); }");
};
template<Range Part>
  requires(!Parameter<Part> && !Kept<Part> && !HasParameters<Part>)
struct first_parameter<Part>
    : first_parameter<std::remove_cvref_t<decltype(*std::begin(std::declval<Part&>()))>> {};
template<class Part>
  requires(Parameter<Part> || Kept<Part>)
struct first_parameter<Part> : std::type_identity<Part> {};
template<class First, class... Rest>
struct first_parameter<parameter_list<First, Rest...>>
    : std::conditional_t<Parameter<typename first_parameter<First>::type>, first_parameter<First>,
                         first_trained_or<first_parameter<First>, first_trained<parameter_list<Rest...>>>> {};
template<HasParameters Part>
struct first_parameter<Part> : first_parameter<decltype(std::declval<Part&>().parameters())> {};

/// Calls `f` with each parameter in `part`: a parameter, a model, or a range of models. With `All`, also with
/// each tensor that is not trained.
template<bool All, class Part, class F>
constexpr void visit_parameters(Part& part, F const& f) {
  if constexpr (Parameter<Part>) {
    f(part);
  } else if constexpr (Kept<Part>) {
    if constexpr (All) f(part);
  } else if constexpr (HasParameters<Part>) {
    if constexpr (All) part.parameters().for_each_tensor(f);
    else part.parameters().for_each(f);
  } else {
    using verdict = typename naming<Part>::type;
    static_assert(accepted<verdict>,
                  "meshtf: a model needs constexpr auto parameters() { return meshtf::parameters(w); }");
    if constexpr (accepted<verdict>)
      for (auto& element : part) visit_parameters<All>(element, f);
  }
}

/// The same, with the name of each parameter: the names of the models it is in and its own, joined by dots. A
/// part without a name is called by its number.
template<class Part, class F>
void visit_named(Part& part, std::string const& name, F const& f) {
  if constexpr (Parameter<Part> || Kept<Part>) {
    f(name, part);
  } else if constexpr (HasParameters<Part>) {
    part.parameters().for_each_named(f, name);
  } else {
    std::size_t i = 0;
    for (auto& element : part) visit_named(element, name + "." + std::to_string(i++), f);
  }
}

template<class Part>
inline constexpr bool is_named = false;
template<class Part>
inline constexpr bool is_named<named_part<Part>> = true;

template<class Part>
[[gnu::always_inline]] constexpr named_part<Part> as_named(Part& part) {
  return {nullptr, &part};
}
template<class Part>
[[gnu::always_inline]] constexpr named_part<Part> as_named(named_part<Part>& part) {
  return part;
}
}  // namespace detail

/// The parameters of a program, in the order in which they were named. The list refers to them, so it must
/// not outlive them.
template<class... Part>
class parameter_list {
public:
  constexpr explicit parameter_list(named_part<Part> const&... part) : parts_{part...} {}

  /// Calls `f` with each parameter, in order. A layer that a model has twelve times is compiled once.
  template<class F>
  constexpr void for_each(F const& f) const {
    hana::unpack(parts_, [&f](auto const&... p) { (detail::visit_parameters<false>(*p.part, f), ...); });
  }
  /// The same, also with each tensor that is not trained.
  template<class F>
  constexpr void for_each_tensor(F const& f) const {
    hana::unpack(parts_, [&f](auto const&... p) { (detail::visit_parameters<true>(*p.part, f), ...); });
  }

  /// Calls `f` with each parameter, model or range of the list itself.
  template<class F>
  constexpr void for_each_part(F const& f) const {
    hana::unpack(parts_, [&f](auto const&... p) { (f(*p.part), ...); });
  }

  /// Calls `f` with the name and each parameter, and each tensor that is not trained, in the same order:
  /// `blocks.3.attention.query.weight`. Names are equal under every layout. A model that stands alone without
  /// a name has no number either: `parameters(net)` has the names of `net.parameters()`.
  template<class F>
  void for_each_named(F const& f, std::string const& prefix = {}) const {
    std::size_t i    = 0;
    auto const visit = [&]<class P>(named_part<P> const& p) {
      if constexpr (sizeof...(Part) == 1 && !detail::Parameter<P> && detail::HasParameters<P>)
        if (p.name == nullptr) return p.part->parameters().for_each_named(f, prefix);
      std::string const own = p.name != nullptr ? std::string{p.name} : std::to_string(i);
      ++i;
      detail::visit_named(*p.part, prefix.empty() ? own : prefix + "." + own, f);
    };
    hana::unpack(parts_, [&visit](auto const&... p) { (visit(p), ...); });
  }

private:
  hana::basic_tuple<named_part<Part>...> parts_;
};

template<class... Part>
parameter_list(named_part<Part> const&...) -> parameter_list<Part...>;

/// Parameters, models (which have a member `parameters()`) and ranges of these, as one list; each may be
/// `named("...", it)`. A tensor that is not trained, of any element type, may stand in it to be saved and
/// loaded: `save(parameters(named("net", net), named("mask", mask)), "net.safetensors")`.
template<class... Part>
constexpr auto parameters(Part&&... part)
  requires((std::is_lvalue_reference_v<Part> || detail::is_named<Part>) && ...)
{
  using verdict = first_objection<typename detail::naming<std::remove_reference_t<Part>>::type...>;
  static_assert(accepted<verdict>,
                "meshtf: a model needs constexpr auto parameters() { return meshtf::parameters(w); }");
  if constexpr (accepted<verdict>) return parameter_list{detail::as_named(part)...};
  else return parameter_list<>{};
}

namespace detail {

/// The machine of a list, all of whose parameters are on one; null if there are none.
template<class List>
constexpr auto* machine_in(List const& list) {
  typename first_parameter<List>::type::machine_type* m = nullptr;
  list.for_each_tensor([&m](auto& w) { m = &w.machine(); });
  return m;
}

/// The number of parameters in a list.
template<class List>
constexpr std::size_t count_in(List const& list) {
  std::size_t n = 0;
  list.for_each([&n](auto&) { ++n; });
  return n;
}

[[noreturn]] inline void throw_no_parameters(char const* operation) {
  throw software_error(std::string{operation} + " of no parameters: the list is empty");
}

/// The machine of a list that is not empty. Errors: `software_error` if it is; `what` is to be made of the
/// parameters.
template<class List>
constexpr auto& machine_of(List const& list, char const* operation) {
  auto* const m = machine_in(list);
  if (m == nullptr) throw_no_parameters(operation);
  return *m;
}

}  // namespace detail

/// Clears all gradients. Optimizers do so at the end of `step`.
template<class... Part>
constexpr void zero_gradients(parameter_list<Part...> const& list) {
  list.for_each([](auto& w) { w.zero_gradient(); });
}

}  // namespace v0
}  // namespace meshtf
