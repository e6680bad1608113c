// Sums over the blocks of a batch by a binary tree, which is the same for every number of processes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <meshtf/core/error.hpp>
#include <meshtf/core/exchange.hpp>
#include <meshtf/plan/batch_blocks.hpp>
#include <meshtf/plan/bucket_plan.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

[[noreturn]] inline void throw_gradient_of_some_blocks(std::size_t parameter) {
  throw software_error(
      "reproducible expects gradients of the same parameters from each block, since processes exchange them, "
      "got one of parameter " +
      std::to_string(parameter + 1) +
      " of the list from some blocks alone: let every block use it, times 0 where it must not count");
}

/// The sums of the gradients of a list, and of one number. A sum over 2^k neighbouring blocks is that over
/// the first half and that over the second, added up; so which numbers are added, and which sums of them,
/// does not depend on where the blocks are.
///
/// Blocks come in order, as the bits of a counter: a sum of 2^k blocks waits in row k for the next one of as
/// many. Row 0 also has the sums that came last.
template<class Machine>
class block_tree {
public:
  template<class T>
  using handle_of = shared<storage<T, Machine>, Machine>;

  /// `own`: the blocks of this process, a power of two. `gradients`: the most parameters.
  constexpr block_tree(Machine& m, extent own, std::size_t gradients)
      : machine_(m),
        own_(own),
        width_(gradients + 1),
        rows_(static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(own)))),
        terms_(m.template create_array<term>(rows_ * width_)) {}
  block_tree(block_tree const&)     = delete;
  void operator=(block_tree const&) = delete;
  constexpr ~block_tree() { machine_.destroy_array(terms_, rows_ * width_); }

  /// Takes the number and the gradients of the block that follows, out of their slots.
  template<class T, class List>
  constexpr void add_block(handle_of<T> const& number, List const& list) {
    std::size_t i = 0;
    list.for_each([this, &i]<class U, class L, class... D>(parameter<U, L, D...>& w) {
      static_assert(!NarrowElement<U>,
                    "meshtf: small updates get lost in bfloat16: keep float parameters, and compute with "
                    "cast<bfloat16>(w)");
      if constexpr (!NarrowElement<U>)
        if (w.slot().sum) this->set(i, std::move(w.slot().sum), w.size);
      ++i;
    });
    set(width_ - 1, number, 1);
    for (std::size_t row = 0; (blocks_ >> row & 1) != 0; ++row) add_row(row + 1);
    if (++blocks_ < own_)
      keep_row(static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(blocks_))) + 1);
  }

  /// Adds up the sums of the processes that have the other blocks, which are along `over`.
  constexpr void join_processes(axis_list const& over, extent parts) {
    if (parts == 1) return;
    for (std::size_t i = 0; i < width_; ++i) {
      term& t                        = terms_[i];
      static_cast<bucket_member&>(t) = {.kind = collective::permute, .type = t.type, .over = over.set()};
      t.bytes                        = t.n * bytes_of(t.type);
    }
    plan_buckets(std::span{terms_, width_});
    for (std::size_t i = 0; i < width_; ++i)
      if (terms_[i].leads && terms_[i].n > 0)
        with_type(terms_[i], [&]<class T>() { this->template join_message<T>(terms_[i], over, parts); });
  }

  /// Gives the gradients back to their slots. They are whole.
  template<class List>
  constexpr void give_gradients(List const& list) {
    std::size_t i = 0;
    list.for_each([this, &i]<class U, class L, class... D>(parameter<U, L, D...>& w) {
      if constexpr (!NarrowElement<U>)
        if (terms_[i].n > 0) {
          w.slot().sum       = std::move(terms_[i].template sum<U>());
          w.slot().of_blocks = true;
        }
      ++i;
    });
  }
  template<class T>
  constexpr handle_of<T> take_number() {
    return std::move(terms_[width_ - 1].template sum<T>());
  }

