// Errors with operands and with a tape, in words.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/shape.hpp>
#include <meshtf/price/call_site.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

template<class S>
struct shape_names;

template<class... D>
struct shape_names<shape<D...>> {
  static constexpr std::array<std::string_view, sizeof...(D)> each{name_of<D>()...};
  static constexpr std::span<std::string_view const> list{each};
};

/// "[batch, hidden]"
std::string spelled_names(std::span<std::string_view const> names);
template<class S>
std::string spelled_shape() {
  return spelled_names(shape_names<S>::list);
}

/// "einsum (mlp.cpp:42)"
std::string spelled_site(call_site const& site);

[[noreturn]] void throw_two_meshes(call_site const& site);

/// Tensors on two machines of one type have one type, so only a run can tell that their processes differ.
template<class Machine, class... Same>
constexpr void expect_one_mesh(Machine const& m, Same const&... others) {
  if ((... || (&m != &others))) throw_two_meshes(m.now());
}

[[noreturn]] void throw_stale(call_site const& site, std::span<std::string_view const> dims);

[[noreturn]] void throw_counted_less(call_site const& site, std::string_view dim, extent made, extent read);

[[noreturn]] void throw_tape_used_up(call_site const& site);

/// The gradient of a value whose tape is gone would be lost.
constexpr void expect_tape(bool used_up, call_site const& site) {
  // compute it again for each backward, call backward(a + b) once, or use it as data, stop_gradient(x)
  if (used_up) throw_tape_used_up(site);
}

[[noreturn]] void throw_no_gradient();

/// An operation reads a value that the processes of another stage have.
[[noreturn]] void throw_of_another_stage(call_site const& site, int made_on, int read_on);

/// `asked` shows elements to each process, but while a stage works the other processes have none.
[[noreturn]] void throw_inside_a_stage(char const* asked);

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::string spelled_site(call_site const& site) {
  std::string text = site.operation;
  if (site.has_line()) (text += " (") += place_text(site).view(), text += ")";
  return text;
}

[[noreturn]] MESHTF_DEFINE void throw_two_meshes(call_site const& site) {
  throw software_error(
      "the operands of " + spelled_site(site) +
      " live on two meshes of one type: make both on one process_mesh, or copy the elements of one through "
      "local()");
}

MESHTF_DEFINE std::string spelled_names(std::span<std::string_view const> names) {
  std::string text = "[";
  for (std::string_view const name : names) (text += text.size() == 1 ? "" : ", ") += name;
  return text + "]";
}

[[noreturn]] MESHTF_DEFINE void throw_stale(call_site const& site, std::span<std::string_view const> dims) {
  throw stale_value(
      "backward of " + spelled_site(site) + " needs its operand " + spelled_names(dims) +
      " as it was, but it was written after the forward pass: write (update, assign, local()) after "
      "backward, or compute with copy(x)");
}

[[noreturn]] MESHTF_DEFINE void throw_counted_less(call_site const& site, std::string_view dim, extent made,
                                                   extent read) {
  throw software_error(spelled_site(site) + " reads " + std::to_string(read) + " elements of " +
                       std::string{dim} + ", but its operand was made when there were " +
                       std::to_string(made) + ": make it again under counted<" + std::string{dim} +
                       ">, or read it under the count that it was made with");
}

[[noreturn]] MESHTF_DEFINE void throw_tape_used_up(call_site const& site) {
  throw software_error(
      "backward of " + spelled_site(site) +
      " comes to an operand whose tape an earlier backward has used up: compute it again, call backward(a "
      "+ b) once, or use it as "
      "data, stop_gradient(x); if recompute(f, ...) made it in f, return it from f");
}

[[noreturn]] MESHTF_DEFINE void throw_of_another_stage(call_site const& site, int made_on, int read_on) {
  std::string const there  = std::to_string(made_on);
  std::string const reader = *site.operation == '\0' ? "the program" : spelled_site(site);
  if (read_on < 0)
    throw software_error(reader + " reads a value of stage " + there +
                         " on all processes: run what works on stages in accumulate<M>(m, step)");
  std::string const here = std::to_string(read_on);
  if (read_on < made_on)
    throw software_error(reader + " reads a value of stage " + there + " on stage " + here +
                         ", which works before: compute it there");
  throw software_error(reader + " reads a value of stage " + there + " on stage " + here +
                       ": hand it on, hand_on(x, " + here + "), or compute it there");
}

[[noreturn]] MESHTF_DEFINE void throw_inside_a_stage(char const* asked) {
  throw software_error(std::string{asked} +
                       " shows the elements of one stage, while the processes of others go on: ask for them "
                       "after accumulate<M>(m, step)");
}

[[noreturn]] MESHTF_DEFINE void throw_no_gradient() {
  throw software_error(
      "backward of a value that depends on no parameter, or was computed under no_gradient: there is "
      "nothing to differentiate");
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
