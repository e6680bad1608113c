// Buckets: an optimizer sends gradients and weights of many parameters in few messages.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <meshtf/core/function.hpp>
#include <meshtf/optim/gradient_sums.hpp>
#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/plan/bucket_plan.hpp>
#include <meshtf/plan/shard_plan.hpp>
#include <meshtf/tensor/counted.hpp>
#include <meshtf/tensor/operation.hpp>
#include <meshtf/tensor/parameter.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Makes the padding of a gradient zero, so that passes over the whole array (a norm, a part of it that
/// another process updates) may read it.
template<class T, class L, class... D>
constexpr void clear_gradient_padding(parameter<T, L, D...>& w) {
  if constexpr (is_uneven<L, shape<D...>>) {
    // what is not counted now is no padding: earlier passes may have counted it
    all_counted const all{w.machine()};
    w.machine().run(task::clear_padding<T>{}, shard_plan<actual<L>, shape<D...>>, w.slot().sum->data());
  }
}

/// Sends what the parameters of a list have to send. An array that `is_packed` waits for others; arrays that
/// `plan_buckets` puts together are packed into one buffer, sent by one collective and unpacked. A long array
/// is sent at once, without a copy.
///
/// The compiler and a process do the same. Element types, shapes and layouts may be mixed. Only the buffers
/// count as memory; the
/// list of waiting arrays is in the machine's pool.
template<class Machine>
class buckets {
public:
  template<class T>
  using handle_of = shared<storage<T, Machine>, Machine>;

  /// `max_entries`: the most arrays between two calls of `send`.
  constexpr buckets(Machine& m, std::size_t max_entries, element sums_travel_as = element::float32)
      : machine_(m),
        sums_(m, sums_travel_as),
        max_entries_(max_entries),
        waiting_(m.template create_array<entry>(max_entries)) {}
  buckets(buckets const&)        = delete;
  void operator=(buckets const&) = delete;
  constexpr ~buckets() { machine_.destroy_array(waiting_, max_entries_); }

  /// Adds up the n elements of the gradient in `s` over its unreduced axes, by an all-reduce. Returns whether
  /// the gradient is long and thus finished; if not, it is finished after `send`. Either way the slot needs
  /// no reduction from now on, so a parameter that is listed twice is sent once.
  template<class T>
  constexpr bool sum(slot<T, Machine>& s, extent n) {
    static_assert(!NarrowElement<T>,
                  "meshtf: small updates get lost in bfloat16: keep float parameters, and compute with "
                  "cast<bfloat16>(w)");
    axis_set const unreduced = s.unreduced;
    s.unreduced              = 0;
    bool const is_long       = !is_packed(n * extent{sizeof(T)});
    if (unreduced == 0) return is_long;
    if (is_long) finish_gradient(s, unreduced);
    else
      wait<T>({.kind = collective::all_reduce, .over = unreduced, .unreduced = unreduced}, {.size = n},
              &send_sums<T>)
          .where = &s;
    return is_long;
  }

  /// Leaves this process's part of the finished gradient in `s`, by a reduce-scatter, or by a copy where
  /// nothing is left to reduce. Returns whether the gradient is long and thus finished.
  template<class T>
  constexpr bool scatter(slot<T, Machine>& s, replica_parts const& p) {
    axis_set const unreduced = was_scattered(s) ? 0 : s.unreduced;
    s.unreduced              = 0;
    bool const is_long       = !is_packed(p.padded_size() * extent{sizeof(T)});
    if (unreduced == 0 || is_long) s.sum = scattered<T>(machine_, p, s.sum, unreduced, sums_);
    else
      wait<T>({.kind = collective::reduce_scatter, .over = p.over, .unreduced = unreduced}, p,
              &send_scatters<T>)
          .where = &s;
    return is_long;
  }

  /// `update(part)` changes this process's part of `shard` at once. All replicas get all parts at once, or
  /// after `send`.
  template<class T, class Update>
  constexpr void gather(T* shard, replica_parts const& p, Update const& update) {
    if (p.count == 1) return update(shard);
    if (!is_packed(p.padded_size() * extent{sizeof(T)})) return update_parts(machine_, p, shard, update);
    auto& c = wait<T>({.kind = collective::all_gather, .over = p.over}, p, &send_gathers<T>);
    c.shard = shard;
    c.part  = handle_of<T>::make(machine_, machine_, p.part());
    take_part(machine_, p, static_cast<T const*>(shard), c.part->data());
    update(c.part->data());
  }

