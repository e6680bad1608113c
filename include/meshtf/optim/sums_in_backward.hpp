// The work of early_sums: which gradients share a message, when it begins, and what it leaves.
#pragma once

#include <cstddef>
#include <exception>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/core/function.hpp>
#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/plan/bucket_plan.hpp>
#include <meshtf/plan/nest.hpp>
#include <meshtf/tensor/counted.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {

/// When the sums of `early_sums` are waited for: where the backward pass ends, or each where it begins, with
/// the same bits and nothing overlapped, to measure what overlapping gains.
enum class wait_for_sums { at_the_end, at_once };

namespace detail {

/// The parameters of an `early_sums`, their buckets, and the sums that have begun.
template<class Machine>
class sums_in_backward : public early_sums_hook {
public:
  template<class List>
  constexpr sums_in_backward(List const& list, Machine& m, bool scatters, wait_for_sums wait,
                             std::source_location at)
      : early_sums_hook{&look, &finish, &drop, &takes_part, nullptr},
        machine_(m),
        wait_(wait),
        site_(at),
        max_entries_(count_in(list)),
        entries_(m.template create_array<entry>(max_entries_)),
        messages_(m.template create_array<message>(max_entries_)) {
    list.for_each([&, this](auto& w) { this->add(w, scatters); });
    plan_buckets(std::span{entries_, count_});
    next = detail::exchange(m.early_sums(), this);
  }
  sums_in_backward(sums_in_backward const&) = delete;
  void operator=(sums_in_backward const&)   = delete;
  constexpr ~sums_in_backward() {
    early_sums_hook** link = &machine_.early_sums();
    while (*link != this) link = &(*link)->next;
    *link = next;
    if constexpr (Machine::computes)
      // a failing process must not wait: the others may have failed elsewhere, and MPI still writes there
      if (message_count_ > 0 && std::uncaught_exceptions() > 0) return;
    discard_messages();
    machine_.destroy_array(messages_, max_entries_);
    machine_.destroy_array(entries_, max_entries_);
  }

private:
  template<class T>
  using handle_of = shared<storage<T, Machine>, Machine>;
  template<class T>
  using slot_of = shared<slot<T, Machine>, Machine>;

  /// A parameter.
  struct entry : bucket_member {
    slot_of<float> of_float{};
    slot_of<double> of_double{};
    handle_of<float> float_part{};  // see `part`
    handle_of<double> double_part{};
    extent n       = 0;
    extent part_n  = 0;   // of a reduce-scatter: the elements of a process's part
    int in_message = -1;  // the next in its message, or -1
    int first_used = -1;  // of a bucket: the first member that was not ready when it was last looked at
    bool has_begun = false;

    template<class T>
    constexpr slot_of<T>& slot() {
      if constexpr (std::is_same_v<T, float>) return of_float;
      else return of_double;
    }
    /// The content of the slot, if this process's part of it is the sum, and the rest zeros.
    template<class T>
    constexpr handle_of<T>& part() {
      if constexpr (std::is_same_v<T, float>) return float_part;
      else return double_part;
    }
    constexpr bool scatters() const { return kind == collective::reduce_scatter; }
  };
  template<class T>
  struct arrays {
    handle_of<T> sum{};
    handle_of<T> received{};
  };
  struct message {
    int first                                   = -1;
    extent n                                    = 0;
    bool (*advance)(Machine&, message&)         = nullptr;
    void (*finish)(sums_in_backward&, message&) = nullptr;
    void (*discard)(Machine&, message&)         = nullptr;
    typename Machine::sum_in_flight in_flight{};
    arrays<float> of_float{};
    arrays<double> of_double{};

    template<class T>
    constexpr arrays<T>& data() {
      if constexpr (std::is_same_v<T, float>) return of_float;
      else return of_double;
    }
  };

  template<class T, class L, class... D>
  constexpr void add(parameter<T, L, D...> const& w, bool scatters) {
    constexpr axis_set over = replica_axes<L, shape<D...>>;
    if (over == 0 || w.handle()->is_absent()) return;
    replica_parts const parts = parts_of_replicas<L, shape<D...>>(scatters);
    if (parts.is_padded()) return;  // the step scatters it
    entry& e             = entries_[count_++];
    e.kind               = scatters ? collective::reduce_scatter : collective::all_reduce;
    e.part_n             = parts.part();
    e.type               = element_of<T>;
    e.over               = over;
    e.unreduced          = over;
    e.bytes              = w.size * extent{sizeof(T)};
    e.n                  = w.size;
    e.template slot<T>() = w.slot_handle();
  }
  // ---- called by the machine

