// Every kernel: the members `compute` of the library's tasks, which plan/ declares, and passes over whole
// arrays. Where the program has a compiled library, only what a user's own functions need.
#pragma once

#include <meshtf/core/compiled.hpp>
#include <meshtf/kernel/architecture.hpp>
#include <meshtf/kernel/whole_arrays.hpp>

#if MESHTF_DECLARES_ONLY
#include <meshtf/kernel/fused.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/users_function.hpp>
#else
#include <meshtf/kernel/attention.hpp>
#include <meshtf/kernel/bias.hpp>
#include <meshtf/kernel/contract.hpp>
#include <meshtf/kernel/convolution.hpp>
#include <meshtf/kernel/displace.hpp>
#include <meshtf/kernel/fused.hpp>
#include <meshtf/kernel/gather.hpp>
#include <meshtf/kernel/lines.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/kernel/norm.hpp>
#include <meshtf/kernel/padding.hpp>
#include <meshtf/kernel/part.hpp>
#include <meshtf/kernel/random.hpp>
#include <meshtf/kernel/rank.hpp>
#include <meshtf/kernel/rotary.hpp>
#include <meshtf/kernel/running.hpp>
#include <meshtf/kernel/scatter.hpp>
#include <meshtf/kernel/searchsorted.hpp>
#include <meshtf/kernel/transform.hpp>
#include <meshtf/kernel/window.hpp>
#include <meshtf/kernel/write.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Runs a task: the one way from a machine to a kernel.
template<class K, class... A>
void execute(K const& task, typename K::steps_type const& steps, place_in_mesh const& here,
             A const&... arrays) {
  task.compute(steps, here, arrays...);
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
#endif