  /// look(part): this process's part of `shard`, with zeros where it reaches beyond the end.
  template<class T, class Look>
  constexpr void show(T const* shard, replica_parts const& p, Look const& look) {
    if (p.count == 1) return look(shard);
    if (!p.is_padded()) return look(array_at<Machine>(shard, p.first(machine_.rank_along(p.over))));
    auto const part = handle_of<T>::make(machine_, machine_, p.part());
    take_part(machine_, p, shard, part->data());
    look(static_cast<T const*>(part->data()));
  }

  /// Sends the arrays that wait.
  constexpr void send() {
    plan_buckets(std::span{waiting_, count_});
    for (std::size_t i = 0; i < count_; ++i)
      if (waiting_[i].leads) waiting_[i].send(*this, static_cast<int>(i));
    for (; count_ > 0; --count_) waiting_[count_ - 1] = {};
  }

private:
  template<class T>
  struct content {
    slot<T, Machine>* where = nullptr;  // the slot of a gradient
    T* shard                = nullptr;  // the shard of weights
    handle_of<T> part{};                // this process's new weights
  };
  /// A function pointer, as on the tape: the two compilers do not both support `void*` and virtual functions
  /// in constant evaluation.
  struct entry : bucket_member {
    replica_parts parts{};
    void (*send)(buckets&, int first) = nullptr;
    content<float> of_float{};
    content<double> of_double{};

    /// What waits, of this element type.
    template<class T>
    constexpr content<T>& contents() {
      if constexpr (std::is_same_v<T, float>) return of_float;
      else return of_double;
    }
  };

  template<class T>
  constexpr content<T>& wait(bucket_member member, replica_parts const& parts,
                             void (*sender)(buckets&, int)) {
    entry& e                       = waiting_[count_++];
    member.type                    = element_of<T>;
    member.bytes                   = parts.padded_size() * extent{sizeof(T)};
    static_cast<bucket_member&>(e) = member;
    e.parts                        = parts;
    e.send                         = sender;
    return e.template contents<T>();
  }

  constexpr entry& at(int i) { return waiting_[static_cast<std::size_t>(i)]; }

  /// f(parts, content, start) for each member of a message; `start` counts the elements of one process's part
  /// before it.
  template<class T, class F>
  constexpr extent for_each(int first, F const& f) {
    extent start = 0;
    for (int i = first; i >= 0; i = at(i).next) {
      f(static_cast<replica_parts const&>(at(i).parts), at(i).template contents<T>(), start);
      start += at(i).parts.part();
    }
    return start;
  }
  template<class T>
  constexpr extent size_of(int first) {
    return for_each<T>(first, [](auto const&, auto&, extent) {});
  }

  /// Makes `sum` a handle that nobody else reads, for n elements that will be overwritten.
  template<class T>
  constexpr void become_own(handle_of<T>& sum, extent n) {
    if (!sum.alone()) sum = handle_of<T>::make(machine_, machine_, n);
  }

  /// Whether `early_sums` has added up this process's part of the gradient.
  template<class T>
  constexpr bool was_scattered(slot<T, Machine> const& s) {
    for (early_sums_hook* h = machine_.early_sums(); h != nullptr; h = h->next)
      if (h->takes_part(h, &s)) return true;
    return false;
  }

  template<class T>
  constexpr void finish_gradient(slot<T, Machine>& s, axis_set over) {
    if constexpr (std::is_same_v<T, float>)
      if (sums_.template rounds<T>()) return finish_rounded(s, over);
    shard<T, Machine> whole{machine_, std::move(s.sum)};
    finish_in_place(whole, over);
    s.sum = whole.release();
  }

  constexpr void finish_rounded(slot<float, Machine>& s, axis_set over) {
    extent const n           = s.sum->size();
    float const* const terms = s.sum->data();
    if (s.sum.alone()) return sums_.all_reduce_rounded(machine_, terms, n, s.sum->data(), over);
    auto own = handle_of<float>::make(machine_, machine_, n);  // others read the terms
    sums_.all_reduce_rounded(machine_, terms, n, own->data(), over);
    s.sum = std::move(own);
  }

  // A buffer of sums holds the arrays one after the other.

