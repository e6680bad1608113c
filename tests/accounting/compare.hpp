// Is what a program costs the same in the compiler, in the ledger of a run, and in what MPI was asked to do?
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <meshtf/meshtf.hpp>

#include "pmpi.hpp"

namespace accounting {

namespace detail {

template<class M>
struct names_of_axes;

template<class... A>
struct names_of_axes<meshtf::axes<A...>> {
  /// As the library names communicators: "rows cols".
  static std::string of(meshtf::axis_set over) {
    std::string text;
    int i                           = 0;
    [[maybe_unused]] auto const add = [&](auto const& axis) {
      if ((over >> i++ & 1) == 0) return;
      if (!text.empty()) text += " ";
      text += axis;
    };
    (add(meshtf::name_of<A>()), ...);
    return text;
  }
};

inline MPI_Datatype type_of(meshtf::element e) {
  switch (e) {
    case meshtf::element::float32: return MPI_FLOAT;
    case meshtf::element::float64: return MPI_DOUBLE;
    case meshtf::element::int32: return MPI_INT;
    case meshtf::element::bfloat16: return MPI_UINT16_T;
    case meshtf::element::int64: return MPI_INT64_T;
    case meshtf::element::boolean: return MPI_CXX_BOOL;
  }
  return MPI_DATATYPE_NULL;
}

inline char const* function_of(meshtf::collective c) {
  switch (c) {
    case meshtf::collective::all_reduce: return "Allreduce";
    case meshtf::collective::all_gather: return "Allgather";
    case meshtf::collective::reduce_scatter: return "Sendrecv";
    case meshtf::collective::all_to_all: return "Alltoall";
    case meshtf::collective::broadcast: return "Bcast";
    case meshtf::collective::permute:
    case meshtf::collective::neighbours: return "Sendrecv";
    case meshtf::collective::scan: return "Send";
    case meshtf::collective::hand_on: return "Isend";
  }
  return "?";
}

inline std::string spelled(std::string_view function, meshtf::extent bytes, std::string_view communicator) {
  return std::string{function} + " of " + std::to_string(bytes) + " bytes over \"" +
         std::string{communicator} + "\"";
}

}  // namespace detail

/// Whether a process at the end of a row hands over nothing in such a call, where the others hand over what
/// is promised.
constexpr bool ends_are_idle(meshtf::collective c) {
  return c == meshtf::collective::neighbours || c == meshtf::collective::scan;
}

/// The first call in which the ledger `cost` and MPI disagree, or nothing. A reduce-scatter is at least n-1
/// exchanges, which add up to it. In a scan a process receives before it sends, and a stage of a pipeline
/// receives what another has noted. `sent` gets the bytes that
/// this process handed over in each call of the ledger.
template<meshtf::Mesh M>
std::string difference(meshtf::cost<M> const& cost, std::span<pmpi::call const> made,
                       std::vector<std::int64_t>* sent = nullptr) {
  std::size_t at = 0;
  for (auto const& c : cost.collectives()) {
    auto const axes           = detail::names_of_axes<typename M::all_axes>::of(c.over);
    meshtf::extent const most = c.kind == meshtf::collective::reduce_scatter
                                    ? c.payload / (meshtf::processes_along(meshtf::axis_sizes<M>, c.over) - 1)
                                    : c.payload;
    if (sent != nullptr) sent->push_back(0);
    while (at < made.size() && std::string_view{made[at].function} == "Recv") ++at;
    for (meshtf::extent left = c.payload; left > 0; ++at) {
      std::string const wanted = "call " + std::to_string(at) + ", for " + c.site.operation +
                                 (c.site.backward ? "'s gradient" : "") + ": expected " +
                                 detail::spelled(detail::function_of(c.kind), left, axes) + ", MPI saw ";
      if (at == made.size()) return wanted + "none";
      auto const& m    = made[at];
      bool const whole = c.kind == meshtf::collective::reduce_scatter
                             ? 0 < m.bytes && m.bytes <= std::min(left, most)
                             : m.bytes == left || (m.bytes == 0 && ends_are_idle(c.kind));
      if (std::string_view{m.function} != detail::function_of(c.kind) || !whole || m.communicator != axes)
        return wanted + detail::spelled(m.function, m.bytes, m.communicator);
      if (m.type != detail::type_of(c.type)) return wanted + "another type of elements";
      if (sent != nullptr) sent->back() += m.bytes;
      left -= ends_are_idle(c.kind) ? left : m.bytes;
    }
  }
  while (at < made.size() && std::string_view{made[at].function} == "Recv") ++at;
  if (at < made.size())
    return "the ledger has no such call: " +
           detail::spelled(made[at].function, made[at].bytes, made[at].communicator);
  return {};
}

/// What `difference` says, or the first call in which no process hands over what is promised: the busiest
/// must hand over exactly that, and no other more, which `difference` sees. All processes call it.
template<meshtf::Mesh M>
std::string difference_on_all(meshtf::cost<M> const& cost, std::span<pmpi::call const> made) {
  auto const calls = cost.collectives();
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> most(calls.size());
  auto const own = difference(cost, made, &sent);
  sent.resize(calls.size());
  MPI_Allreduce(sent.data(), most.data(), static_cast<int>(most.size()), MPI_INT64_T, MPI_MAX,
                MPI_COMM_WORLD);
  if (!own.empty()) return own;
  for (std::size_t i = 0; i < most.size(); ++i)
    if (most[i] != calls[i].payload)
      return std::string{"for "} + calls[i].site.operation + " " + std::to_string(calls[i].payload) +
             " bytes are promised, but the busiest process sends " + std::to_string(most[i]);
  return {};
}

/// The bytes that the busiest process hands over in all calls together. All processes call it.
inline std::int64_t busiest_of_all(std::span<pmpi::call const> made) {
  std::int64_t sent = 0;
  std::int64_t most = 0;
  for (auto const& c : made) sent += c.bytes;
  MPI_Allreduce(&sent, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/// The first figure in which two ledgers disagree, or nothing.
template<meshtf::Mesh M>
std::string difference(meshtf::cost<M> const& promised, meshtf::cost<M> const& counted) {
  auto const a = promised.collectives();
  auto const b = counted.collectives();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!(a[i] == b[i]))
      return "call " + std::to_string(i) + ": promised for " + a[i].site.operation + " of " +
             std::to_string(a[i].payload) + " bytes over " +
             detail::names_of_axes<typename M::all_axes>::of(a[i].over) + ", counted for " +
             b[i].site.operation + " of " + std::to_string(b[i].payload) + " bytes over " +
             detail::names_of_axes<typename M::all_axes>::of(b[i].over);
  auto const figure = [](char const* name, meshtf::extent x, meshtf::extent y) {
    return x == y ? std::string{}
                  : std::string{name} + ": promised " + std::to_string(x) + ", counted " + std::to_string(y) +
                        "; ";
  };
  return figure("calls", promised.calls(), counted.calls()) +
         figure("flops", promised.flops(), counted.flops()) +
         figure("elementwise flops", promised.elementwise_flops(), counted.elementwise_flops()) +
         figure("bytes touched", promised.bytes_touched(), counted.bytes_touched()) +
         figure("parameter bytes", promised.parameter_bytes(), counted.parameter_bytes()) +
         figure("optimizer bytes", promised.optimizer_bytes(), counted.optimizer_bytes()) +
         figure("peak", promised.peak_bytes(), counted.peak_bytes()) +
         figure("live", promised.live_bytes(), counted.live_bytes());
}

}  // namespace accounting