private:
  struct term : bucket_member {
    handle_of<float> of_float{};
    handle_of<double> of_double{};
    extent n = 0;  // 0: there is none

    template<class T>
    constexpr handle_of<T>& sum() {
      if constexpr (std::is_same_v<T, float>) return of_float;
      else return of_double;
    }
  };

  /// f.operator()<T>() for the element type of a term.
  template<class F>
  static constexpr void with_type(term const& t, F const& f) {
    if (t.type == element::float32) f.template operator()<float>();
    else f.template operator()<double>();
  }

  template<class T>
  constexpr void set(std::size_t i, handle_of<T> sum, extent n) {
    term& t             = terms_[i];
    t.type              = element_of<T>;
    t.n                 = n;
    t.template sum<T>() = std::move(sum);
  }

  constexpr term& at(std::size_t row, std::size_t i) { return terms_[row * width_ + i]; }

  /// Moves what came last into a row, which is empty.
  constexpr void keep_row(std::size_t row) {
    for (std::size_t i = 0; i < width_; ++i) at(row, i) = detail::exchange(terms_[i], {});
  }
  /// Adds what came last to the blocks before it, which are in a row.
  constexpr void add_row(std::size_t row) {
    for (std::size_t i = 0; i < width_; ++i) {
      term earlier = detail::exchange(at(row, i), {});
      term& last   = terms_[i];
      if (earlier.n != last.n) throw_gradient_of_some_blocks(i);
      if (last.n == 0) continue;
      with_type(last, [&]<class T>() {
        add(earlier.template sum<T>(), last.template sum<T>()->data(), last.n);
        last.template sum<T>() = std::move(earlier.template sum<T>());
      });
    }
  }

  /// sum += y, in place unless others read it.
  template<class T>
  constexpr void add(handle_of<T>& sum, T const* y, extent n) {
    handle_of<T> const x = sum;
    if (x.handles() > 2) sum = handle_of<T>::make(machine_, machine_, n);
    machine_.add_up(n, true, true, static_cast<T const*>(x->data()), y, sum->data());
  }

  /// Of two partners both add the same two sums, so both have the same bits.
  template<class T>
  constexpr void exchange(handle_of<T>& sum, extent n, axis_list const& over, extent parts) {
    auto const received = handle_of<T>::make(machine_, machine_, n);
    for (extent distance = 1; distance < parts; distance *= 2) {
      machine_.because(&reason_to_join_blocks);
      machine_.exchange_in_pairs(static_cast<T const*>(sum->data()), received->data(), n, over, distance);
      add(sum, static_cast<T const*>(received->data()), n);
    }
  }

  template<class T>
  constexpr void join_message(term& first, axis_list const& over, extent parts) {
    if (first.next < 0) return exchange(first.template sum<T>(), first.n, over, parts);
    extent n = 0;
    for_each<T>(first, [&n](handle_of<T>&, extent length) { n += length; });
    auto packed  = handle_of<T>::make(machine_, machine_, n);
    extent start = 0;
    for_each<T>(first, [&](handle_of<T>& sum, extent length) {
      machine_.copy(length, static_cast<T const*>(sum->data()), array_at<Machine>(packed->data(), start));
      start += length;
    });
    exchange(packed, n, over, parts);
    start = 0;
    for_each<T>(first, [&](handle_of<T>& sum, extent length) {
      if (!sum.alone()) sum = handle_of<T>::make(machine_, machine_, length);
      machine_.copy(length, static_cast<T const*>(array_at<Machine>(packed->data(), start)), sum->data());
      start += length;
    });
  }
  /// f(sum, n) for each member of a message.
  template<class T, class F>
  constexpr void for_each(term& first, F const& f) {
    for (term* t = &first;; t = &terms_[static_cast<std::size_t>(t->next)]) {
      if (t->n > 0) f(t->template sum<T>(), t->n);
      if (t->next < 0) return;
    }
  }

  Machine& machine_;
  extent own_;
  std::size_t width_;
  std::size_t rows_;
  term* terms_;
  extent blocks_ = 0;  // that came
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
