// The number of threads that share the work of one process.
#pragma once

namespace meshtf {
inline namespace v0 {

/// The number of threads of a process: for `environment`, which starts them, and for `dry_run`, since some
/// kernels take scratch memory for each.
struct threads {
  int number = 1;
};

}  // namespace v0
}  // namespace meshtf
