// The weights of a block that are kept in parts and travel in one message: gathered together where the block
// begins, and their gradients reduce-scattered together where its backward pass ends.
#pragma once

#include <cstddef>

#include <meshtf/core/kept.hpp>
#include <meshtf/plan/packed_part.hpp>
#include <meshtf/tensor/conversion.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

inline constexpr collective_reason reason_to_pack{.words = "the weights of a block travel in one message",
                                                  .of_weights = true};

/// The blocks whose weights are gathered at present, the innermost first; a machine knows it. What it is of
/// is said by the elements in which weights are kept and used, so a lookup knows the type of an entry.
struct packed_weights {
  element kept_in{};
  element used_in{};
  packed_weights* around = nullptr;
};

/// One of them.
template<class T, class Machine>
struct packed_weight {
  shared<slot<T, Machine>, Machine> parameter{};
  shared<storage<T, Machine>, Machine> shard{};
  packed_part part{};
  bool used_again    = false;  // the backward pass needs its elements
  axis_set unreduced = 0;      // of its gradient after the reduce-scatter
  shared<storage<T, Machine>, Machine> gradient{};
};

/// An array for each weight of a block, for one message.
template<class T, class Machine>
class packed_arrays {
public:
  constexpr packed_arrays(Machine& m, std::size_t capacity)
      : machine_(m), capacity_(capacity), arrays_(m.template create_array<packed_array<T>>(capacity)) {}
  packed_arrays(packed_arrays const&)  = delete;
  void operator=(packed_arrays const&) = delete;
  constexpr ~packed_arrays() { machine_.destroy_array(arrays_, capacity_); }

  /// One more, after the others in a row.
  constexpr void add(T* elements, packed_part const& p) {
    arrays_[count_++] = {elements, p, row_};
    row_ += p.shard();
  }
  constexpr std::span<packed_array<T> const> all() const { return {arrays_, count_}; }
  constexpr extent row() const { return row_; }

private:
  Machine& machine_;
  std::size_t capacity_;
  packed_array<T>* arrays_;
  std::size_t count_ = 0;
  extent row_        = 0;
};

/// The weights of a block, and in its backward pass their gradients.
template<class T, class Machine>
class packed_gradients : public packed_weights {
public:
  using weight_type = packed_weight<T, Machine>;
  using handle      = shared<storage<T, Machine>, Machine>;

  constexpr packed_gradients(Machine& m, element used, std::size_t capacity)
      : packed_weights{element_of<T>, used},
        machine_(m),
        capacity_(capacity),
        weights_(m.template create_array<weight_type>(capacity)) {}
  packed_gradients(packed_gradients const&) = delete;
  void operator=(packed_gradients const&)   = delete;
  constexpr ~packed_gradients() {
    end_uses();
    machine_.destroy_array(weights_, capacity_);
  }

  constexpr Machine& machine() const { return machine_; }
  constexpr weight_type* begin() const { return weights_; }
  constexpr weight_type* end() const { return weights_ + count_; }

  template<class W>
  constexpr void add(W const& w, packed_part const& p) {
    weights_[count_++] = {.parameter = w.slot_handle(), .shard = w.handle(), .part = p};
  }
  constexpr weight_type* find(slot<T, Machine> const& parameter) const {
    for (weight_type& w : *this)
      if (&*w.parameter == &parameter) return &w;
    return nullptr;
  }

  /// From here on uses of the weights find it.
  constexpr void begin_uses(bool backward) {
    takes_gradients_          = backward;
    around                    = machine_.packed_weights();
    machine_.packed_weights() = this;
    in_use_                   = true;
  }
  constexpr void end_uses() {
    if (!in_use_) return;
    packed_weights** p = &machine_.packed_weights();
    while (*p != this) p = &(*p)->around;
    *p      = around;
    in_use_ = false;
  }

  /// Whether it sends a gradient of `w` that is reduce-scattered over `over`. A second gradient of one weight
  /// goes alone, so that the order of additions does not change.
  constexpr bool takes(weight_type const& w, axis_set over) const {
    return takes_gradients_ && !w.gradient && over == w.part.over;
  }
  /// The gradient then remains a sum over `unreduced`.
  constexpr void take(weight_type& w, handle gradient, axis_set unreduced) {
    w.gradient  = std::move(gradient);
    w.unreduced = unreduced;
    has_any_    = true;
  }

  /// Sends the gradients. Each process gets its parts.
  constexpr void send() {
    if (!has_any_) return;
    Machine& m = machine_;
    packed_arrays<T const, Machine> arrays{m, capacity_};
    for (weight_type const& w : *this)
      arrays.add(w.gradient ? static_cast<T const*>(w.gradient->data()) : nullptr, w.part);
    handle const sum = handle::make(m, m, arrays.row());
    m.because(&reason_to_pack);
    m.reduce_scatter_rows(arrays.all(), arrays.row(), sum->data(), weights_[0].part.over);
    extent offset = 0;
    for (weight_type& w : *this) {
      if (w.gradient) {
        w.gradient  = {};
        handle part = handle::make(m, m, w.part.shard());
        m.copy(w.part.shard(), static_cast<T const*>(array_at<Machine>(sum->data(), offset)), part->data());
        contribute(shard<T, Machine>{m, {}, w.parameter}, shard<T, Machine>{m, std::move(part)}, w.unreduced);
      }
      offset += w.part.shard();
    }
    has_any_ = false;
  }

private:
  Machine& machine_;
  std::size_t capacity_;
  std::size_t count_ = 0;
  weight_type* weights_;
  bool in_use_          = false;
  bool takes_gradients_ = false;
  bool has_any_         = false;
};

