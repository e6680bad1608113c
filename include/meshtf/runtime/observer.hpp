// What looks on while a mesh works: its profile, its part of the trace of the program, or both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <meshtf/price/call_site.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/runtime/profile.hpp>
#include <meshtf/runtime/trace.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A mesh has one if somebody wants to know what it does; otherwise a call costs one comparison.
class observer {
public:
  /// The time from its construction to its destruction is that of a call.
  class span {
  public:
    span() = default;
    explicit span(observer& of) : of_(&of) {}
    span(span const&)           = delete;
    void operator=(span const&) = delete;
    ~span() {
      if (of_ != nullptr) of_->end();
    }

  private:
    observer* of_ = nullptr;
  };

  /// Null if neither a profile nor a trace is wanted. `mesh_of` describes the mesh, and all processes of `comm` call this.
  template<class MeshOf>
  static std::unique_ptr<observer> if_wanted(MPI_Comm comm, MeshOf const& mesh_of) {
    auto wanted_profile   = profile::if_wanted();
    trace_log* const told = trace_log::here();
    if (!wanted_profile && told == nullptr) return nullptr;
    auto made      = std::make_unique<observer>();
    made->profile_ = std::move(wanted_profile);
    if (told != nullptr) {
      made->trace_ = told;
      made->mesh_  = told->add(comm, mesh_of());
    }
    return made;
  }

  /// From here on, until the span dies, the mesh does `w`. `step` is the optimizer's, from 1; `live` are the bytes on the mesh.
  span operation(work const& w, call_site const& site, long step, extent live) {
    open_call now;
    if (profile_) now.figures = &profile_->count(w, site);
    if (trace_ != nullptr)
      if ((now.call = trace_->room(step)) != nullptr) {
        auto& c = begin_call(*now.call, site, step, live);
        c.kind = w.kind, c.flops = w.flops, c.bytes = w.bytes, c.m = w.m, c.n = w.n, c.k = w.k;
      }
    begin(now);
    return span{*this};
  }
  span collective(collective_call const& what, long step, extent live) {
    open_call now;
    if (profile_) now.figures = &profile_->count({.kind = "message", .bytes = what.payload}, what.site);
    if (trace_ != nullptr) {
      ++collectives_;  // also of steps that are not told
      if ((now.call = trace_->room(step)) != nullptr) {
        auto& c = begin_call(*now.call, what.site, step, live);
        c.kind = to_string(what.kind).data(), c.number = collectives_, c.call = what.kind, c.op = what.op, c.type = what.type, c.over = what.over;
        c.count = what.count, c.bytes = what.payload, c.sent = what.sent;
      }
    }
    begin(now);
    return span{*this};
  }

  /// The profile; from here on there is one.
  profile const& time_spent() {
    if (!profile_) profile_ = std::make_unique<profile>();
    return *profile_;
  }
  /// Prints the profile, if there is one and the environment asked for it, to stderr.
  void print_profile(std::string_view mesh) const {
    if (profile_) profile_->print(mesh);
  }

private:
  struct open_call {
    profile::figures* figures = nullptr;
    traced_call* call         = nullptr;
    std::int64_t begin        = 0;
  };

  traced_call& begin_call(traced_call& c, call_site const& site, long step, extent live) const {
    c.site = site, c.step = step, c.live = live, c.mesh = mesh_;
    return c;
  }
  void begin(open_call now) {
    now.begin = trace_log::now();
    if (depth_ < open_.size()) open_[depth_] = now;
    ++depth_;
  }
  void end() {
    if (--depth_ >= open_.size()) return;
    auto const& done       = open_[depth_];
    std::int64_t const now = trace_log::now();
    if (done.figures != nullptr) done.figures->seconds += 1e-9 * static_cast<double>(now - done.begin);
    if (done.call != nullptr) done.call->begin = done.begin, done.call->end = now;
  }

  std::unique_ptr<profile> profile_;
  trace_log* trace_ = nullptr;
  int mesh_ = 0, collectives_ = 0;
  std::array<open_call, 8> open_{};  // a call may consist of others, which end before it
  std::size_t depth_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
