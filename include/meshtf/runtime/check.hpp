// Congruence: whether all processes make the same calls. The check before every collective, and the
// comparison of costs.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <mpi.h>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/named_mesh.hpp>
#include <meshtf/price/cost_hash.hpp>
#include <meshtf/price/cost_text.hpp>
#include <meshtf/runtime/switch_value.hpp>
#include <meshtf/runtime/waiting.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Whether all processes of `comm` pass the same number: one all-reduce.
bool same_everywhere(MPI_Comm comm, std::uint64_t number);

/// The text of each process of `comm`, in the order of ranks. Long texts are cut.
std::vector<std::string> said_by_each(MPI_Comm comm, std::string_view text);

/// "process 0 <text>, process 3 <text>": the first text, and the first that differs from it.
std::string first_difference(std::vector<std::string> const& texts);

/// "grid rows=2 x cols=2"
std::string shape_of(named_mesh const& mesh);
/// "rows cols"
std::string axes_in(named_mesh const& mesh, axis_set over);

/// "all_reduce (sum) of 8 float over "rows" for einsum, mlp.cpp:12"
std::string words_of_call(collective_call const& c, std::string_view axes);
template<Mesh M>
std::string words_of(collective_call const& c) {
  return words_of_call(c, axes_text(typename M::all_axes{}, c.over).view());
}

}  // namespace detail

/// Before a collective, all processes of the mesh, also those that take no part in it, compare what they are
/// about to call: its number, kind, operator, element type, axes and count. If they differ, all throw, with
/// the call sites of two that differ, instead of waiting for one another or adding up different things.
///
/// It is on if the environment variable MESHTF_CHECK is "1" on any process, and off if it is "0"; another
/// value is a `usage_error`. If it is set on no process, it is on in a program whose `environment` was
/// compiled without NDEBUG. It costs an all-reduce of 16 bytes for each collective, on a communicator of its
/// own, named "check", which no price includes. Where it is off, a collective costs one more comparison.
class call_check {
public:
  /// Null unless some process of `comm` wants the check; collective.
  static std::unique_ptr<call_check> if_wanted(MPI_Comm comm);

  /// The check of the mesh that has the communicator `comm`; null if there is none.
  static call_check* of(MPI_Comm comm);

  explicit call_check(MPI_Comm comm);
  call_check(call_check const&)     = delete;
  void operator=(call_check const&) = delete;
  ~call_check();

  /// `words()` gives what this process does, to follow "process 3"; it is called only if processes differ.
  /// Errors: `software_error` on all processes.
  template<class Words>
  void compare(fnv1a hash, Words const& words) {
    if (!alike(hash)) differ(words());
  }

  /// Whether a difference was found, which has then been reported.
  bool found_a_difference() const { return differs_; }

private:
  /// A duplicate of the communicator does not inherit the check: each mesh has its own.
  static int key();
  bool alike(fnv1a hash);
  [[noreturn]] void differ(std::string const& words);

  MPI_Comm of_          = MPI_COMM_NULL;
  MPI_Comm comm_        = MPI_COMM_NULL;
  std::uint64_t number_ = 0;
  bool differs_         = false;
};

#if MESHTF_DEFINES_RUNTIME

