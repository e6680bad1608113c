// The algorithms by which processes carry out a collective: what each sends, the seconds that it takes, and
// which one a machine chooses.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include <meshtf/plan/collective.hpp>
#include <meshtf/price/machine_model.hpp>
#include <meshtf/price/open_mpi_algorithms.hpp>

namespace meshtf {
inline namespace v0 {

/// The name of an algorithm in the literature: "Rabenseifner".
constexpr std::string_view to_string(collective_algorithm a) {
  switch (a) {
    case collective_algorithm::ring: return "ring";
    case collective_algorithm::recursive_doubling: return "recursive doubling";
    case collective_algorithm::rabenseifner: return "Rabenseifner";
    case collective_algorithm::reduce_and_broadcast: return "reduce and broadcast";
    case collective_algorithm::neighbour_exchange: return "neighbour exchange";
    case collective_algorithm::pairwise: return "pairwise";
    case collective_algorithm::bruck: return "Bruck";
    case collective_algorithm::linear: return "linear";
    case collective_algorithm::binomial_tree: return "binomial tree";
    case collective_algorithm::direct: return "direct";
  }
  return "?";
}

/// The longest chain of messages of a collective, each of which waits for the one before: their number, their
/// bytes, and the bytes that are added to others on the way.
struct algorithm_steps {
  extent messages = 0;
  extent bytes    = 0;
  extent added    = 0;

  constexpr double seconds(link_model const& link, double seconds_per_byte_added) const {
    return static_cast<double>(messages) * link.seconds_per_message +
           static_cast<double>(bytes) * link.seconds_per_byte +
           static_cast<double>(added) * seconds_per_byte_added;
  }
};

namespace detail {

/// Rounded down, and up.
constexpr extent lower_log2(extent n) { return 63 - std::countl_zero(static_cast<std::uint64_t>(n)); }
constexpr extent upper_log2(extent n) { return 64 - std::countl_zero(static_cast<std::uint64_t>(n - 1)); }

/// Where the processes are no power of two, those that are too many first hand their array to a neighbour,
/// and get the result in the end.
constexpr algorithm_steps with_those_left(algorithm_steps s, extent bytes, extent processes) {
  if ((processes & (processes - 1)) == 0) return s;
  return {s.messages + 2, s.bytes + 2 * bytes, s.added + bytes};
}

/// A reduction up a binomial tree, and a broadcast, as Open MPI makes them for 128 processes and more, where
/// it chooses this: the reduction in pieces of 1 KiB, unless the array is short, and the broadcast along a
/// chain, down a binary tree or down one in which a process sends to three others on each level. A process
/// begins all its messages at once, and they share its link.
constexpr algorithm_steps steps_of_reduce_and_broadcast(extent bytes, extent n) {
  constexpr extent KiB = 1024;
  extent const levels  = upper_log2(n);
  extent const pieces  = bytes < 2 * KiB ? 1 : (bytes + KiB - 1) / KiB;
  algorithm_steps all{levels * pieces, levels * bytes, levels * bytes};
  auto const add_broadcast = [&](extent messages, extent arrays) {
    all.messages += messages;
    all.bytes += arrays * bytes;
  };
  extent const levels_of_four = (levels + 1) / 2;
  if (n >= 256) add_broadcast(levels_of_four, 3 * levels_of_four * (levels_of_four + 1) / 2);
  else if (bytes >= 64 * KiB) add_broadcast(levels_of_four, 3 * levels_of_four);
  else if (bytes >= 16 * KiB && bytes < 32 * KiB) add_broadcast(n - 1, n - 1);
  else add_broadcast(lower_log2(n), 2 * lower_log2(n));
  return all;
}

constexpr algorithm_steps steps_of_all_reduce(collective_algorithm a, extent bytes, extent n) {
  extent const levels   = lower_log2(n);
  extent const exchange = bytes * ((extent{1} << levels) - 1) >> levels;  // of all but a process's own part
  switch (a) {
    case collective_algorithm::recursive_doubling:
      return with_those_left({levels, levels * bytes, levels * bytes}, bytes, n);
    case collective_algorithm::rabenseifner:
      return with_those_left({2 * levels, 2 * exchange, exchange}, bytes, n);
    case collective_algorithm::reduce_and_broadcast: return steps_of_reduce_and_broadcast(bytes, n);
    default: return {2 * (n - 1), sent_by_one(collective::all_reduce, bytes, n), bytes * (n - 1) / n};
  }
}

/// The blocks that one process sends in Bruck's all-to-all: in round k those whose number has bit k.
constexpr extent blocks_sent_by_bruck(extent n) {
  extent blocks = 0;
  for (extent bit = 1; bit < n; bit *= 2)
    blocks += n / (2 * bit) * bit + (n % (2 * bit) > bit ? n % (2 * bit) - bit : 0);
  return blocks;
}

constexpr algorithm_steps steps_of_all_to_all(collective_algorithm a, extent bytes, extent n) {
  if (a == collective_algorithm::bruck) return {upper_log2(n), bytes / n * blocks_sent_by_bruck(n), 0};
  return {a == collective_algorithm::linear ? 1 : n - 1, sent_by_one(collective::all_to_all, bytes, n), 0};
}

constexpr extent messages_of_all_gather(collective_algorithm a, extent n) {
  if (a == collective_algorithm::neighbour_exchange && n % 2 == 0) return n / 2;
  return a == collective_algorithm::recursive_doubling || a == collective_algorithm::bruck ? upper_log2(n)
                                                                                           : n - 1;
}

}  // namespace detail

/// What a collective of `processes` sends by this algorithm; `payload` as in `payload_of`.
///
/// A collective that is not made by it takes what the ring, or each pair in turn, takes. Where the processes
/// are no power of two, recursive doubling of an all-gather is Bruck's.
///
/// `linear` sends to all at once, so that latencies pass at the same time. So does each process of the tree
/// of a broadcast, which the library makes of single numbers: the deepest leaf is log2(processes) messages
/// away.
///
/// Source: Thakur, Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH (2005);
/// Bruck and others, Efficient Algorithms for All-to-All Communications (1997); Chen and others, Performance
/// Evaluation of Allgather Algorithms (2005), for the exchange of neighbours.
constexpr algorithm_steps steps_of(collective_algorithm a, collective c, extent payload, extent processes) {
  if (processes < 2) return {};
  switch (c) {
    case collective::all_reduce: return detail::steps_of_all_reduce(a, payload, processes);
    case collective::all_gather:
      return {detail::messages_of_all_gather(a, processes), payload * (processes - 1), 0};
    case collective::all_to_all: return detail::steps_of_all_to_all(a, payload, processes);
    case collective::broadcast: {
      extent const levels = a == collective_algorithm::binomial_tree ? detail::lower_log2(processes) : 1;
      return {levels, levels * payload, 0};
    }
    default:
      return {messages_of(c, processes), sent_for(c, payload, processes), bytes_added(c, payload, processes)};
  }
}

/// The seconds of a collective by this algorithm on this link.
constexpr double seconds_of(collective_algorithm a, collective c, extent payload, extent processes,
                            link_model const& link, double seconds_per_byte_added = 0) {
  return steps_of(a, c, payload, processes).seconds(link, seconds_per_byte_added);
}

namespace detail {

constexpr collective_algorithm cheapest_algorithm(collective c, extent payload, extent n,
                                                  link_model const& link, double per_byte_added) {
  using enum collective_algorithm;
  auto const seconds = [&](collective_algorithm a) {
    return seconds_of(a, c, payload, n, link, per_byte_added);
  };
  if (c == collective::all_gather) return recursive_doubling;  // no fewer messages, and no more bytes
  if (c == collective::all_to_all) return seconds(bruck) < seconds(pairwise) ? bruck : pairwise;
  collective_algorithm const halves = seconds(rabenseifner) < seconds(ring) ? rabenseifner : ring;
  return seconds(halves) < seconds(recursive_doubling) ? halves : recursive_doubling;
}

constexpr collective_algorithm algorithm_of_open_mpi(collective c, extent payload, extent count, extent n) {
  if (c == collective::all_gather) return below(open_mpi::all_gather, payload, n);
  if (c == collective::all_to_all) return below(open_mpi::all_to_all, payload / n, n);
  auto const a = below(open_mpi::all_reduce, payload, n);
  // a ring has no part for each process of an array with fewer elements: its code turns to the other
  return a == collective_algorithm::ring && count < n ? collective_algorithm::recursive_doubling : a;
}

}  // namespace detail

/// The algorithm that the machine chooses for a collective of `count` elements. A reduce-scatter goes by
/// pairs, whatever the machine: the library makes it itself (runtime/collectives.hpp).
///
/// `cheapest` does not choose `linear`: a processor takes time for each message, which is part of what a
/// message takes here.
constexpr collective_algorithm algorithm_of(collective c, extent payload, extent count, extent processes,
                                            link_model const& link, machine_model const& machine) {
  using enum collective_algorithm;
  bool const has_a_choice =
      c == collective::all_reduce || c == collective::all_gather || c == collective::all_to_all;
  if (c == collective::broadcast)
    return machine.algorithms == algorithm_choice::ring ? direct : binomial_tree;
  if (!has_a_choice) return c == collective::reduce_scatter ? pairwise : direct;
  if (processes <= 2 && c != collective::all_reduce) return pairwise;
  switch (machine.algorithms) {
    case algorithm_choice::cheapest:
      return detail::cheapest_algorithm(c, payload, processes, link, machine.seconds_per_byte_added);
    case algorithm_choice::open_mpi: return detail::algorithm_of_open_mpi(c, payload, count, processes);
    case algorithm_choice::ring: return c == collective::all_to_all ? pairwise : ring;
  }
  return ring;
}

}  // namespace v0
}  // namespace meshtf
