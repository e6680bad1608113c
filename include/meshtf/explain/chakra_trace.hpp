// chakra_trace: a step as an MLCommons Chakra execution trace, which simulators of networks such as ASTRA-sim
// read: so a plan for 2,048 processes can be tried on a network that nobody has.
//
// The form is that of Chakra's schema/protobuf/et_def.proto (Sridharan et al. 2023, "Chakra: Advancing
// Performance Benchmarking and Co-design using Standardized Execution Traces"): messages of protocol buffers,
// each after its length. What is written of them are varints and strings in fields with fixed numbers, so
// there is no library underneath, and planning stays free of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/error.hpp>
#include <meshtf/core/named_mesh.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/price/cost.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// A message of protocol buffers.
class protobuf_message {
public:
  void number(unsigned field, std::uint64_t x) {
    varint(field << 3U);
    varint(x);
  }
  void text(unsigned field, std::string_view x) {
    varint(field << 3U | 2U);
    varint(x.size());
    bytes_ += x;
  }
  void message(unsigned field, protobuf_message const& m) { text(field, m.bytes_); }
  /// After its length, as messages stand in a file.
  void append_to(std::string& file) const {
    protobuf_message length;
    length.varint(bytes_.size());
    (file += length.bytes_) += bytes_;
  }
  std::string const& bytes() const { return bytes_; }
  void varint(std::uint64_t x) {
    for (; x >= 128; x >>= 7U) bytes_ += static_cast<char>(x | 128U);
    bytes_ += static_cast<char>(x);
  }

private:
  std::string bytes_;
};

// The numbers of et_def.proto.
enum class chakra_node : std::uint8_t { compute = 4, send = 5, receive = 6, collective = 7 };
inline constexpr unsigned chakra_bool         = 27;
inline constexpr unsigned chakra_bools        = 28;
inline constexpr unsigned chakra_int32        = 7;
inline constexpr unsigned chakra_int64        = 9;
inline constexpr unsigned chakra_uint64       = 13;
inline constexpr unsigned chakra_string       = 29;
inline constexpr std::uint64_t no_chakra_kind = ~std::uint64_t{0};

constexpr std::uint64_t chakra_kind(collective kind) {
  switch (kind) {
    case collective::all_reduce: return 0;
    case collective::all_gather: return 2;
    case collective::broadcast: return 5;
    case collective::all_to_all: return 6;
    case collective::reduce_scatter: return 7;
    default: return no_chakra_kind;  // messages between two processes
  }
}

/// Writes the nodes of one process, in the order of its program.
class chakra_writer {
public:
  /// `flops` and `passed` are computed in all.
  chakra_writer(named_mesh const& mesh, extent rank, machine_model const& machine, extent flops,
                extent passed)
      : mesh_{mesh}, rank_{rank}, machine_{machine}, flops_{flops}, passed_{passed} {
    protobuf_message about;
    about.text(1, "1.0.0");
    std::string axes;
    for (std::size_t a = 0; a < mesh_.axes.size(); ++a)
      axes += (a == 0 ? "" : " ") + std::string{mesh_.axes[a]} + "=" + std::to_string(mesh_.sizes[a]);
    about.message(2, attribute("mesh", chakra_string, axes));
    about.message(2, attribute("rank", chakra_int64, static_cast<std::uint64_t>(rank)));
    about.append_to(file_);
  }

  /// The process computes; a collective that goes on is waited for where its result is needed.
  void compute(double flops, double passed) {
    double const all = flops / machine_.flops_per_second + passed / machine_.memory_bytes_per_second;
    for (double left = all; left > 0;) {
      double step = left;
      for (auto const& call : in_flight_)
        if (call.needed > computed_) step = std::min(step, call.needed - computed_);
      work(flops * step / all, passed * step / all, step);
      left = step < left ? left - step : 0;
      join();
    }
  }

  void call(collective_call const& c) {
    auto const kind = chakra_kind(c.kind);
    if (kind == no_chakra_kind) return exchange(c);
    std::string name{to_string(c.kind)};
    (name += " of ") += c.site.operation;
    if (c.site.has_line()) name += ", line " + std::to_string(c.site.at.line());
    protobuf_message node = begin(name, chakra_node::collective);
    node.message(10, attribute("is_cpu_op", chakra_bool, 0));
    node.message(10, attribute("comm_type", chakra_int64, kind));
    node.message(10, attribute("comm_size", chakra_int64, static_cast<std::uint64_t>(c.payload)));
    node.message(10, attribute("sent_bytes", chakra_int64, static_cast<std::uint64_t>(c.sent)));
    protobuf_message involved;
    for (std::size_t a = mesh_.axes.size(); a-- > 0;) involved.varint(c.over >> a & 1U);
    protobuf_message list;
    list.text(1, involved.bytes());
    node.message(10, attribute("involved_dim", chakra_bools, list.bytes()));
    node.append_to(file_);
    if (c.until.is_nothing()) before_ = {number_};
    else in_flight_.push_back({computed_ + c.until.seconds(machine_), number_});
    ++number_;
  }

  /// What the program computes after its last call.
  void finish() {
    compute(static_cast<double>(flops_), static_cast<double>(passed_));
    for (auto const& call : std::exchange(in_flight_, {})) before_.push_back(call.number);
  }

  std::string const& file() const { return file_; }

private:
  struct call_in_flight {
    double needed;  // in seconds of computing since the beginning
    std::uint64_t number;
  };

