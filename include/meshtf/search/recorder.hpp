// The recorder: the machine of an undecided layout. It notes what a step asks for, in a form that can be
// priced under every layout.
#pragma once

#include <meshtf/core/exchange.hpp>
#include <meshtf/price/dry_run.hpp>
#include <meshtf/price/ledger.hpp>
#include <meshtf/search/record_times.hpp>
#include <meshtf/search/recorded_array.hpp>
#include <meshtf/search/recorded_calls.hpp>
#include <meshtf/search/undecided_buckets.hpp>
#include <meshtf/search/undecided_convolution.hpp>
#include <meshtf/search/undecided_lines.hpp>
#include <meshtf/search/undecided_moves.hpp>
#include <meshtf/search/undecided_plans.hpp>
#include <meshtf/search/undecided_shifts.hpp>
#include <meshtf/search/undecided_windows.hpp>

namespace meshtf {
inline namespace v0 {

template<Dimension... D>
class recorder;

namespace detail {

template<class... D>
struct machine_for<dry<undecided_layout<D...>>> : std::type_identity<recorder<D...>> {};
template<class... D>
struct sizes_on<recorder<D...>> : std::type_identity<undecided_size> {};
template<class... D>
inline constexpr bool can_spill<recorder<D...>> = true;
template<class... D>
inline constexpr bool is_told_who_leaves<recorder<D...>> = true;
template<class... D>
struct ticket_on<recorder<D...>> : std::type_identity<recorded_array> {};

}  // namespace detail

/// A machine without processes and without a layout. It has the members of `process_mesh` that operations
/// call. A program that asks for what it can't price does not compile: a reshard to a layout that the program
/// names, optimizers with `shard_state`.
template<Dimension... D>
class recorder : public machine_base<recorder<D...>, typename undecided_layout<D...>::mesh_type> {
public:
  static constexpr bool computes = false;
  using record_type              = step_record<D...>;

  constexpr recorder() = default;
  constexpr ~recorder() { this->unwind_tape(false); }

  /// Counts what the last of several micro-batches notes for all but the first, which alone are run:
  /// `accumulate` asks. This is the record of a step whose micro-batches do the same and send no gradients.
  constexpr void count_alike_batches() { counts_alike_ = true; }
  constexpr bool counts_alike_batches() const { return counts_alike_ && record_.send_count == 0; }
  constexpr auto times_noted() const { return record_times<record_type>{record_}; }
  /// What has been noted since `before` is noted `times` more times.
  constexpr void count_again(auto const& before, extent times) { before.count_again(record_, times); }

  constexpr record_type noted() {
    note_moment(-1);
    record_.parameters = parameters_;
    record_.optimizer  = optimizer_;
    return record_;
  }
  constexpr void start_over() {
    record_.call_count = record_.moment_count = record_.send_count = record_.round_count = 0;
    record_.spilled                                                                      = {};
    fuller_                                                                              = true;
  }

  template<MeshAxis A>
  constexpr extent coordinate() const {
    return 0;
  }
  constexpr extent rank_along(dim_set) const { return 0; }
  constexpr bool counts(dim_set) const { return true; }

  // ---- what depends on the layout alone
  template<class F, class G>
  constexpr void if_joined(dim_set over, F const& joined, G const& alone) {
    if_holds({over}, joined, alone);
  }
  /// The same for any condition.
  template<class F, class G>
  constexpr void if_holds(undecided_condition const& c, F const& yes, G const& no) {
    if (c.dims == 0) return no();
    if (now_if_.dims != 0) throw "meshtf: a record holds no condition within another one";
    now_if_ = c;
    yes();
    now_if_ = c.opposite();
    no();
    now_if_ = {};
  }
  /// Under layouts whose axes join processes over `over`, f() is done; its result is there only under these.
  template<class F>
  constexpr auto when_joined(dim_set over, F const& f) {
    return when({over}, f);
  }
  template<class F>
  constexpr auto when(undecided_condition const& c, F const& f) {
    if (now_if_.dims != 0) throw "meshtf: a record holds no condition within another one";
    now_if_     = c;
    auto result = f();
    now_if_     = {};
    return result;
  }
  /// Notes all that an operation does where the dimensions of the present condition are split, or if there is
  /// no condition, however they are: `P::ask(machine, loops, numbers)` asks for it on a `split_account`, when
  /// the number of parts is known.
  template<class P>
  constexpr void ask_in_parts(undecided_loops const& loops, small_array<extent, 2> const& numbers = {}) {
    note_with_scratch(
        {.in_parts = &detail::ask_in_parts<P>, .numbers = numbers, .loops = loops, .over = now_if_.dims});
  }
  constexpr void must_know(dim_set over) const {
    if (over != 0)
      throw "meshtf: a sum that is partial under some layouts only meets another one here: this program "
            "can't "
            "be recorded without a layout yet";
  }

  /// Notes what moves ask for under the present condition, between the arrays of the loops. What moves is a
  /// sum over `unreduced`, which it is no longer then, and over `riding`, which it remains.
  template<class P>
  constexpr void ask_to_move(undecided_loops const& loops, dim_set unreduced = 0, dim_set riding = 0) {
    note_with_scratch({.in_parts = &detail::ask_in_parts<P>,
                       .numbers  = {extent{unreduced}, extent{riding}},
                       .loops    = loops,
                       .n        = {1, unreduced | riding},
                       .over     = now_if_.dims});
  }
  // ---- what operations need of a layout: the layouts that don't keep it have no price
  template<class Need>
  constexpr void constrain(Need const& n) {
    record_.constrain(n);
  }
  /// The elements of these pairs move unless they are split alike.
  constexpr void move_between(dim_pairs const& pairs) { record_.move_between(pairs); }
  /// No axis splits one dimension of `a` and one of `b`.
  constexpr void keep_apart(dim_set a, dim_set b) { record_.keep_apart(a, b); }
  /// Those of these dimensions that no operation needs whole so far.
  constexpr dim_set may_be_split(dim_set dims) const { return dims & ~record_.whole; }

  // ---- memory
  constexpr void hold(undecided_size n, extent each, detail::recorded_array& a) {
    record_.keep_apart(n.dims);
    a.kind = record_.kind({n.dims, now_if_});
    count_bytes(n.whole * each, a.kind);
  }
  constexpr void release(undecided_size n, extent each, detail::recorded_array const& a) {
    extent const bytes = n.whole * each;
    count_bytes(-bytes, a.kind);
    if (a.alias == nullptr) return;
    auto& s = *a.alias;
    if (!a.is_copy) {
      s.alive = false;
      if (s.copies > 0) live_[s.kind] += bytes;  // no more than before under any layout, so this is no peak
    } else if (--s.copies == 0 && !s.alive) {
      count_bytes(-bytes, s.kind);
    }
    if (s.copies == 0 && !s.alive) delete a.alias;
  }
  /// Whether a copy can be an alias of `of` where `c` does not hold.
  constexpr bool can_alias(detail::recorded_array const& array, undecided_size n,
                           undecided_condition const& c) {
    return !array.is_copy &&
           (array.alias == nullptr || array.alias->kind == record_.kind({n.dims, c.opposite()}));
  }
  /// `of` was copied to `copy` under the layouts of the condition that has just been noted; now is the
  /// opposite one.
  constexpr void alias(detail::recorded_array& array, detail::recorded_array& copy, undecided_size n) {
    std::size_t const kind = record_.kind({n.dims, now_if_});
    if (array.alias == nullptr) array.alias = new detail::recorded_alias{kind};
    if (array.alias->kind != kind)
      throw "meshtf: one sum is finished over different axes: this program can't be recorded without a "
            "layout yet";
    ++array.alias->copies;
    copy.alias   = array.alias;
    copy.is_copy = true;
  }
  [[deprecated("use can_alias")]] constexpr bool may_serve(detail::recorded_array const& array,
                                                           undecided_size n, undecided_condition const& c) {
    return can_alias(array, n, c);
  }
  [[deprecated("use alias")]] constexpr void let_serve(detail::recorded_array& array,
                                                       detail::recorded_array& copy, undecided_size n) {
    alias(array, copy, n);
  }

  // ---- a file for arrays that leave memory. Under layouts where an array is too short to leave, it stays.
  /// Those of the whole array: the scopes of blocks that are alike remain as long as each other.
  static constexpr extent bytes_in_scope(undecided_size const& bytes) { return bytes.whole; }
  constexpr void write_out(void const*, undecided_size bytes, detail::file_place&) { note_in_file(bytes); }
  constexpr void read_back(void*, undecided_size bytes, detail::file_place&) { note_in_file(bytes); }
  constexpr void leave(undecided_size n, extent each, detail::recorded_array& a) {
    if (sends_ || a.alias != nullptr || record_.kinds[a.kind].if_.dims != 0)
      throw "meshtf: under some layouts only there is an array that leaves for a file: this program can't be "
            "recorded without a layout yet";
    note_moment(-1);
    live_[kind_in_file(n * each)] += n.whole * each;
    live_[a.kind] -= n.whole * each;
  }
  constexpr void hold_again(undecided_size n, extent each, detail::recorded_array& a) {
    live_[a.kind] += n.whole * each;
    live_[kind_in_file(n * each)] -= n.whole * each;
    fuller_ = true;
  }
  constexpr void die_away(undecided_size n, extent each, detail::recorded_array const&) {
    note_moment(-1);
    live_[kind_in_file(n * each)] -= n.whole * each;
  }
  constexpr void wait_for(detail::file_place const&) const {}
  constexpr void recall(detail::file_place const&) const {}
  constexpr void forget(detail::file_place const&) const {}
  constexpr void count_optimizer_state(undecided_size bytes) {
    optimizer_[record_.kind({bytes.dims, {}})] += bytes.whole;
  }
  constexpr void count_parameter(undecided_size bytes) {
    parameters_[record_.kind({bytes.dims, {}})] += bytes.whole;
  }
  /// What lives now. The difference of two of these is an `undecided_size`, if all of it has the same
  /// dimensions.
  struct lives {
    record_type const* record;
    small_array<extent, record_type::max_kinds> bytes;

    friend constexpr undecided_size operator-(lives const& after, lives const& before) {
      undecided_size more;
      for (std::size_t k = 0; k < after.record->kind_count; ++k) {
        extent const n = after.bytes[k] - before.bytes[k];
        if (n == 0) continue;
        if (more.whole != 0) throw "meshtf: this optimizer can't be recorded without a layout yet";
        more = {n, after.record->kinds[k].dims};
      }
      return more;
    }
  };
  constexpr lives live_bytes() const { return {&record_, live_}; }
  constexpr bool nothing_lives() const {
    for (extent bytes : live_)
      if (bytes != 0) return false;
    return true;
  }

  // ---- arithmetic
  template<Task K, class... A>
  constexpr void run(K const& task, undecided_steps<typename K::steps_type> const& plan, A const&...) {
    unsigned wishes = 0;
    if constexpr (HasOptions<K>) wishes = task.options();
    constexpr auto price = &detail::price_of_task<K>;
    // what a task needs of a layout has been noted with the first call of it
    if (int const again = record_.noted_again(price, &plan.loops, {}, wishes, now_if_); again >= 0) {
      if constexpr (NeedsScratch<K>) note_moment_of(again);
      return;
    }
    recorded_call call{.price = price, .loops = plan.loops, .wishes = wishes};
    if constexpr (requires { K::steps_type::needs_whole; })
      for (int d : plan.loops.along)
        // an operation that asks whether it is split knows what to do
        if (d >= 0) record_.whole |= plan.loops.dim[d].open & ~now_if_.dims;
    if constexpr (requires { K::is_product; }) {
      call.is_product = true;
      call.type       = K::buffers_of;
    }
    if constexpr (NeedsScratch<K>) note_with_scratch(call);
    else note(call);
  }
  template<class F, class... P>
  constexpr void transform(undecided_size n, F const&, P*...) {
    note_pass(&detail::price_of_elements<&work_of::transform<F, P...>>, n);
  }
  template<class T>
  constexpr void add_up(undecided_size n, bool, bool, T const*, T const*, T*) {
    note_pass(&detail::price_of_elements<&work_of::add_up<T>>, n);
  }
  template<class T>
  constexpr void fill(undecided_size n, T, T*) {
    note_pass(&detail::price_of_elements<&work_of::fill<T>>, n);
  }
  template<class T>
  constexpr void copy(undecided_size n, T const*, T*) {
    note_pass(&detail::price_of_elements<&work_of::copy<T>>, n);
  }

  // ---- messages
  template<class T>
  constexpr void all_reduce(reduction op, T*, undecided_size n, dim_set over) {
    if (over != 0) note_with_scratch({.n = n, .over = over, .op = op, .type = element_of<T>});
  }
  /// Over the axes of the present condition.
  template<class T>
  constexpr void exclusive_scan(reduction op, T, T*, undecided_size n, axis_list const&, bool) {
    note_with_scratch(
        {.n = n, .over = now_if_.dims, .op = op, .type = element_of<T>, .kind = collective::scan});
  }
  template<class T>
  constexpr void broadcast(T*) {
    note({.n = 1, .over = every_axis, .type = element_of<T>, .kind = collective::broadcast});
  }
  /// Notes a gradient that an optimizer finishes: see `detail::buckets`. From the first gradient to
  /// `end_of_sends`, `price` finds out what lives when.
  template<class T>
  constexpr void note_send(undecided_size n, dim_set over) {
    if (!sends_) {
      note_moment(-1);
      static_assert(record_type::max_rounds == 4);  // as the message says
      if (record_.round_count == record_type::max_rounds)
        throw "meshtf: this step sends gradients more often than a record holds (4 times)";
      record_.rounds[record_.round_count++] = {record_.send_count, live_};
      taken_ = given_ = {};
      sends_          = true;
    }
    static_assert(record_type::max_sends == 512);  // as the message says
    if (record_.send_count == record_type::max_sends)
      throw "meshtf: this program has more parameters than a record holds (512)";
    recorded_send send{n.whole, element_of<T>, record_.send_kind(n.dims, over)};
    settle_send(&send);
    record_.sends[record_.send_count++] = send;
  }
  constexpr void end_of_sends() {
    if (!sends_) return;
    settle_send(nullptr);
    sends_  = false;
    fuller_ = false;
  }

private:
  constexpr int note(recorded_call call) {
    call.if_   = now_if_;
    call.first = this->now();
    if (now_if_.pairs.count == 0) record_.keep_apart(call.dims());
    return record_.note(call);
  }
  /// A pass over n elements.
  template<class Price>
  constexpr void note_pass(Price price, undecided_size const& n) {
    if (record_.noted_again(price, nullptr, n, 0, now_if_) < 0) note({.price = price, .n = n});
  }
  constexpr void note_with_scratch(recorded_call const& call) { note_moment_of(note(call)); }
  /// A call takes scratch memory in addition to what lives now.
  constexpr void note_moment_of(int call) {
    fuller_ = true;
    note_moment(call);
    fuller_ = true;
  }
  /// Keeps what lives now as a moment, if something was taken since the last one.
  constexpr void note_moment(int call) {
    if (!fuller_ || sends_) return;
    fuller_ = false;
    record_.note_moment(live_.element, call);
  }
  constexpr std::size_t kind_in_file(undecided_size bytes) {
    return record_.kind({bytes.dims, {}, bytes.whole, this->spilled().min_bytes});
  }
  constexpr void note_in_file(undecided_size bytes) { record_.spilled[kind_in_file(bytes)] += bytes.whole; }
  constexpr void count_bytes(extent bytes, std::size_t kind) {
    if (bytes < 0) note_moment(-1);
    live_.element[kind] += bytes;
    if (bytes > 0) {
      taken_.element[kind] += bytes;
      fuller_ = true;
    } else {
      given_.element[kind] -= bytes;
    }
  }

  /// What was given back since the last gradient was sent belongs to that gradient, what was taken belongs to
  /// `next`. All of it has the same dimensions. The two are kept apart: under a layout that packs these
  /// gradients, all is taken before anything is given back.
  constexpr void settle_send(recorded_send* next) {
    recorded_send* const last = record_.send_count == 0 ? nullptr : &record_.sends[record_.send_count - 1];
    auto const settle         = [this](std::size_t k, extent& bytes, recorded_send* whose,
                               extent recorded_send::* to) {
      if (whose == nullptr || record_.kinds[k].if_.dims != 0 ||
          !record_.same_parts(record_.kinds[k].dims, record_.send_kinds[whose->kind].dims))
        throw "meshtf: this optimizer can't be recorded without a layout yet";
      whose->*to += detail::exchange(bytes, 0);
    };
    for (std::size_t k = 0; k < record_.kind_count; ++k) {
      if (taken_.element[k] != 0) settle(k, taken_.element[k], next, &recorded_send::made);
      if (given_.element[k] != 0) settle(k, given_.element[k], last, &recorded_send::gone);
    }
  }

  record_type record_{};
  small_array<extent, record_type::max_kinds> live_{};
  small_array<extent, record_type::max_kinds> parameters_{};
  small_array<extent, record_type::max_kinds> optimizer_{};
  undecided_condition now_if_{};
  // since the last gradient was sent
  small_array<extent, record_type::max_kinds> taken_{};
  small_array<extent, record_type::max_kinds> given_{};
  bool fuller_       = false;
  bool sends_        = false;
  bool counts_alike_ = false;
};

}  // namespace v0
}  // namespace meshtf
