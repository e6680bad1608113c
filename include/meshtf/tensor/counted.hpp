// counted: how many elements of a dimension there are, for as long as a guard lives.
#pragma once

#include <string>
#include <utility>

#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/price/machine.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

[[noreturn]] inline void throw_count_outside(std::string_view dim, extent n, extent max_extent) {
  throw usage_error("counted<" + std::string{dim} + "> expects 0 to " + std::to_string(max_extent) +
                    " elements, for which " + std::string{dim} + " has room, got " + std::to_string(n) +
                    ": declare struct " + std::string{dim} +
                    " : meshtf::up_to<N> with the most there may be");
}

}  // namespace detail

/// While it lives, there are `n` elements of `D` on the machine `m`. All processes must say the same. Inside
/// a guard others may count other dimensions, or the same again.
///
///     struct batch : meshtf::up_to<512> {};
///     ...
///     meshtf::counted<batch> last{m, 16};   // what follows works on 16
///
/// Blocks are cut for the most elements there may be, so a smaller count is a prefix and nothing moves;
/// messages and memory keep their sizes, flops are those of the count. A tensor that is made now has values
/// for `n` elements, and reading it under a larger count throws `software_error`. Parameters keep all their
/// elements: operations use the first `n`, and the gradient of the others is zero. An operation's gradient is
/// computed under the count that the operation ran under.
///
/// Errors: `usage_error` if `n` is negative or larger than the allocated extent; where calls are compared
/// (`MESHTF_CHECK`), a process that counts otherwise is named.
template<CountedDimension D>
class counted {
public:
  template<class Machine>
  constexpr counted(Machine& m, extent n) : now_(&m.place_of_counted_number()), before_(*now_) {
    if (n < 0 || n > D::size) detail::throw_count_outside(name_of<D>(), n, D::size);
    if constexpr (Machine::computes) m.expect_same_count(name_of<D>(), n);
    m.count(m.counted().with(detail::identity_of<D>, n));
  }
  counted(counted const&)        = delete;
  void operator=(counted const&) = delete;
  constexpr ~counted() { *now_ = before_; }

private:
  unsigned* now_;
  unsigned before_;
};

namespace detail {

/// While it lives, all dimensions have as many elements as are allocated: parameters are made so.
template<class Machine>
class all_counted {
public:
  constexpr explicit all_counted(Machine& m) : machine_(m), before_(m.count(0U)) {}
  all_counted(all_counted const&)    = delete;
  void operator=(all_counted const&) = delete;
  constexpr ~all_counted() { machine_.count(before_); }

private:
  Machine& machine_;
  unsigned before_;
};

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
