// Every kernel: the `compute` functions of the library's tasks, which plan/ declares, and passes over whole arrays. Where the program has a compiled
// part, only what a user's own functions need.
#pragma once

#include <meshtf/core/compiled.hpp>
#include <meshtf/kernel/whole_arrays.hpp>

#if MESHTF_DECLARES_KERNELS
#include <meshtf/kernel/users_function.hpp>
#else
#include <meshtf/kernel/attention.hpp>
#include <meshtf/kernel/bias.hpp>
#include <meshtf/kernel/contract.hpp>
#include <meshtf/kernel/gather.hpp>
#include <meshtf/kernel/lines.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/kernel/norm.hpp>
#include <meshtf/kernel/padding.hpp>
#include <meshtf/kernel/part.hpp>
#include <meshtf/kernel/random.hpp>
#include <meshtf/kernel/transform.hpp>
#endif
