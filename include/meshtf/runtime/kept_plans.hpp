// The plans that a process made for itself, where processes hold unequally much.
#pragma once

#include <memory>

#include <meshtf/core/compiled.hpp>
#include <meshtf/plan/task.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Plans of some loops, for the counts of a number: they are kept for the sixteen counts that came last.
class kept_plans {
public:
  kept_plans();
  kept_plans(kept_plans const&)     = delete;
  void operator=(kept_plans const&) = delete;
  ~kept_plans();

  /// Null if there is none.
  void const* find(task_loops const* loops, unsigned counted) const;
  /// Returns the plan.
  void const* keep(task_loops const* loops, unsigned counted, std::shared_ptr<void const> plan);

private:
  struct table;
  std::unique_ptr<table> table_;
};

#if MESHTF_DEFINES_RUNTIME

struct kept_plans::table {
  struct plan {
    unsigned counted = 0;
    std::shared_ptr<void const> steps;
  };
  std::unordered_map<task_loops const*, std::vector<plan>> plans;
};

MESHTF_DEFINE kept_plans::kept_plans() : table_{std::make_unique<table>()} {}
MESHTF_DEFINE kept_plans::~kept_plans() = default;

MESHTF_DEFINE void const* kept_plans::find(task_loops const* loops, unsigned counted) const {
  auto const found = table_->plans.find(loops);
  if (found == table_->plans.end()) return nullptr;
  for (table::plan const& p : found->second)
    if (p.counted == counted) return p.steps.get();
  return nullptr;
}

MESHTF_DEFINE void const* kept_plans::keep(task_loops const* loops, unsigned counted,
                                           std::shared_ptr<void const> plan) {
  constexpr std::size_t max_plans = 16;
  auto& kept                      = table_->plans[loops];
  if (kept.size() == max_plans) kept.erase(kept.begin());
  kept.push_back({counted, std::move(plan)});
  return kept.back().steps.get();
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
