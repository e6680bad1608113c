// Counted handles to what lives on a machine, alike in a process and in constant evaluation.
#pragma once

#include <type_traits>

#include <meshtf/price/machine.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A reference count that works in constant evaluation (`std::shared_ptr` is not constexpr) and takes its
/// cell from the machine's pool.
template<class T, class Machine>
class shared {
public:
  constexpr shared() = default;

  template<class... A>
  static constexpr shared make(Machine& m, A&&... arguments) {
    shared s;
    s.cell_ = m.template create<cell>(&m, 1, T{static_cast<A&&>(arguments)...});
    return s;
  }

  constexpr shared(shared const& other) : cell_(other.cell_) {
    if (cell_ != nullptr) ++cell_->handles;
  }
  constexpr shared(shared&& other) noexcept : cell_(other.cell_) { other.cell_ = nullptr; }
  constexpr shared& operator=(shared const& other) {
    if (other.cell_ != nullptr) ++other.cell_->handles;
    drop();
    cell_ = other.cell_;
    return *this;
  }
  constexpr shared& operator=(shared&& other) noexcept {
    if (this != &other) {
      drop();
      cell_       = other.cell_;
      other.cell_ = nullptr;
    }
    return *this;
  }
  /// As `drop`, without a call: dry runs end tens of thousands of handles.
  constexpr ~shared() {
    if (cell_ != nullptr && --cell_->handles == 0) end(cell_);
  }

  constexpr explicit operator bool() const { return cell_ != nullptr; }
  constexpr T* operator->() const { return &cell_->value; }
  constexpr T& operator*() const { return cell_->value; }
  /// Whether this is the only handle, so nobody else reads or writes the value.
  constexpr bool alone() const { return cell_->handles == 1; }
  constexpr int handles() const { return cell_->handles; }
  constexpr bool is(shared const& other) const { return cell_ == other.cell_; }

private:
  struct cell {
    Machine* machine;
    int handles;
    T value;
  };

  constexpr void drop() {
    if (cell_ != nullptr && --cell_->handles == 0) end(cell_);
    cell_ = nullptr;
  }
  /// A function of its own: handles are dropped in hundreds of places of a program, and would all free memory
  /// there.
  [[gnu::noinline]] static constexpr void end(cell* last) { last->machine->destroy(last); }

  cell* cell_ = nullptr;
};

/// Where the elements of a shard are. `absent`: with the processes of another stage of the pipeline.
/// `leaving`: in memory, while they are written to the file of the machine; `away`: in the file alone;
/// `returning`: they are being read.
enum class storage_state : unsigned char { present, absent, leaving, away, returning };

/// What a storage knows apart from the type of its elements, so that a program has it once. `each`: the bytes
/// of an element.
template<class Machine>
class untyped_storage {
public:
  using size_type = typename sizes_on<Machine>::type;

  constexpr untyped_storage(Machine& m, size_type size, extent each)
      : machine_(&m),
        size_(size),
        state_(m.idles() ? storage_state::absent : storage_state::present),
        stage_(m.stage()),
        counted_(m.counted_number()) {
    if constexpr (listed) m.hold(allocated(), each, ticket_);
    else memory_ = m.hold(allocated(), each);
  }
  constexpr untyped_storage(untyped_storage&& other) noexcept
      : machine_(other.machine_),
        size_(other.size_),
        state_(other.state_),
        noted_(other.noted_),
        stage_(other.stage_),
        ticket_(other.ticket_),
        memory_(other.memory_),
        version_(other.version_),
        counted_(other.counted_),
        place_(other.place_) {
    other.machine_ = nullptr;
  }

  constexpr size_type size() const { return size_; }
  constexpr bool is_absent() const { return state_ == storage_state::absent; }
  /// The stage that was at work when it was made; -1: all were.
  constexpr int stage() const { return stage_; }
  /// How often the content was written after it was made.
  constexpr unsigned version() const { return version_; }
  /// The number of the machine's counts under which the content was made: elements beyond these counts have
  /// no value.
  constexpr unsigned counted() const { return counted_; }
  /// From here on the content is what was written under the present counts, or, if it is `complete`, under
  /// any.
  constexpr void count_again(bool complete = false) { counted_ = complete ? 0 : machine_->counted_number(); }

  /// Copies `other`'s valid extent.
  constexpr void count_as(untyped_storage const& other) { counted_ = other.counted_; }

  /// Where a machine without a layout made `own` for some layouts only, `own` is an alias of this array under
  /// the others, and this array lives as long.
  constexpr void alias_as(untyped_storage& own) { machine_->alias(ticket_, own.ticket_, size_); }
  /// Whether another array can be an alias of this one where a condition does not hold.
  template<class Condition>
  constexpr bool can_alias_unless(Condition const& c) const {
    return machine_->can_alias(ticket_, size_, c);
  }

  // ---- a file in place of memory
  static constexpr bool spillable = can_spill<Machine>;

  /// Whether a scope spills it.
  constexpr bool is_noted() const { return noted_; }
  constexpr void note(bool yes) { noted_ = yes; }

