// The observer of a mesh: its profile, its part of the trace of the program, or both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <meshtf/core/compiled.hpp>
#include <meshtf/price/call_site.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/runtime/check.hpp>
#include <meshtf/runtime/profile.hpp>
#include <meshtf/runtime/trace.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A mesh has one if a profile or a trace is wanted; otherwise a call costs one comparison.
class observer {
public:
  /// The time from its construction to its destruction is that of a call.
  class span {
  public:
    span() = default;
    explicit span(observer& observed) : of_(&observed) {}
    span(span const&)           = delete;
    void operator=(span const&) = delete;
    ~span() {
      if (of_ != nullptr) of_->end();
    }

  private:
    observer* of_ = nullptr;
  };

  observer();
  ~observer();

  /// Null if neither a profile nor a trace of the mesh is wanted. All processes of `comm` call this; `place`
  /// are the coordinates of this one.
  static std::unique_ptr<observer> if_wanted(MPI_Comm comm, named_mesh const& mesh,
                                             std::span<extent const> place);

  /// From here on, until the span dies, the mesh does `w`. `step` is the optimizer's, from 1; `live` are the
  /// bytes on the mesh.
  span operation(work const& w, call_site const& site, long step, extent live);
  span collective(collective_call const& call, long step, extent live);

  /// The place in the trace of the call that has begun last and not ended; null if it has none.
  traced_call* open_call_in_trace() const {
    return depth_ == 0 || depth_ > open_.size() ? nullptr : open_[depth_ - 1].call;
  }

  /// The trace says which stage this process is of: stages lie along `over`, if it is not 0.
  void note_stages(axis_set over) {
    if (over != 0 && trace_ != nullptr) trace_->note_stages(mesh_, over);
  }

  /// The profile; from here on there is one.
  profile const& time_spent();
  /// Prints the profile, if there is one and the environment asked for it, to stderr.
  void print_profile(std::string_view mesh) const;

private:
  struct open_call {
    profile::figures* figures = nullptr;
    traced_call* call         = nullptr;
    std::int64_t begin        = 0;
  };

  traced_call& begin_call(traced_call& c, call_site const& site, long step, extent live) const;
  void begin(open_call opened);
  void end();

  std::unique_ptr<profile> profile_;
  trace_log* trace_ = nullptr;
  int mesh_         = 0;
  int collectives_  = 0;
  int handed_on_    = 0;
  std::array<int, std::size_t{1} << max_axes>
      collectives_over_{};           // by axes: each stage makes calls of its own
  std::array<open_call, 8> open_{};  // a call may consist of others, which end before it
  std::size_t depth_ = 0;
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE observer::observer()  = default;
MESHTF_DEFINE observer::~observer() = default;

MESHTF_DEFINE std::unique_ptr<observer> observer::if_wanted(MPI_Comm comm, named_mesh const& mesh,
                                                            std::span<extent const> place) {
  std::unique_ptr<profile> wished = profile::if_wanted();
  trace_log* const trace          = trace_log::here();
  if (!wished && trace == nullptr) return nullptr;
  auto made      = std::make_unique<observer>();
  made->profile_ = std::move(wished);
  made->trace_   = trace;
  if (trace != nullptr) {
    traced_mesh traced{.name = std::string{mesh.name}};
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
      traced.axes[a]        = mesh.axes[a];
      traced.sizes[a]       = mesh.sizes[a];
      traced.coordinates[a] = place[a];
    }
    made->mesh_ = trace->add(comm, std::move(traced));
  }
  return made;
}

MESHTF_DEFINE observer::span observer::operation(work const& w, call_site const& site, long step,
                                                 extent live) {
  open_call opened;
  if (profile_) opened.figures = &profile_->count(w, site);
  if (trace_ != nullptr)
    if ((opened.call = trace_->next_slot(step)) != nullptr) {
      auto& c = begin_call(*opened.call, site, step, live);
      c.kind  = w.kind;
      c.flops = w.flops;
      c.bytes = w.bytes;
      c.m     = w.m;
      c.n     = w.n;
      c.k     = w.k;
    }
  begin(opened);
  return span{*this};
}
MESHTF_DEFINE observer::span observer::collective(collective_call const& call, long step, extent live) {
  open_call opened;
  if (profile_) opened.figures = &profile_->count({.kind = "message", .bytes = call.payload}, call.site);
  if (trace_ != nullptr) {
    ++collectives_;  // also of steps that are not told
    // a stage hands on as often as it has neighbours: that is no number which all of them share
    int const among = ++(call.kind == collective::hand_on ? handed_on_ : collectives_over_[call.over]);
    if ((opened.call = trace_->next_slot(step)) != nullptr) {
      auto& c  = begin_call(*opened.call, call.site, step, live);
      c.kind   = to_string(call.kind).data();
      c.number = collectives_;
      c.among  = among;
      c.call   = call.kind;
      c.op     = call.op;
      c.type   = call.type;
      c.over   = call.over;
      c.count  = call.count;
      c.bytes  = call.payload;
      c.sent   = call.sent;
    }
  }
  begin(opened);
  return span{*this};
}

MESHTF_DEFINE profile const& observer::time_spent() {
  if (!profile_) profile_ = std::make_unique<profile>();
  return *profile_;
}
MESHTF_DEFINE void observer::print_profile(std::string_view mesh) const {
  if (profile_) profile_->print(mesh);
}

MESHTF_DEFINE traced_call& observer::begin_call(traced_call& c, call_site const& site, long step,
                                                extent live) const {
  c.site = site;
  c.step = step;
  c.live = live;
  c.mesh = mesh_;
  return c;
}
MESHTF_DEFINE void observer::begin(open_call opened) {
  opened.begin = trace_log::now();
  if (depth_ < open_.size()) open_[depth_] = opened;
  ++depth_;
}
MESHTF_DEFINE void observer::end() {
  if (--depth_ >= open_.size()) return;
  auto const& done        = open_[depth_];
  std::int64_t const time = trace_log::now();
  if (done.figures != nullptr) done.figures->seconds += 1e-9 * static_cast<double>(time - done.begin);
  if (done.call != nullptr) {
    done.call->begin = done.begin;
    done.call->end   = time;
  }
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