namespace detail {

MESHTF_DEFINE bool same_everywhere(MPI_Comm comm, std::uint64_t number) {
  std::uint64_t bounds[]{number, ~number};  // all are equal if the smallest is also the largest
  if (int const failure = MPI_Allreduce(MPI_IN_PLACE, bounds, 2, MPI_UINT64_T, MPI_MIN, comm);
      failure != MPI_SUCCESS)
    throw unavailable("the processes could not compare what they are about to do: an all-reduce failed");
  return bounds[0] == ~bounds[1];
}

MESHTF_DEFINE std::vector<std::string> said_by_each(MPI_Comm comm, std::string_view text) {
  constexpr int max_length = 600;
  int size                 = 1;
  MPI_Comm_size(comm, &size);
  std::array<char, max_length> mine{};
  std::copy_n(text.begin(), std::min<std::size_t>(text.size(), max_length - 1), mine.begin());
  std::vector<char> all(static_cast<std::size_t>(size) * max_length);
  MPI_Allgather(mine.data(), max_length, MPI_CHAR, all.data(), max_length, MPI_CHAR, comm);
  std::vector<std::string> texts;
  for (int r = 0; r < size; ++r) texts.emplace_back(all.data() + std::ptrdiff_t{r} * max_length);
  return texts;
}

MESHTF_DEFINE std::string first_difference(std::vector<std::string> const& texts) {
  std::size_t other = 0;
  while (other + 1 < texts.size() && texts[other] == texts[0]) ++other;
  auto const said = [&](std::size_t process) {
    return "process " + std::to_string(process) + " " +
           (texts[process].empty() ? "(did not reach this call)" : texts[process]);
  };
  return said(0) + ", " + said(other);
}

MESHTF_DEFINE std::string shape_of(named_mesh const& mesh) {
  std::string text{mesh.name};
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    text += a == 0 ? " " : " x ";
    text += mesh.axes[a];
    text += '=';
    text += std::to_string(mesh.sizes[a]);
  }
  return text;
}

MESHTF_DEFINE std::string axes_in(named_mesh const& mesh, axis_set over) {
  std::string text;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a)
    if ((over >> a & 1) != 0) (text += text.empty() ? "" : " ") += mesh.axes[a];
  return text;
}

MESHTF_DEFINE std::string words_of_call(collective_call const& c, std::string_view axes) {
  bool const joins = c.kind == collective::all_reduce || c.kind == collective::reduce_scatter;
  return std::string{to_string(c.kind)} + (joins ? " (" + std::string{to_string(c.op)} + ")" : "") + " of " +
         std::to_string(c.count) + " " + std::string{to_string(c.type)} + " over \"" + std::string{axes} +
         "\" for " + std::string{site_text(c.site).view()};
}

}  // namespace detail

MESHTF_DEFINE std::unique_ptr<call_check> call_check::if_wanted(MPI_Comm comm) {
  auto const words = detail::switch_value("MESHTF_CHECK", std::getenv("MESHTF_CHECK"), {"0", "1"});
  enum : int { off_by_default, on_by_default, off, on };
  int wanted = words == "0" ? off : on;
  if (words.empty()) wanted = detail::compares_calls_by_default ? on_by_default : off_by_default;
  // mpirun passes the variable only to processes of its own node, so the setting of one process counts for
  // all
  if (MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS ||
      wanted == off_by_default || wanted == off)
    return nullptr;
  return std::make_unique<call_check>(comm);
}

MESHTF_DEFINE call_check* call_check::of(MPI_Comm comm) {
  void* check = nullptr;
  int found   = 0;
  MPI_Comm_get_attr(comm, key(), &check, &found);
  return found != 0 ? static_cast<call_check*>(check) : nullptr;
}

MESHTF_DEFINE call_check::call_check(MPI_Comm comm) : of_(comm) {
  MPI_Comm_dup(comm, &comm_);
  MPI_Comm_set_name(comm_, "check");
  MPI_Comm_set_attr(of_, key(), this);
  detail::waits.compares.store(true, std::memory_order_relaxed);
}

MESHTF_DEFINE bool call_check::alike(fnv1a hash) {
  ++number_;
  return detail::same_everywhere(comm_, (hash << number_).value());
}

[[noreturn]] MESHTF_DEFINE void call_check::differ(std::string const& words) {
  differs_ = true;
  throw software_error("the processes differ in collective number " + std::to_string(number_) + ": " +
                       detail::first_difference(detail::said_by_each(comm_, words)) +
                       ": all processes run the same operations in the same order");
}

MESHTF_DEFINE int call_check::key() {
  static int const made = [] {
    int k = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &k, nullptr);
    return k;
  }();
  return made;
}

MESHTF_DEFINE call_check::~call_check() {
  MPI_Comm_delete_attr(of_, key());
  MPI_Comm_free(&comm_);
}

#endif