  /// Does nothing where there is nothing to do.
  constexpr void act(spilled_array::move m, extent each) {
    switch (m) {
      case spilled_array::move::leave: return begin_to_leave(each);
      case spilled_array::move::be_gone: return be_gone(each);
      case spilled_array::move::begin_return: return begin_to_return(each);
      case spilled_array::move::be_back: return come_back(each);
      case spilled_array::move::drop: return note(false);
    }
  }
  /// The same of an array that is never changed without `written`: what the file has already is not written
  /// again, and is gone at once.
  constexpr void act_if_changed(spilled_array::move m, extent each) {
    bool const is_in_file = place_ != nullptr && place_->is_current && place_->version == version_;
    if (m != spilled_array::move::leave || !is_in_file) return act(m, each);
    if (state_ != storage_state::present) return;
    state_ = storage_state::leaving;
    be_gone(each);
  }

protected:
  constexpr void end(extent each) {
    if (machine_ == nullptr) return;
    if constexpr (spillable) {
      if (place_ != nullptr) [[unlikely]]
        leave_file();
      if (state_ == storage_state::away) {
        if constexpr (is_told_who_leaves<Machine>) machine_->die_away(size_, each, ticket_);
        return;
      }
    }
    give_memory(each);
  }
  constexpr void* memory() const { return memory_; }
  constexpr bool must_come_back() const { return state_ >= storage_state::away; }
  [[gnu::noinline]] constexpr void come_back(extent each) {
    begin_to_return(each);
    if (state_ == storage_state::returning) machine_->wait_for(*place_);
    else if (state_ == storage_state::leaving) recall();
    else return;
    state_ = storage_state::present;
  }
  constexpr void count_write(extent each) {
    ++version_;
    if constexpr (spillable)
      if (state_ == storage_state::leaving) [[unlikely]]  // the file has what it was before
        come_back(each);
  }

private:
  using ticket                 = typename ticket_on<Machine>::type;
  static constexpr bool listed = !std::is_same_v<ticket, no_ticket>;

  constexpr void begin_to_leave(extent each) {
    if (state_ != storage_state::present || size_ == 0) return;
    if (place_ == nullptr) place_ = machine_->template create<file_place>();
    machine_->write_out(memory_, size_ * each, *place_);
    place_->is_current = true;
    place_->version    = version_;
    state_             = storage_state::leaving;
  }
  constexpr void be_gone(extent each) {
    if (state_ != storage_state::leaving) return;
    machine_->wait_for(*place_);
    if constexpr (is_told_who_leaves<Machine>) machine_->leave(size_, each, ticket_);
    else give_memory(each);
    memory_ = nullptr;
    state_  = storage_state::away;
  }
  constexpr void begin_to_return(extent each) {
    if (state_ != storage_state::away) return;
    if constexpr (listed) machine_->hold_again(size_, each, ticket_);
    else memory_ = machine_->hold(size_, each);
    state_ = storage_state::returning;
    machine_->read_back(memory_, size_ * each, *place_);
  }
  constexpr void give_memory(extent each) {
    if constexpr (listed) machine_->release(allocated(), each, ticket_);
    else machine_->release(memory_, allocated(), each);
  }
  [[gnu::noinline]] constexpr void leave_file() {
    machine_->forget(*place_);
    machine_->destroy(place_);
  }
  constexpr void recall() {
    machine_->recall(*place_);
    place_->is_current = false;  // it may not have been written
  }
  constexpr size_type allocated() const { return is_absent() ? size_type{0} : size_; }

  Machine* machine_;
  size_type size_;
  storage_state state_;
  bool noted_ = false;
  int stage_;
  [[no_unique_address]] ticket ticket_{};
  void* memory_      = nullptr;
  unsigned version_  = 0;
  unsigned counted_  = 0;
  file_place* place_ = nullptr;  // once it has left for the first time
};

/// The elements of a shard, which live from the first handle to the last.
template<class T, class Machine>
class storage : public untyped_storage<Machine> {
  using base                   = untyped_storage<Machine>;
  static constexpr extent each = sizeof(T);

public:
  constexpr storage(Machine& m, typename base::size_type size) : base(m, size, each) {}
  constexpr storage(storage&&) noexcept = default;
  constexpr ~storage() { this->end(each); }

  /// The elements. Those in a file come back first, so who asks for them early waits, and that is all.
  constexpr T* data() const {
    if constexpr (base::spillable)
      if (this->must_come_back()) [[unlikely]]
        const_cast<storage*>(this)->come_back(each);
    if constexpr (Machine::computes) return static_cast<T*>(this->memory());
    else return nullptr;
  }
  constexpr void written() { this->count_write(each); }
};

/// The address `by` elements after `data`; a machine that only notes prices has no array to point into.
template<class Machine, class T>
constexpr T* array_at(T* data, typename sizes_on<Machine>::type offset) {
  if constexpr (Machine::computes) return data + offset;
  else return data;
}

/// A gradient while it is collected.
template<class T, class Machine>
struct slot {
  bool stays_unreduced = false;  // of a parameter: nobody finishes it before its owner asks
  bool consumed        = false;  // the tape of the value is used up: no gradient flows back from here
  bool of_blocks       = false;  // `reproducible` has added up the content over all blocks
  // the axes over which the content is still a sum of what the processes hold
  unsigned unreduced           = 0;
  collective_reason const* why = nullptr;  // ... and the reason for that sum
  shared<storage<T, Machine>, Machine> sum{};
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
