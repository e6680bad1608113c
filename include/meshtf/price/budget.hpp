// Budgets: bounds on a cost whose failure shows both numbers, and a message that says what to look at then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <meshtf/core/text.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/price/cost_text.hpp>
#include <meshtf/price/staged_cost.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

// These index past the end of an array as long as the budget. g++ prints neither the arguments of a call nor
// the condition of an `if`, but it prints which element was asked for, and of how many. clang prints the
// call.

template<extent Budget>
constexpr bool a_process_needs_at_most(extent peak) {
  if (peak <= Budget) return true;
  char const bytes_of_memory[static_cast<std::size_t>(Budget > 0 ? Budget : 1)]{};
  return bytes_of_memory[peak] == 0;
}
template<extent Budget>
constexpr bool a_process_sends_at_most(extent sent) {
  if (sent <= Budget) return true;
  char const bytes_to_send[static_cast<std::size_t>(Budget > 0 ? Budget : 1)]{};
  return bytes_to_send[sent] == 0;
}
template<extent Budget>
constexpr bool a_process_spills_at_most(extent spilled) {
  if (spilled <= Budget) return true;
  char const bytes_to_the_file_and_back[static_cast<std::size_t>(Budget > 0 ? Budget : 1)]{};
  return bytes_to_the_file_and_back[spilled] == 0;
}

}  // namespace detail

/// Whether a process never holds more than `Budget` bytes. If it does, the compiler's message shows both
/// numbers:
///
///     static_assert(meshtf::fits<24 * meshtf::GiB>(cost));
template<extent Budget, Mesh M, std::size_t Capacity>
consteval bool fits(cost<M, Capacity> const& c) {
  return detail::a_process_needs_at_most<Budget>(c.peak_bytes());
}

template<extent Budget, Mesh M, int K>
consteval bool fits(staged_cost<M, K> const& c) {
  return detail::a_process_needs_at_most<Budget>(c.peak_bytes());
}

/// Whether a process sends at most `Budget` bytes along the axis `A`, or in all if there is no `A`. If it
/// sends more, the compiler's message shows both numbers:
///
///     static_assert(meshtf::sends_at_most<4 * meshtf::MiB, rows>(cost));
template<extent Budget, MeshAxis... A, Mesh M, std::size_t Capacity>
consteval bool sends_at_most(cost<M, Capacity> const& c) {
  return detail::a_process_sends_at_most<Budget>(c.template bytes_sent<A...>());
}

template<extent Budget, MeshAxis... A, Mesh M, int K>
consteval bool sends_at_most(staged_cost<M, K> const& c) {
  return detail::a_process_sends_at_most<Budget>(c.template bytes_sent<A...>());
}

/// Whether arrays of at most `Budget` bytes leave a process for its file and come back, each counted once a
/// way. If they are more, the compiler's message shows both numbers:
///
///     static_assert(meshtf::spills_at_most<800 * meshtf::MiB>(cost));
template<extent Budget, Mesh M, std::size_t Capacity>
consteval bool spills_at_most(cost<M, Capacity> const& c) {
  return detail::a_process_spills_at_most<Budget>(c.bytes_spilled());
}

template<extent Budget, Mesh M, int K>
consteval bool spills_at_most(staged_cost<M, K> const& c) {
  return detail::a_process_spills_at_most<Budget>(c.bytes_spilled());
}

/// A few words in a compiler's message. The array is exactly as long as the words, since clang prints no
/// other array as text.
template<std::size_t N>
struct message_text {
  char text[N + 1]{};

  constexpr explicit message_text(std::string_view s) { std::copy_n(s.data(), N, text); }
};

namespace detail {

template<auto const& Cost>
using mesh_of = typename std::remove_cvref_t<decltype(Cost)>::mesh_type;

template<auto const& Cost>
inline constexpr auto five_most_expensive = most_expensive<5>(Cost);

/// For an expense I = 0, 2, ...: "11.6 MiB in 3 reduce_scatter". For I + 1: its site, "rows cols,
/// feed_forward.hpp:22".
template<auto const& Cost, std::size_t I>
inline constexpr auto expense_text = [] {
  fixed_text<511> out;
  if (I / 2 >= five_most_expensive<Cost>.count) return out;
  collective_sum const& s = five_most_expensive<Cost>.sums[I / 2];
  if (I % 2 == 0) {
    out += bytes_text(s.sent);
    out += " in ";
    out += number_text(s.calls);
    out += ' ';
    out += to_string(s.kind);
  } else {
    out += axes_text(typename mesh_of<Cost>::all_axes{}, s.over);
    out += ", ";
    out += s.site.has_line() ? place_text(s.site) : site_text(s.site);
  }
  return out;
}();
template<auto const& Cost, std::size_t I>
inline constexpr message_text<expense_text<Cost, I>.count> expense{expense_text<Cost, I>};

// clang quotes the whole call of this, so its name is short enough for two lines.
template<auto... WhatAndWhere>
constexpr bool show(bool asked_for) {
  if (asked_for) throw "meshtf: the collectives that send most, as asked for";
  return true;
}

}  // namespace detail

/// Stops the compiler with a message that shows the five call sites whose collectives send most: bytes, calls
/// and kind, then axes, file and line (or operator).
///
///     static_assert(meshtf::show_most_expensive<cost>());   // cost: a constexpr object of a namespace
template<auto const& Cost>
consteval bool show_most_expensive() {
  using namespace detail;
  return show<expense<Cost, 0>, expense<Cost, 1>, expense<Cost, 2>, expense<Cost, 3>, expense<Cost, 4>,
              expense<Cost, 5>, expense<Cost, 6>, expense<Cost, 7>, expense<Cost, 8>, expense<Cost, 9>>(true);
}

}  // namespace v0
}  // namespace meshtf
