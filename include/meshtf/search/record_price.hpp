// The price of a record under a layout, with the same figures as a dry run under that layout.
#pragma once

#include <algorithm>
#include <cstdint>

#include <meshtf/plan/all_reduce_plan.hpp>
#include <meshtf/plan/bucket_plan.hpp>
#include <meshtf/search/record.hpp>
#include <meshtf/search/split_account.hpp>

namespace meshtf {
inline namespace v0 {

/// A layout splits `Dim`, which is not among the dimensions that the record leaves open.
template<class Dim, class OpenDims>
struct dim_is_not_undecided_in_record {};

namespace detail {

template<Mesh M>
constexpr layout_numbers numbers_of_mesh() {
  layout_numbers n;
  for (std::size_t a = 0; a < max_axes; ++a) n.sizes[a] = axis_sizes<M>[a];
  n.joining = joining_axes<M>;
  return n;
}

/// Whether those of these axes that join processes are in the mesh's order.
constexpr bool in_order(axis_list const& over, axis_set joining) {
  int last = -1;
  for (int axis : over) {
    if (!among(joining, axis)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

template<class L, class Open>
struct numbers_under;
template<class L, class... D>
struct numbers_under<L, shape<D...>> {
  static constexpr layout_numbers value = [] {
    layout_numbers n = numbers_of_mesh<typename L::mesh_type>();
    n.know(std::array<extent, sizeof...(D)>{D::size...});
    int dim = 0;
    (n.put(dim++, split_over<L, shape<D>>), ...);
    dim = 0;
    ((n.out_of_order |= (in_order(placing<L, D>.over, n.joining) ? dim_set{0} : dim_set{1}) << dim++), ...);
    dim = 0;
    ((n.pads |= dim_set{placing<L, D>.pads} << dim++), ...);
    return n;
  }();
};

template<class L, class Open>
struct splits_undecided_dims;
template<Mesh M, class... Rules, class Open>
struct splits_undecided_dims<layout<M, Rules...>, Open>
    : std::type_identity<first_objection<
          std::conditional_t<Open::template has<typename Rules::dimension>, legal,
                             dim_is_not_undecided_in_record<typename Rules::dimension, Open>>...>> {};

template<Mesh M, class... Rules>
layout<M, Rules...> rules_of_layout(layout<M, Rules...> const&);

/// Why an operation of a record can't be placed under a layout.
enum class obstacle : std::uint8_t {
  none,
  needs_whole_dim,      // a dimension that an operation needs whole is split
  does_not_divide,      // the size of a dimension that is not padded
  needs_other_axes,     // one axis splits two dimensions of an operation, or its axes are not in order
  needs_equal_parts,    // an operation moves whole parts
  needs_same_cuts,      // two dimensions hold the same elements, or windows of them, and are cut elsewhere
  needs_larger_parts,   // a window or a shift reaches further than a part
  needs_one_split_dim,  // an operation looks into the next parts along two dimensions
};

/// Whether dimensions that hold the same elements are cut between the same ones, and those that must be cut
/// into equal parts are.
template<class Record>
constexpr obstacle cuts_fit(Record const& record, layout_numbers const& l) {
  for (int d = 0; d < Record::dims; ++d) {
    if (l.over[d] == 0) continue;
    if ((record.even >> d & 1) != 0 && l.is_uneven(d)) return obstacle::needs_equal_parts;
    for (dim_set alike = record.alike[d]; alike != 0; alike &= alike - 1) {
      int const e = std::countr_zero(alike);
      if (l.room[d] * l.whole[e] != l.room[e] * l.whole[d]) return obstacle::needs_same_cuts;
    }
  }
  return obstacle::none;
}

/// Whether each part reaches as far as its neighbours look into it, and an operation looks into those along
/// one dimension only; and whether parts that correspond are of one size.
template<class Record>
constexpr obstacle parts_reach(Record const& record, layout_numbers const& l) {
  for (dim_set near = record.near; near != 0; near &= near - 1) {
    int const d = std::countr_zero(near);
    if (l.over[d] == 0) continue;
    if (l.room[d] < record.reach[d]) return obstacle::needs_larger_parts;
    if (l.split(record.in_turn[d]) != 0) return obstacle::needs_one_split_dim;
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(Record::dims); ++d)
    for (dim_set step = l.over[d] == 0 ? 0 : record.in_step[d]; step != 0; step &= step - 1)
      if (l.room[d] != l.room[std::countr_zero(step)]) return obstacle::needs_same_cuts;
  return obstacle::none;
}

/// Why some operation of the record can't be placed under this layout.
template<class Record>
constexpr obstacle obstacle_under(Record const& record, layout_numbers const& l) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(Record::dims); ++d) {
    if (l.over[d] == 0) continue;
    if ((record.whole >> d & 1) != 0) return obstacle::needs_whole_dim;
    if (Record::sizes[d] % l.parts[d] != 0 && (l.pads >> d & 1) == 0) return obstacle::does_not_divide;
    if ((l.split(record.apart[d]) & l.over[d]) != 0) return obstacle::needs_other_axes;
    if ((record.in_order & l.out_of_order) >> d & 1) return obstacle::needs_other_axes;
    for (dim_set alike = record.alike[d] | record.in_step[d]; alike != 0; alike &= alike - 1) {
      auto const e = static_cast<std::size_t>(std::countr_zero(alike));
      if (l.over[e] != l.over[d] || ((l.out_of_order >> d | l.out_of_order >> e) & 1) != 0)
        return obstacle::needs_same_cuts;
    }
  }
  if (obstacle const near = parts_reach(record, l); near != obstacle::none) return near;
  return l.pads == 0 ? obstacle::none : cuts_fit(record, l);
}
template<class Record>
constexpr bool can_be_placed(Record const& record, layout_numbers const& l) {
  return obstacle_under(record, l) == obstacle::none;
}

/// A machine on which an all-reduce of elements of `type` hands each of its MPI calls to `f`, and counts the
/// bytes of scratch memory that it takes.
template<Mesh M, class F>
struct message_prices {
  element type;
  call_site const& site;
  F const& f;
  extent scratch = 0;

  static constexpr extent rank_along(axis_set) { return 0; }
  constexpr void reduce_scatter(reduction op, char const*, extent part, char*, axis_set over) {
    scratch = std::max(scratch, exchange_scratch(part, type) * bytes_of(type));
    f(call_over<M>(over, collective::reduce_scatter, op, type, part * processes_along(axis_sizes<M>, over),
                   site));
  }
  constexpr void all_gather(char*, extent part, axis_set over) {
    f(call_over<M>(over, collective::all_gather, reduction::sum, type, part, site));
  }
  constexpr void all_reduce_at_once(reduction op, element travels, char*, extent n, axis_set over) {
    if (travels != type) scratch = std::max(scratch, n * bytes_of(travels));
    f(call_over<M>(over, collective::all_reduce, op, travels, n, site));
  }
};

/// Calls `f` with each MPI call of one all-reduce of n elements. Returns the bytes of scratch memory that it
/// takes.
template<Mesh M, class F>
constexpr extent for_each_message(reduction op, element type, extent n, axis_set over, call_site const& site,
                                  F const& f) {
  message_prices<M, F> prices{type, site, f};
  carry_out(plan_all_reduce<M>(op, n, type, over), prices, op, static_cast<char*>(nullptr));
  return prices.scratch;
}

/// What one call of a record does under a layout: f(work) or f(collective_call), for one time that it is
/// made. Returns its scratch memory in bytes.
template<Mesh M, class OnWork, class OnMessage>
constexpr extent price_call(recorded_call const& call, layout_numbers const& l, OnWork const& on_work,
                            OnMessage const& on_message) {
  if (!call.if_.holds(l)) return 0;
  if (call.price != nullptr) {
    recorded_call::figures const f = call.price(call, l);
    on_work(f.does);
    return f.scratch;
  }
  axis_set const over = l.split(call.over);
  if (call.kind == collective::broadcast && over != 0) {
    extent const bytes = bytes_of(call.type);
    on_message({call.kind, call.op, call.type, over, 1, bytes, bytes, call.first});
    return 0;
  }
  if (call.in_parts != nullptr) {
    split_account account{l.sizes.first(int{max_axes})};
    call.in_parts(call, l, account);
    on_work(account.does());
    extent peak = account.peak_bytes();
    for (split_account::message const& m : account.messages())
      if (m.kind == collective::all_reduce)
        peak = std::max(peak, m.live + for_each_message<M>(reduction::sum, m.type, m.count, m.over,
                                                           call.first, on_message));
      else
        on_message(
            call_over<M>(m.over == 0 ? over : m.over, m.kind, reduction::sum, m.type, m.count, call.first));
    return peak;
  }
  if (call.kind == collective::scan) {  // what comes is received in addition to what there is
    on_message(call_over<M>(over, call.kind, call.op, call.type, l.local(call.n), call.first));
    return l.local(call.n) * bytes_of(call.type);
  }
  return over == 0 ? 0
                   : for_each_message<M>(call.op, call.type, l.local(call.n), over, call.first, on_message);
}

/// Bytes that live at a moment in one process.
template<std::size_t N>
constexpr extent bytes_under(small_array<extent, N> const& bytes, std::span<recorded_kind const> kinds,
                             layout_numbers const& l) {
  extent sum = 0;
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (bytes[k] != 0 && kinds[k].lives(l)) sum += l.local(undecided_size{bytes[k], kinds[k].dims});
  return sum;
}

/// Bytes that leave for a file or come back in one process.
template<class Record>
constexpr extent bytes_to_file(Record const& record, layout_numbers const& l) {
  extent sum = 0;
  for (std::size_t k = 0; k < record.kind_count; ++k)
    if (record.spilled[k] != 0 && record.kinds[k].is_in_file(l))
      sum += l.local(undecided_size{record.spilled[k], record.kinds[k].dims});
  return sum;
}

/// What an optimizer sends of its gradients, as `detail::buckets` does it: long ones at once from where they
/// lie, the others packed into messages. f as above. `waiting` has space for as many members as the record
/// has sends. Returns the most bytes that live meanwhile.
template<Mesh M, class Record, class OnWork, class OnMessage>
constexpr extent price_sends(Record const& record, layout_numbers const& l, bucket_member* waiting,
                             OnWork const& on_work, OnMessage const& on_message) {
  extent peak                      = 0;
  recorded_send const* const sends = record.sends.data();
  struct {
    extent whole;
    extent room;
    axis_set over;

    constexpr extent local(extent n) const { return n / whole * room; }
  } kinds[Record::max_kinds];
  for (std::size_t k = 0; k < record.send_kind_count; ++k) {
    recorded_send_kind const& kind = record.send_kinds[k];
    kinds[k]                       = {l.whole_of(kind.dims), l.room_of(kind.dims), l.split(kind.over)};
  }
  for (std::size_t r = 0; r < record.round_count; ++r) {
    std::size_t const last = r + 1 < record.round_count ? record.rounds[r + 1].first : record.send_count;
    extent live            = bytes_under(record.rounds[r].bytes, {record.kinds.data(), record.kind_count}, l);
    std::size_t count      = 0;
    extent left            = 0;  // bytes that the updates of waiting gradients give back
    auto const see         = [&peak](extent bytes) { peak = std::max(peak, bytes); };
    for (std::size_t i = record.rounds[r].first; i < last; ++i) {
      recorded_send const& s = sends[i];
      auto const& kind       = kinds[s.kind];
      axis_set const over    = kind.over;
      extent const n         = kind.local(s.n);
      extent const bytes     = n * bytes_of(s.type);
      live += kind.local(s.made);
      see(live);
      if (!is_packed(bytes)) {
        if (over != 0) see(live + for_each_message<M>(reduction::sum, s.type, n, over, {}, on_message));
        live -= kind.local(s.gone);
        continue;
      }
      left += kind.local(s.gone);
      if (over != 0)
        waiting[count++] = {
            .kind = collective::all_reduce, .type = s.type, .over = over, .unreduced = over, .bytes = bytes};
    }
    plan_buckets(std::span{waiting, count});
    for (std::size_t i = 0; i < count; ++i) {
      if (!waiting[i].leads) continue;
      extent bytes = 0;
      for (int k = static_cast<int>(i); k >= 0; k = waiting[k].next) bytes += waiting[k].bytes;
      bool const packed = waiting[i].next >= 0;
      extent const scratch =
          for_each_message<M>(reduction::sum, waiting[i].type, bytes / bytes_of(waiting[i].type),
                              waiting[i].over, {}, on_message);
      see(live + scratch + (packed ? bytes : 0));
      if (packed) on_work(work{.kind = "copy", .bytes = 4 * bytes});  // into the message and out of it
    }
    live -= left;
  }
  return peak;
}

}  // namespace detail

/// `legal`, or the first dimension that `L` splits and the record does not leave open.
template<class Record, Layout L>
using record_verdict = typename detail::splits_undecided_dims<decltype(detail::rules_of_layout(
                                                                  std::declval<actual<L> const&>())),
                                                              typename Record::undecided_dims>::type;

/// What the recorded step costs under the layout `l` of mesh `M`. The `cost` has the same flops, bytes, peak
/// and collectives as that of the dry run, except for the order of the collectives. Throws a text if some
/// operation can't be placed under it.
template<Mesh M, Dimension... D>
constexpr cost<M> price(step_record<D...> const& record, layout_numbers l) {
  l.know(record.sizes);
  record.complete(l);
  switch (detail::obstacle_under(record, l)) {  // literals: compilers show the line of a throw, not its value
    case detail::obstacle::none: break;
    case detail::obstacle::needs_whole_dim:
      throw "meshtf: this layout splits a dimension that an operation of the recorded step needs whole";
    case detail::obstacle::does_not_divide:
      throw "meshtf: this layout splits a dimension into parts that do not divide its size: use padded<>";
    case detail::obstacle::needs_other_axes:
      throw "meshtf: this layout splits two dimensions of one operation over one axis, or in another order";
    case detail::obstacle::needs_equal_parts:
      throw "meshtf: this layout splits a dimension whose parts move into unequal ones: choose a divisor";
    case detail::obstacle::needs_same_cuts:
      throw "meshtf: this layout cuts two dimensions that hold the same rows, or windows of them, elsewhere";
    case detail::obstacle::needs_larger_parts:
      throw "meshtf: under this layout a window or shift reaches further than a part: use fewer parts";
    case detail::obstacle::needs_one_split_dim:
      throw "meshtf: this layout splits two dimensions along which one operation looks into the next parts";
  }
  cost<M> sum;
  extent peak             = 0;
  auto const note_message = [&sum](collective_call const& c) { sum.note(c); };
  auto const note_work    = [&sum](work const& w) { sum.note(w); };
  std::array<extent, step_record<D...>::max_calls> scratch{};
  for (std::size_t i = 0; i < record.call_count; ++i) {
    recorded_call const& c = record.calls[i];
    scratch[i]             = detail::price_call<M>(
        c, l,
        [&](work w) {
          w.flops *= c.times;
          w.elementwise *= c.times;
          w.bytes *= c.times;
          sum.note(w);
        },
        [&](collective_call const& call) {
          for (extent t = 0; t < c.times; ++t) sum.note(call);
        });
  }
  std::span<recorded_kind const> const kinds{record.kinds.data(), record.kind_count};
  for (std::size_t i = 0; i < record.moment_count; ++i) {
    auto const& m = record.moments[i];
    peak          = std::max(peak, detail::bytes_under(m.bytes, kinds, l) +
                                       (m.call < 0 ? 0 : scratch[static_cast<std::size_t>(m.call)]));
  }
  auto* const waiting = new bucket_member[record.send_count + 1];
  peak                = std::max(peak, detail::price_sends<M>(record, l, waiting, note_work, note_message));
  delete[] waiting;
  sum.note_spilled(detail::bytes_to_file(record, l));
  sum.note_memory(0, peak, detail::bytes_under(record.parameters, kinds, l),
                  detail::bytes_under(record.optimizer, kinds, l));
  return sum;
}

/// The same for a layout given as a type.
template<Layout L, Dimension... D>
constexpr cost<typename L::mesh_type> price(step_record<D...> const& record) {
  static_assert(accepted<record_verdict<step_record<D...>, L>>,
                "meshtf: this record can't price this layout: see accepted");
  return price<typename L::mesh_type>(record, detail::numbers_under<actual<L>, shape<D...>>::value);
}

}  // namespace v0
}  // namespace meshtf
