// early_sums: gradients are added up over the processes while the backward pass goes on.
#pragma once

#include <source_location>
#include <string_view>  // also for std::begin
#include <type_traits>
#include <utility>

#include <meshtf/optim/sums_in_backward.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Whether a parameter in a list, a model or a range of models is kept in bfloat16.
template<class Part>
struct trains_narrow : std::false_type {};
template<Range Part>
  requires(!Parameter<Part> && !Kept<Part> && !HasParameters<Part>)
struct trains_narrow<Part>
    : trains_narrow<std::remove_cvref_t<decltype(*std::begin(std::declval<Part&>()))>> {};
template<Parameter Part>
struct trains_narrow<Part> : std::bool_constant<NarrowElement<typename Part::element_type>> {};
template<class... Part>
struct trains_narrow<parameter_list<Part...>> : std::disjunction<trains_narrow<Part>...> {};
template<HasParameters Part>
struct trains_narrow<Part> : trains_narrow<decltype(std::declval<Part&>().parameters())> {};

/// Whether the processes that share a parameter share its update. Optimizers without state have no option.
template<class Optimizer>
constexpr bool shards_state(Optimizer const& opt) {
  if constexpr (requires { opt.shard_state; }) return opt.shard_state;
  else return false;
}

}  // namespace detail

/// While it lives, `backward` begins to add up the gradients of these parameters over the processes as soon
/// as nothing on the tape uses the parameter any more, goes on meanwhile, and waits for the sums where it
/// ends. An optimizer's step then finds finished gradients, and sends nothing for them.
///
///     meshtf::early_sums const early{parameters(net)};
///     for (...) {
///       backward(loss(net, batch));  // in `accumulate`: that of the last micro-batch
///       opt.step(parameters(net));
///     }
///
/// Short gradients share messages as in a step (`plan_buckets`, by the list of parameters), so a bucket
/// begins with its last member. Each sum is a pairwise exchange that adds in the order of ranks, and counts
/// as one all-reduce; its bits are the same whoever is late, but may differ from those of `MPI_Allreduce`. A
/// sum holds a buffer of (n - 1) / n of its bytes until it is waited for, and gradients that share a message
/// are copied. Gradients that get terms after their sum has begun (a second `backward` before the step) are
/// right: the step adds the rest up.
///
/// A bucket with a parameter that gets no gradient begins where the backward pass ends. A gradient whose slot
/// the program holds elsewhere, such as that of a tied table of a pipeline, or that is listed twice, is left
/// to the step. Parameters that an optimizer freezes need not be listed. Weights kept in parts (`kept_over`)
/// have their gradients reduce-scattered where they arise. In a search for a layout nothing begins early.
/// Source: Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training (2020), section
/// 3.2.
///
/// For an optimizer with `shard_state`, name it: `early_sums{parameters(net), opt}`. The gradients are then
/// reduce-scattered, which sends half as much. Until the step, a gradient is a sum of which each process has
/// its part, in an array of full size; a parameter that does not divide into equal parts is left to the step.
template<class Machine>
class early_sums {
public:
  /// `scatters` is for the constructor below.
  template<class... Part>
  constexpr explicit early_sums(parameter_list<Part...> const& list,
                                wait_for_sums wait      = wait_for_sums::at_the_end,
                                std::source_location at = std::source_location::current(),
                                bool scatters           = false)
      : machine_(detail::machine_in(list)) {
    constexpr bool is_narrow = detail::trains_narrow<parameter_list<Part...>>::value;
    static_assert(!is_narrow,
                  "meshtf: small updates get lost in bfloat16: keep float parameters, and compute with "
                  "cast<bfloat16>(w)");
    if constexpr (detail::SumsEarly<Machine> && !is_narrow)
      if (machine_ != nullptr) sums_ = machine_->template create<sums>(list, *machine_, scatters, wait, at);
  }
  /// For the step of `opt`, whose `shard_state` has been set.
  template<class... Part, class Optimizer>
    requires std::is_class_v<Optimizer>
  constexpr early_sums(parameter_list<Part...> const& list, Optimizer const& opt,
                       wait_for_sums wait      = wait_for_sums::at_the_end,
                       std::source_location at = std::source_location::current())
      : early_sums(list, wait, at, detail::shards_state(opt)) {}
  early_sums(early_sums const&)     = delete;
  void operator=(early_sums const&) = delete;
  constexpr ~early_sums() {
    if constexpr (detail::SumsEarly<Machine>)
      if (sums_ != nullptr) machine_->destroy(sums_);
  }

private:
  using sums = detail::sums_in_backward<Machine>;

  Machine* machine_;
  sums* sums_ = nullptr;
};

template<class... Part>
early_sums(parameter_list<Part...> const&)
    -> early_sums<typename detail::first_parameter<parameter_list<Part...>>::type::machine_type>;
template<class... Part>
early_sums(parameter_list<Part...> const&, wait_for_sums)
    -> early_sums<typename detail::first_parameter<parameter_list<Part...>>::type::machine_type>;
template<class... Part, class Optimizer>
early_sums(parameter_list<Part...> const&, Optimizer const&)
    -> early_sums<typename detail::first_parameter<parameter_list<Part...>>::type::machine_type>;
template<class... Part, class Optimizer>
early_sums(parameter_list<Part...> const&, Optimizer const&, wait_for_sums)
    -> early_sums<typename detail::first_parameter<parameter_list<Part...>>::type::machine_type>;

}  // namespace v0
}  // namespace meshtf
