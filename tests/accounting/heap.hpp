// How often this program asks the heap for memory.
#pragma once

namespace heap {

/// Calls of `operator new` so far, of any form.
long allocations();

}  // namespace heap