  static protobuf_message attribute(std::string_view name, unsigned field, std::uint64_t x) {
    protobuf_message a;
    a.text(1, name);
    a.number(field, x);
    return a;
  }
  static protobuf_message attribute(std::string_view name, unsigned field, std::string_view x) {
    protobuf_message a;
    a.text(1, name);
    a.text(field, x);
    return a;
  }

  /// A node that begins when all before it in the program have ended.
  protobuf_message begin(std::string_view name, chakra_node type, std::uint64_t micros = 0) const {
    protobuf_message node;
    node.number(1, number_);
    node.text(2, name);
    node.number(3, static_cast<std::uint64_t>(type));
    for (auto const n : before_) node.number(5, n);
    if (micros != 0) node.number(7, micros);
    return node;
  }

  void work(double flops, double passed, double seconds) {
    computed_ += seconds;
    auto const whole_flops  = std::min(static_cast<extent>(std::llround(flops)), flops_);
    auto const whole_passed = std::min(static_cast<extent>(std::llround(passed)), passed_);
    flops_ -= whole_flops;
    passed_ -= whole_passed;
    protobuf_message node =
        begin("compute", chakra_node::compute, static_cast<std::uint64_t>(std::ceil(1e6 * seconds)));
    node.message(10, attribute("is_cpu_op", chakra_bool, 0));
    node.message(10, attribute("num_ops", chakra_int64, static_cast<std::uint64_t>(whole_flops)));
    node.message(10, attribute("tensor_size", chakra_uint64, static_cast<std::uint64_t>(whole_passed)));
    node.append_to(file_);
    before_ = {number_++};
  }

  /// What is computed from here on waits for the calls whose results are needed now.
  void join() {
    std::erase_if(in_flight_, [this](auto const& call) {
      bool const needed = call.needed <= computed_ * (1 + 1e-12);
      if (needed) before_.push_back(call.number);
      return needed;
    });
  }

  /// Messages between two processes, as a ring: to the next along the call's axes, and from the one before.
  void exchange(collective_call const& c) {
    extent const next = beside(c.over, 1);
    extent const last = beside(c.over, -1);
    auto const node   = [&](chakra_node type, extent from, extent to) {
      protobuf_message m = begin(to_string(c.kind), type);
      m.message(10, attribute("is_cpu_op", chakra_bool, 0));
      m.message(10, attribute("comm_size", chakra_int64, static_cast<std::uint64_t>(c.sent)));
      m.message(10, attribute("comm_src", chakra_int32, static_cast<std::uint64_t>(from)));
      m.message(10, attribute("comm_dst", chakra_int32, static_cast<std::uint64_t>(to)));
      m.message(10, attribute("comm_tag", chakra_int32, tag_));
      m.append_to(file_);
      return number_++;
    };
    auto const sent     = node(chakra_node::send, rank_, next);
    auto const received = node(chakra_node::receive, last, rank_);
    before_             = {sent, received};
    ++tag_;
  }

  /// The rank that is `by` further along the axes, the last of them first.
  extent beside(axis_set over, extent by) const {
    std::array<extent, max_axes> at{};
    extent rest = rank_;
    for (std::size_t a = mesh_.axes.size(); a-- > 0; rest /= mesh_.sizes[a]) at[a] = rest % mesh_.sizes[a];
    for (std::size_t a = mesh_.axes.size(); a-- > 0 && by != 0;) {
      if ((over >> a & 1U) == 0) continue;
      extent const moved = at[a] + by;
      at[a]              = (moved + mesh_.sizes[a]) % mesh_.sizes[a];
      by                 = moved == at[a] ? 0 : by;
    }
    extent rank = 0;
    for (std::size_t a = 0; a < mesh_.axes.size(); ++a) rank = rank * mesh_.sizes[a] + at[a];
    return rank;
  }

  named_mesh mesh_;
  extent rank_;
  machine_model machine_;
  std::string file_;
  std::uint64_t number_ = 0;
  std::uint64_t tag_    = 0;
  std::vector<std::uint64_t> before_;
  std::vector<call_in_flight> in_flight_;
  double computed_ = 0;
  extent flops_;  // left
  extent passed_;
};

}  // namespace detail

/// The content of a Chakra trace file (`step.0.et`) of the process `rank`: what it computes, with the
/// machine's microseconds, and each collective, in the order of the program. Processes of one mesh and layout
/// do alike, so another rank's file differs only in the peers of exchanges: write one for each rank that a
/// simulator asks for.
///
/// A collective's node has `comm_size`, the bytes that the process hands over (`payload`), `sent_bytes`, what
/// it sends under the ring model, and `involved_dim`, the axes, the innermost first, as ASTRA-sim counts a
/// network's dimensions. Permutations, halos and scans are a send to the next process along the axes and a
/// receive from the one before. The nodes' `num_ops` are the cost's flops, their `tensor_size` its
/// elementwise bytes. Errors: `software_error` for the cost of a pipeline's stage, whose values travel at the
/// ticks of its schedule.
template<Mesh M, std::size_t Capacity>
std::string chakra_trace(cost<M, Capacity> const& step, extent rank = 0, machine_model const& machine = {}) {
  detail::chakra_writer trace{named_mesh_of<M>, rank, machine, step.flops(), step.elementwise_bytes()};
  step.for_each_call([&trace](collective_call const& c) {
    if (c.kind == collective::hand_on)
      throw software_error(
          "expected the cost of a program without stages, got one that hands values on: a trace has no ticks "
          "of a schedule; trace the same program under a layout without staged<...>");
    trace.compute(c.since.flops(), c.since.passed());
    trace.call(c);
  });
  trace.finish();
  return trace.file();
}

}  // namespace v0
}  // namespace meshtf