namespace detail {

/// What processes compare of a value, and the words that describe it in messages.
struct compared_value {
  std::uint64_t hash;
  std::string words;
};

/// Numbers and texts are described as they are, a long text or many elements by their number and hash.
template<class T>
compared_value to_compare(T const& value) {
  auto const hashed = [](void const* bytes, std::size_t n, std::string const& subject) {
    std::uint64_t const hash = (fnv1a{} << std::string_view{static_cast<char const*>(bytes), n}).value();
    char words[64];
    std::snprintf(words, sizeof words, " (hash %016lx)", static_cast<unsigned long>(hash));
    return compared_value{hash, subject + words};
  };
  if constexpr (std::is_enum_v<T>) {
    return to_compare(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (NarrowElement<T>) {
    return to_compare(static_cast<computed<T>>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    char text[64];
    std::string const words{text, std::to_chars(text, text + sizeof text, value).ptr};
    return {(fnv1a{} << words).value(), words};
  } else if constexpr (std::is_integral_v<T>) {
    return {(fnv1a{} << static_cast<std::uint64_t>(value)).value(), std::to_string(value)};
  } else if constexpr (std::is_convertible_v<T const&, std::string_view>) {
    std::string_view const text = value;
    if (text.size() > 200)
      return hashed(text.data(), text.size(), "of " + std::to_string(text.size()) + " bytes");
    return {(fnv1a{} << text).value(), "'" + std::string{text} + "'"};
  } else {
    constexpr bool plain = requires { std::as_bytes(std::span{value}); };
    static_assert(
        plain,
        "meshtf: agree compares numbers, texts, ranges of plain elements that lie in one piece, tensors, "
        "parameters(...) and costs");
    if constexpr (plain) {
      auto const bytes = std::as_bytes(std::span{value});
      return hashed(bytes.data(), bytes.size(),
                    "of " + std::to_string(std::span{value}.size()) + " elements");
    } else {
      return {};
    }
  }
}

}  // namespace detail

/// Compares a value of the processes of `comm`; `name` is the user's name for it. One all-reduce of 16 bytes.
/// Errors: `software_error` on all processes if values differ; it names two of them.
template<class T>
void agree_on_value(MPI_Comm comm, std::string_view name, T const& value) {
  auto const mine = detail::to_compare(value);
  if (detail::same_everywhere(comm, (fnv1a{} << name << mine.hash).value())) return;
  throw software_error(
      "the processes differ: " +
      detail::first_difference(detail::said_by_each(comm, "has " + std::string{name} + " " + mine.words)) +
      ": start the same program with the same options and data on all");
}

/// Compares the costs that the processes of `comm` promise, and finds the first collective in which they
/// differ.
/// Errors: `software_error` on all processes if they differ.
template<Mesh M, std::size_t Capacity>
void agree_on_cost(MPI_Comm comm, cost<M, Capacity> const& promised) {
  if (detail::same_everywhere(comm, hash_of(promised))) return;
  auto const calls     = promised.collectives();
  std::uint64_t common = calls.size();
  MPI_Allreduce(MPI_IN_PLACE, &common, 1, MPI_UINT64_T, MPI_MIN, comm);
  fnv1a hash;
  std::size_t position = 0;
  while (position < common && detail::same_everywhere(comm, (hash << calls[position]).value())) ++position;
  std::string words = "promises " + std::to_string(promised.bytes_sent()) + " bytes sent, " +
                      std::to_string(promised.flops()) + " + " +
                      std::to_string(promised.elementwise_flops()) + " flops, " +
                      std::to_string(promised.parameter_bytes()) + " bytes of parameters, a peak of " +
                      std::to_string(promised.peak_bytes()) + " bytes, and collective number " +
                      std::to_string(position + 1) + " ";
  words += position < calls.size() ? "calls " + detail::words_of<M>(calls[position]) : "is none";
  throw software_error(
      "the processes run different programs: " + detail::first_difference(detail::said_by_each(comm, words)) +
      ": start the same program with the same options on all");
}

}  // namespace v0
}  // namespace meshtf