  static constexpr void look(early_sums_hook* h) {
    auto& self = *static_cast<sums_in_backward*>(h);
    if (self.was_dropped_) self.discard_messages();
    for (std::size_t i = 0; i < self.count_; ++i)
      if (entry const& e = self.entries_[i]; e.leads && !e.has_begun && self.is_ready(static_cast<int>(i)))
        self.begin_bucket(static_cast<int>(i));
    for (std::size_t i = 0; i < self.message_count_; ++i)
      if (!self.messages_[i].advance(self.machine_, self.messages_[i])) break;
  }
  static constexpr void finish(early_sums_hook* h) {
    auto& self = *static_cast<sums_in_backward*>(h);
    if (self.was_dropped_) self.discard_messages();
    for (std::size_t i = 0; i < self.count_; ++i)
      if (entry const& e = self.entries_[i]; e.leads && !e.has_begun)
        self.begin_bucket(static_cast<int>(i));  // a member has no gradient
    if (self.message_count_ > 0) self.finish_messages();
    self.begin_again();
  }
  static constexpr bool takes_part(early_sums_hook* h, void const* slot) {
    auto& self = *static_cast<sums_in_backward*>(h);
    for (std::size_t i = 0; i < self.count_; ++i) {
      entry& e           = self.entries_[i];
      bool const is_part = e.scatters() && with_type(e, [&]<class T>() {
                             auto& of = *e.template slot<T>();
                             if (static_cast<void const*>(&of) != slot || !e.template part<T>()) return false;
                             handle_of<T> const part{std::move(e.template part<T>())};
                             return part.is(of.sum);
                           });
      if (is_part) return true;
    }
    return false;
  }
  static constexpr void drop(early_sums_hook* h) {
    auto& self        = *static_cast<sums_in_backward*>(h);
    self.was_dropped_ = true;
    self.begin_again();
  }
  constexpr void begin_again() {
    for (std::size_t i = 0; i < count_; ++i) {
      entries_[i].has_begun  = false;
      entries_[i].first_used = -1;
    }
  }

  // ---- buckets

  constexpr entry& at(int i) { return entries_[static_cast<std::size_t>(i)]; }

  /// f.operator()<T>() for the element type of an entry.
  template<class F>
  static constexpr decltype(auto) with_type(entry const& e, F const& f) {
    return e.type == element::float32 ? f.template operator()<float>() : f.template operator()<double>();
  }

  /// Whether the gradient is there and nothing on the tape has a handle to its slot: the parameter has one,
  /// and this object.
  constexpr bool is_complete(entry& e) {
    return with_type(e, [&]<class T>() {
      slot_of<T> const& slot = e.template slot<T>();
      return bool(slot->sum) && slot.handles() == 2;
    });
  }
  /// Whether all members of the bucket are complete. Those that were are not looked at again.
  constexpr bool is_ready(int first) {
    int& i = at(first).first_used;
    if (i < 0) i = first;
    while (is_complete(at(i))) {
      if (at(i).next < 0) return true;
      i = at(i).next;
    }
    return false;
  }

  /// The axes over which a complete gradient is still a sum. One that is whole along some axes is scattered
  /// by the step.
  constexpr axis_set unreduced(entry& e) {
    if (!is_complete(e)) return 0;
    axis_set const over = with_type(e, [&]<class T>() { return axis_set{e.template slot<T>()->unreduced}; });
    return e.scatters() && over != e.over ? axis_set{0} : over;
  }

  /// Members that are unreduced over the same axes share a message; those that are finished need none.
  constexpr void begin_bucket(int first) {
    at(first).has_begun = true;
    all_counted const all{machine_};
    machine_.begin_operation("early_sums", site_, true);
    for (int i = first; i >= 0; i = at(i).next)
      with_type(at(i), [&]<class T>() { at(i).template part<T>() = {}; });
    for (int i = first; i >= 0; i = at(i).next)
      if (axis_set const over = unreduced(at(i)); over != 0)
        with_type(at(i), [&]<class T>() { begin_message<T>(i, over); });
  }

  /// Takes the gradients of the bucket from entry `first` on that are unreduced over `over`.
  template<class T>
  constexpr void begin_message(int first, axis_set over) {
    message& s = messages_[message_count_++];
    s.first    = first;
    s.n        = 0;
    s.advance  = &advance<T>;
    s.finish   = &finish_message<T>;
    s.discard  = &discard<T>;
    int last   = -1;
    for (int i = first; i >= 0; i = at(i).next) {
      if (unreduced(at(i)) != over) continue;
      (last < 0 ? s.first : at(last).in_message) = i;
      last                                       = i;
      at(i).in_message                           = -1;
      s.n += at(i).n;
    }
    machine_.because(at(first).template slot<T>()->why);
    take_gradients<T>(s);
    auto& data    = s.template data<T>();
    data.received = handle_of<T>::make(
        machine_, machine_,
        received_in_sum(s.n, processes_along(axis_sizes<typename Machine::mesh_type>, over)));
    machine_.begin_sum(at(first).kind, data.sum->data(), s.n, data.received->data(), over, s.in_flight);
    if (wait_ == wait_for_sums::at_once)
      machine_.finish_sum(data.sum->data(), data.received->data(), s.in_flight);
  }