/// The weights of a block that are used in elements `U`.
template<class T, class U, class Machine>
class packed_block : public packed_gradients<T, Machine> {
  using base = packed_gradients<T, Machine>;

public:
  using typename base::weight_type;
  using whole_type = shared<storage<U, Machine>, Machine>;

  constexpr packed_block(Machine& m, std::size_t capacity)
      : base(m, element_of<U>, capacity),
        capacity_(capacity),
        whole_(m.template create_array<whole_type>(capacity)) {}
  constexpr ~packed_block() { this->machine().destroy_array(whole_, capacity_); }

  /// Gathers all weights, or those that the backward pass needs again.
  constexpr void gather(bool backward) {
    Machine& m = this->machine();
    packed_arrays<U, Machine> arrays{m, capacity_};
    for (weight_type const& w : *this) {
      if (backward && !w.used_again) continue;
      whole_type& whole = whole_of(w);
      whole             = whole_type::make(m, m, w.part.outer * w.part.size * w.part.inner);
      arrays.add(whole->data(), w.part);
    }
    if (arrays.row() > 0) {
      whole_type const own = whole_type::make(m, m, arrays.row());
      extent offset        = 0;
      for (weight_type const& w : *this) {
        if (!whole_of(w)) continue;
        copy_converted(w, array_at<Machine>(own->data(), offset));
        offset += w.part.shard();
      }
      m.because(&reason_to_pack);
      m.gather_rows(arrays.all(), static_cast<U const*>(own->data()), arrays.row(), this->begin()->part.over);
    }
    this->begin_uses(backward);
  }
  constexpr void drop() {
    this->end_uses();
    for (weight_type const& w : *this) whole_of(w) = {};
  }

  /// The whole of a weight, if it is gathered.
  constexpr whole_type& whole_of(weight_type const& w) const { return whole_[&w - this->begin()]; }
  /// The same for a use. What is computed without a tape will be computed again.
  template<class Result>
  constexpr Result used(weight_type& w) const {
    if (!this->machine().keeps_tape()) w.used_again = true;
    return Result{this->machine(), whole_of(w)};
  }

private:
  constexpr void copy_converted(weight_type const& w, U* to) const {
    Machine& m     = this->machine();
    extent const n = w.part.shard();
    T const* from  = w.shard->data();
    if constexpr (std::is_same_v<T, U>) {
      m.copy(n, from, to);
    } else {
      nest_steps nest{.rank = 1, .operands = 2};
      nest.size[0]      = n;
      nest.stride[0][0] = nest.stride[1][0] = 1;
      run_map(m, collapsed(nest), conversion<U, T>{}, to, from);
    }
  }

  std::size_t capacity_;
  whole_type* whole_;
};

/// A weight among those that are gathered at present.
template<class Block, class Weight>
struct found_weight {
  Block* block   = nullptr;
  Weight* weight = nullptr;
  constexpr explicit operator bool() const { return weight != nullptr; }
};

/// The parameter `x` among the weights that are gathered as elements `U`.
template<class U, class T, class Machine>
constexpr auto find_packed(shard<T, Machine> const& x) {
  using block = packed_block<T, U, Machine>;
  found_weight<block, typename block::weight_type> found;
  if (!x.needs_gradient()) return found;
  for (packed_weights* p = x.machine().packed_weights(); p != nullptr && !found; p = p->around)
    if (p->kept_in == element_of<T> && p->used_in == element_of<U>) {
      found.block  = static_cast<block*>(p);
      found.weight = found.block->find(x.slot());
      if (found && !found.block->whole_of(*found.weight)) found.weight = nullptr;
    }
  return found;
}

/// Contributes `dz`, the gradient of the whole of x, with those of its block; false if it goes alone.
template<class T, class L, class... D, class Z>
constexpr bool contribute_packed(tensor<T, L, D...> const& x, Z const& dz, axis_set unreduced) {
  using block              = packed_gradients<T, typename tensor<T, L, D...>::machine_type>;
  constexpr axis_set split = split_over<L, shape<D...>>;
  for (packed_weights* p = x.machine().packed_weights(); p != nullptr; p = p->around) {
    if (p->kept_in != element_of<T>) continue;
    block& b      = *static_cast<block*>(p);
    auto* const w = b.find(x.slot());
    if (w == nullptr || !b.takes(*w, unreduced & split)) continue;
    b.take(*w, dz.handle(), unreduced & ~split);
    return true;
  }
  return false;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
