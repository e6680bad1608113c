// Arrays that leave memory for a file: where each is, and which of them leave and come back together.
#pragma once

#include <meshtf/core/dim.hpp>
#include <meshtf/core/mesh.hpp>

namespace meshtf {
inline namespace v0 {

template<Mesh M>
class process_mesh;
template<Mesh M>
class ledger;

namespace detail {

/// Whether arrays of a machine can leave for a file. A record of all layouts notes those that would.
template<class Machine>
inline constexpr bool can_spill = false;
template<Mesh M>
inline constexpr bool can_spill<process_mesh<M>> = true;
template<Mesh M>
inline constexpr bool can_spill<ledger<M>> = true;

/// Whether a machine is told of arrays that leave memory (`leave`), and of those that die meanwhile
/// (`die_away`): under some layouts of a record they are too short to leave.
template<class Machine>
inline constexpr bool is_told_who_leaves = false;

/// The place of an array in the file of its machine.
struct file_place {
  extent start = -1;  // none yet
  extent bytes = 0;   // as reserved
  long request = 0;   // the number of the latest write or read
  // whether it holds what the array was in this version, for arrays whose every change is a version
  bool is_current  = false;
  unsigned version = 0;
};

/// An array that a scope spills.
struct spilled_array {
  enum class move { leave, be_gone, begin_return, be_back, drop };
  void (*act)(spilled_array*, move);
  void const* key;  // the address of its storage
  extent bytes;
  spilled_array* next = nullptr;
};

/// What the tape keeps of one function. It leaves and comes back as one.
struct spilled_scope {
  spilled_array* first   = nullptr;
  spilled_array* results = nullptr;  // kept too, but read by the next function, with which they leave
  spilled_scope* before  = nullptr;  // on the same tape
  extent bytes           = 0;
  extent largest         = 0;  // bytes of the largest scope up to this one

  constexpr void add(spilled_array* a) {
    a->next = first;
    first   = a;
    bytes += a->bytes;
  }
  constexpr bool has_any() const { return first != nullptr || results != nullptr; }
  constexpr void ask(spilled_array::move m) const { ask(first, m); }
  /// All reads are asked for before the first is waited for.
  constexpr void come_back() const {
    ask(spilled_array::move::begin_return);
    ask(spilled_array::move::be_back);
  }
  /// Begins to read what the scopes before this one need: one of them, and further ones as long as all these
  /// have no more bytes than the largest. So short scopes are read well ahead, and the memory is bounded.
  constexpr void read_ahead() const {
    extent room = largest;
    for (spilled_scope const* s = before; s != nullptr; s = s->before) {
      if (s != before && s->bytes > room) return;
      s->ask(spilled_array::move::begin_return);
      room -= s->bytes;
    }
  }
  constexpr void drop() const {
    ask(first, spilled_array::move::drop);
    ask(results, spilled_array::move::drop);
  }

  /// Takes the array with this storage out of a list; null if it is not there.
  static constexpr spilled_array* taken(spilled_array*& list, void const* key) {
    for (spilled_array** link = &list; *link != nullptr; link = &(*link)->next)
      if ((*link)->key == key) {
        spilled_array* const a = *link;
        *link                  = a->next;
        return a;
      }
    return nullptr;
  }

private:
  static constexpr void ask(spilled_array* list, spilled_array::move m) {
    for (spilled_array* a = list; a != nullptr;) {
      spilled_array* const next = a->next;  // `drop` destroys a
      a->act(a, m);
      a = next;
    }
  }
};

/// The scopes of a machine.
struct spilled_scopes {
  spilled_scope* open     = nullptr;  // whose function runs
  spilled_scope* last     = nullptr;  // the latest on the tape
  spilled_scope* leaving  = nullptr;  // the one that is being written
  spilled_scope* returned = nullptr;  // the latest whose function has returned: the next takes its results
  extent min_bytes        = 64 * 1024;

  /// A result of the function of `s`, which is about to return, does not leave with the others.
  constexpr void set_aside(spilled_scope& s, void const* key) {
    spilled_array* a = spilled_scope::taken(s.first, key);
    if (a != nullptr) s.bytes -= a->bytes;
    else if (returned != nullptr) a = spilled_scope::taken(returned->results, key);
    if (a == nullptr) return;
    a->next   = s.results;
    s.results = a;
  }
  /// The function of `s` has returned: the scope before has left, and this one begins to.
  constexpr void close(spilled_scope& s) {
    if (leaving != nullptr) leaving->ask(spilled_array::move::be_gone);
    leaving = nullptr;
    while (returned != nullptr && returned->results != nullptr) {
      spilled_array* const a = returned->results;
      returned->results      = a->next;
      s.add(a);
    }
    returned = &s;
    if (!s.has_any()) return;
    s.ask(spilled_array::move::leave);
    leaving   = &s;
    s.before  = last;
    s.largest = last != nullptr && last->largest > s.bytes ? last->largest : s.bytes;
    last      = &s;
  }
  constexpr void forget(spilled_scope const& s) {
    if (leaving == &s) leaving = nullptr;
    if (returned == &s) returned = nullptr;
    if (last == &s) last = s.before;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