  template<class T>
  constexpr void all_reduce(T* packed, extent n, axis_set over) {
    if constexpr (std::is_same_v<T, float>)
      if (sums_.template rounds<T>())
        return sums_.all_reduce_rounded(machine_, static_cast<float const*>(packed), n, packed, over);
    machine_.all_reduce(reduction::sum, packed, n, over);
  }
  template<class T>
  static constexpr void send_sums(buckets& b, int first) {
    Machine& m          = b.machine_;
    axis_set const over = b.at(first).over;
    if (b.at(first).next < 0) return b.finish_gradient(*b.at(first).template contents<T>().where, over);
    extent const n    = b.size_of<T>(first);
    auto const packed = handle_of<T>::make(m, m, n);
    b.for_each<T>(first, [&](replica_parts const& p, content<T>& c, extent start) {
      m.copy(p.size, static_cast<T const*>(c.where->sum->data()), array_at<Machine>(packed->data(), start));
    });
    b.all_reduce(packed->data(), n, over);
    b.for_each<T>(first, [&](replica_parts const& p, content<T>& c, extent start) {
      b.become_own<T>(c.where->sum, p.size);
      m.copy(p.size, static_cast<T const*>(array_at<Machine>(packed->data(), start)), c.where->sum->data());
    });
  }

  // A buffer of parts has one row for each process, with that process's parts of all arrays: the result of a
  // reduce-scatter, or the input of an all-gather, is a row.

  /// All parts but the last lie in a shard as they do in a row. The last part may end with zeros, or be all
  /// zeros.
  template<class T>
  constexpr void copy_parts(replica_parts const& p, T const* from, extent from_row, T* to, extent to_row) {
    extent const part = p.part();
    extent const rows = p.size / part;
    nest_steps nest{.rank = 2, .operands = 2};
    nest.size[0]      = rows;
    nest.size[1]      = part;
    nest.stride[0][0] = from_row;
    nest.stride[1][0] = to_row;
    nest.stride[0][1] = nest.stride[1][1] = 1;
    run_map(machine_, collapsed(nest), function::identity{}, to, from);
    if (extent const rest = p.size - rows * part; rest > 0)
      machine_.copy(rest, array_at<Machine>(from, rows * from_row), array_at<Machine>(to, rows * to_row));
  }

  template<class T>
  static constexpr void send_scatters(buckets& b, int first) {
    Machine& m           = b.machine_;
    axis_set const over  = b.at(first).over;
    axis_set const whole = over & ~b.at(first).unreduced;
    extent const count   = b.at(first).parts.count;
    extent const row     = b.size_of<T>(first);
    extent const mine    = m.rank_along(over) * row;
    auto const packed    = handle_of<T>::make(m, m, row * count);
    bool padded          = false;
    b.for_each<T>(
        first, [&padded](replica_parts const& p, content<T>&, extent) { padded = padded || p.is_padded(); });
    if (padded) m.fill(row * count, T{}, packed->data());
    b.for_each<T>(first, [&](replica_parts const& p, content<T>& c, extent start) {
      b.copy_parts<T>(p, c.where->sum->data(), p.part(), array_at<Machine>(packed->data(), start), row);
      c.where->sum = {};
    });
    if (whole != 0)
      m.add_up(row * count, m.counts(whole), false, static_cast<T const*>(packed->data()),
               static_cast<T const*>(packed->data()), packed->data());
    b.sums_.reduce_scatter(m, static_cast<T const*>(packed->data()), row,
                           array_at<Machine>(packed->data(), mine), over);
    b.for_each<T>(first, [&](replica_parts const& p, content<T>& c, extent start) {
      c.where->sum = handle_of<T>::make(m, m, p.part());
      m.copy(p.part(), static_cast<T const*>(array_at<Machine>(packed->data(), mine + start)),
             c.where->sum->data());
    });
  }

  template<class T>
  static constexpr void send_gathers(buckets& b, int first) {
    Machine& m          = b.machine_;
    axis_set const over = b.at(first).over;
    extent const count  = b.at(first).parts.count;
    extent const row    = b.size_of<T>(first);
    extent const mine   = m.rank_along(over) * row;
    auto const packed   = handle_of<T>::make(m, m, row * count);
    b.for_each<T>(first, [&](replica_parts const& p, content<T>& c, extent start) {
      m.copy(p.part(), static_cast<T const*>(c.part->data()),
             array_at<Machine>(packed->data(), mine + start));
      c.part = {};
    });
    m.all_gather(packed->data(), row, over);
    b.for_each<T>(first, [&](replica_parts const& p, content<T>& c, extent start) {
      b.copy_parts<T>(p, array_at<Machine>(static_cast<T const*>(packed->data()), start), row, c.shard,
                      p.part());
    });
  }

  Machine& machine_;
  gradient_sums sums_;
  std::size_t max_entries_;
  entry* waiting_;
  std::size_t count_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
