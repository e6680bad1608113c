// What all processes of a mesh must have alike: promised costs, values, and replicas of tensors.
#pragma once

#include <string>
#include <string_view>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/named_mesh.hpp>
#include <meshtf/price/machine.hpp>
#include <meshtf/price/staged_cost.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/process_in_mesh.hpp>
#include <meshtf/runtime/replicas.hpp>
#include <meshtf/runtime/waiting.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Accepts the arguments that a list of parameters passes to a function.
struct any_parameter {
  void operator()(std::string const&, auto const&) const {}
};

}  // namespace detail

/// The part of `process_mesh` that compares what its processes have. `Self` is the mesh.
template<class Self, Mesh M>
class agreements : public machine_base<Self, M>, public process_in_mesh {
public:
  /// Checks that all processes have the same promised cost. All call it at the start: it turns a later hang
  /// or a wrong sum (another binary or other options on some processes) into one message. One all-reduce of
  /// 16 bytes.
  ///
  ///     m.agree(meshtf::dry_run<training, mixed>());
  ///
  /// Errors: `software_error` on all processes if the costs differ.
  template<std::size_t Capacity>
  void agree(cost<M, Capacity> const& promised) const {
    detail::waiting const here{"agree"};
    compare_agreement();
    agree_on_cost(world(), promised);
  }

  /// The same of a pipeline: of all its stages.
  template<int K>
  void agree(staged_cost<M, K> const& promised) const {
    for (int k = 0; k < K; ++k) agree(promised.stage(k));
  }

  /// Checks that all processes have the same `value`: a number, a text, a range of plain elements such as the
  /// data (their hash is compared), or a tensor. `name` is the user's name for it.
  ///
  ///     m.agree("--seed", seed);
  ///
  /// One all-reduce of 16 bytes; for a tensor two, and its elements are read. The processes that hold the
  /// same part of a tensor must have equal bits.
  /// Errors: `software_error` on all processes if values differ; it names two of them.
  template<class Value>
  void agree(std::string_view name, Value const& value) const {
    compare_call("agree", name);
    if constexpr (requires { typename Value::shape_type; }) {
      detail::agree_on_replicas(static_cast<Self const&>(*this), name, value);
    } else {
      detail::waiting const here{"agree"};
      agree_on_value(world(), name, value);
    }
  }
  /// A tensor, or each parameter of a list by its name: for checking initial values.
  template<class Value>
    requires requires { typename Value::shape_type; }
  void agree(Value const& x) const {
    agree("a tensor", x);
  }
  template<class List>
    requires requires(List const& list) { list.for_each_named(detail::any_parameter{}); }
  void agree(List const& list) const {
    list.for_each_named(
        [this](std::string const& name, auto const& w) { this->agree("parameter " + name, w); });
  }

  /// The parameters of a list and what an optimizer keeps of them, by the bits that each process has: called
  /// from time to time, it finds a machine that has failed. One all-reduce of 16 bytes for each array, and
  /// one more; the arrays are read.
  ///
  ///     if (step % 100 == 0) m.agree(parameters(net), opt);
  ///
  /// With `replicas_differ::send_again` a process that differs from most others gets their bits, for one more
  /// all-reduce of one number. Returns how many arrays were sent again, the same number on all processes.
  /// Errors: `software_error` on all processes if replicas differ, unless they were sent again; it names the
  /// array, an element, and the process that most others differ from.
  template<class List, class Optimizer>
    requires requires(List const& list) { list.for_each_named(detail::any_parameter{}); }
  int agree(List const& list, Optimizer const& opt, replicas_differ policy = replicas_differ::end_job) const {
    compare_call("agree", "parameters and an optimizer");
    int replaced = detail::agree_on_replicas(static_cast<Self const&>(*this), list, opt, policy);
    if (policy == replicas_differ::end_job) return 0;
    detail::waiting const here{"agree"};
    meshtf::all_reduce(world(), reduction::sum, &replaced, 1);
    return replaced;
  }

protected:
  explicit agreements(boost::mpi::communicator const& given)
      : process_in_mesh{named_mesh_of<M>, joining_axes<M>, given} {}
  ~agreements() = default;
};

}  // namespace v0
}  // namespace meshtf