  /// One gradient that nobody else reads is summed where it lies; others are copied into one array.
  template<class T>
  constexpr void take_gradients(message& s) {
    auto& sum        = s.template data<T>().sum;
    auto& only       = *at(s.first).template slot<T>();
    bool const alone = at(s.first).in_message < 0 && only.sum.alone();
    if (alone) sum = std::move(only.sum);
    else sum = handle_of<T>::make(machine_, machine_, s.n);
    extent start = 0;
    for (int i = s.first; i >= 0; i = at(i).in_message) {
      entry& e   = at(i);
      auto& slot = *e.template slot<T>();
      if (!alone) {
        T const* const from = slot.sum->data();
        T* const to         = array_at<Machine>(sum->data(), start);
        if (e.scatters()) copy_to_rows(from, e, to, row_of(s));
        else machine_.copy(e.n, from, to);
      }
      slot.sum       = {};
      slot.unreduced = 0;
      start += e.scatters() ? e.part_n : e.n;
    }
  }

  // An array that is scattered has one row for each process, with that process's parts of all gradients.

  constexpr extent row_of(message const& s) {
    return s.n / processes_along(axis_sizes<typename Machine::mesh_type>, at(s.first).over);
  }
  template<class T>
  constexpr void copy_to_rows(T const* from, entry const& e, T* to, extent row) {
    nest_steps nest{.rank = 2, .operands = 2};
    nest.size[0]      = e.n / e.part_n;
    nest.size[1]      = e.part_n;
    nest.stride[0][0] = e.part_n;
    nest.stride[1][0] = row;
    nest.stride[0][1] = nest.stride[1][1] = 1;
    run_map(machine_, collapsed(nest), function::identity{}, to, from);
  }

  template<class T>
  static constexpr bool advance(Machine& m, message& s) {
    auto& data = s.template data<T>();
    return m.advance_sum(data.sum->data(), data.received->data(), s.in_flight);
  }

  constexpr void finish_messages() {
    all_counted const all{machine_};
    machine_.begin_operation("early_sums", site_, true);
    for (std::size_t i = 0; i < message_count_; ++i) messages_[i].finish(*this, messages_[i]);
    message_count_ = 0;
  }
  /// Waits for the sum, and gives the slots their finished gradients. One of which this process has a part
  /// is, with zeros elsewhere, still a sum over the processes: who does not ask `takes_part` adds it up.
  template<class T>
  static constexpr void finish_message(sums_in_backward& all, message& s) {
    Machine& m = all.machine_;
    auto& data = s.template data<T>();
    if (all.wait_ == wait_for_sums::at_the_end)
      m.finish_sum(data.sum->data(), data.received->data(), s.in_flight);
    data.received = {};
    if (all.at(s.first).scatters()) return all.template give_parts<T>(s);
    handle_of<T> sum{std::move(data.sum)};
    bool const only = all.at(s.first).in_message < 0;
    extent start    = 0;
    for (int i = s.first; i >= 0; i = all.at(i).in_message) {
      entry& e = all.at(i);
      if (only) all.template give<T>(e, std::move(sum));
      else {
        auto one = handle_of<T>::make(m, m, e.n);
        m.copy(e.n, static_cast<T const*>(array_at<Machine>(sum->data(), start)), one->data());
        all.template give<T>(e, std::move(one));
      }
      start += e.n;
    }
  }
  template<class T>
  constexpr void give(entry& e, handle_of<T> sum) {
    using array         = shard<T, Machine>;
    auto const to       = e.template slot<T>();
    bool const is_first = !to->sum;
    contribute(array{machine_, {}, to}, array{machine_, std::move(sum)}, e.scatters() ? e.over : 0);
    if (e.scatters() && is_first) e.template part<T>() = to->sum;
  }
  template<class T>
  constexpr void give_parts(message& s) {
    Machine& m        = machine_;
    auto const sum    = std::move(s.template data<T>().sum);
    extent const row  = row_of(s);
    extent const mine = m.rank_along(at(s.first).over);
    extent start      = 0;
    if (at(s.first).in_message < 0) {
      m.fill(mine * row, T{}, sum->data());
      m.fill(s.n - (mine + 1) * row, T{}, array_at<Machine>(sum->data(), (mine + 1) * row));
      return give<T>(at(s.first), sum);
    }
    for (int i = s.first; i >= 0; i = at(i).in_message) {
      entry& e = at(i);
      auto one = handle_of<T>::make(m, m, e.n);
      m.fill(e.n, T{}, one->data());
      m.copy(e.part_n, static_cast<T const*>(array_at<Machine>(sum->data(), mine * row + start)),
             array_at<Machine>(one->data(), mine * e.part_n));
      start += e.part_n;
      give<T>(e, std::move(one));
    }
  }

  template<class T>
  static constexpr void discard(Machine& m, message& s) {
    auto& data = s.template data<T>();
    m.finish_sum(data.sum->data(), data.received->data(), s.in_flight);
    data = {};
  }
  constexpr void discard_messages() {
    for (std::size_t i = 0; i < message_count_; ++i) messages_[i].discard(machine_, messages_[i]);
    message_count_ = 0;
    was_dropped_   = false;
  }

  Machine& machine_;
  wait_for_sums wait_;
  std::source_location site_;
  std::size_t max_entries_;
  entry* entries_;
  message* messages_;
  std::size_t count_         = 0;
  std::size_t message_count_ = 0;
  bool was_dropped_          = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
