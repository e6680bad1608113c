// The account of an operation along a split dimension, while a layout is priced.
#pragma once

#include <meshtf/plan/reshard/moves.hpp>
#include <meshtf/plan/task.hpp>
#include <meshtf/plan/work.hpp>
#include <meshtf/price/machine.hpp>

namespace meshtf {
inline namespace v0 {

/// A machine that has neither a mesh nor a tape. It adds up what an operation does, keeps a list of what it
/// sends, and counts the memory that it takes meanwhile. A message that names no axes goes over those that
/// split the dimension of the call's condition.
class split_account {
public:
  static constexpr bool computes                                        = false;
  static constexpr int max_messages                                     = 8;
  [[deprecated("use max_messages")]] static constexpr int most_messages = max_messages;

  struct message {
    collective kind{};
    element type{};
    extent count  = 0;  // elements that a process holds before the call
    axis_set over = 0;  // the axes, if it names them
    extent live   = 0;  // bytes that live meanwhile
  };

  /// The sizes of the mesh's axes.
  constexpr explicit split_account(std::span<extent const> axes) : axes_(axes) {}

  constexpr std::span<extent const> axis_sizes() const { return axes_; }
  constexpr work const& does() const { return does_; }
  constexpr std::span<message const> messages() const { return messages_.first(count_); }
  /// The most bytes that lived.
  constexpr extent peak_bytes() const { return peak_; }

  // ---- what operations ask of machines
  constexpr unsigned counted_number() const { return 0; }
  constexpr bool idles() const { return false; }
  constexpr int stage() const { return -1; }
  constexpr void* hold(extent n, extent each) {
    live_ += n * each;
    if (live_ > peak_) peak_ = live_;
    return nullptr;
  }
  constexpr void release(void*, extent n, extent each) { live_ -= n * each; }
  template<class T>
  constexpr T* take(extent n) {
    hold(n, extent{sizeof(T)});
    return nullptr;
  }
  template<class T>
  constexpr void give(T*, extent n) {
    release(nullptr, n, extent{sizeof(T)});
  }
  template<class T, class... A>
  constexpr T* create(A&&... arguments) {
    return new T{std::forward<A>(arguments)...};
  }
  template<class T>
  constexpr void destroy(T* p) {
    delete p;
  }
  template<Task K, class... A>
  constexpr void run(K const& task, typename K::steps_type const& steps, A const&...) {
    add(task.work(steps));
    if constexpr (NeedsScratch<K>) give(take<typename K::scratch_type>(K::scratch(steps)), K::scratch(steps));
  }
  template<class T>
  constexpr void fill(extent n, T, T*) {
    add(work_of::fill<T>(n));
  }
  template<class T>
  constexpr void copy(extent n, T const*, T*) {
    add(work_of::copy<T>(n));
  }
  template<class T>
  constexpr void move(reshard_move const& move, T const*, T*) {
    if (move.kind == transfer_kind::slice) return;
    extent const n = scratch_of(move, element_of<T>);
    give(take<T>(n), n);
    note(collective_of(move), element_of<T>, move.send, move.over);
  }
  template<class T>
  constexpr void unslice(reshard_move const&, T const*, T*) {}
  /// The calls that it consists of, and their scratch memory, are found by whoever knows the mesh.
  template<class T>
  constexpr void all_reduce(reduction, T*, extent n, axis_set over) {
    note(collective::all_reduce, element_of<T>, n, over);
  }
  template<class T>
  constexpr void exchange_with_neighbours(T const*, T*, extent n, axis_list const& over, extent, bool) {
    note(collective::neighbours, element_of<T>, n, over.set());
  }
  template<class T>
  constexpr void all_gather(T*, extent part) {
    note(collective::all_gather, element_of<T>, part);
  }
  template<class T>
  constexpr void permute(extent n) {
    note(collective::permute, element_of<T>, n);
  }

private:
  constexpr void add(work const& w) {
    does_.flops += w.flops;
    does_.elementwise += w.elementwise;
    does_.bytes += w.bytes;
  }
  constexpr void note(collective kind, element type, extent count, axis_set over = 0) {
    static_assert(max_messages == 8);  // as the message says
    if (count_ == max_messages) throw "meshtf: an operation sends more messages than its account holds (8)";
    messages_[count_++] = {kind, type, count, over, live_};
  }

  std::span<extent const> axes_;
  work does_{};
  small_array<message, max_messages> messages_{};
  int count_   = 0;
  extent live_ = 0;
  extent peak_ = 0;
};

}  // namespace v0
}  // namespace meshtf
