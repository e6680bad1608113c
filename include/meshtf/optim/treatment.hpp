// Parameters that an optimizer steps unlike the rest: with a rate of their own, with or without decay, or not
// at all.
#pragma once

#include <utility>

#include <meshtf/core/exchange.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Yes, no, or nothing said. (`std::optional` would be instantiated in every program that has an optimizer.)
class perhaps {
public:
  constexpr perhaps() = default;
  constexpr perhaps(bool yes) : said_(yes ? 1 : 0) {}
  constexpr bool value_or(bool otherwise) const { return said_ < 0 ? otherwise : said_ == 1; }

private:
  int said_ = -1;
};

}  // namespace detail

/// How an optimizer steps some parameters: `opt.treat(parameters(net.embedding), {.rate = 0.1})`.
struct treatment {
  /// Times the optimizer's rate, so that a schedule acts on all.
  double rate = 1;
  /// Whether the weights decay. If nothing is said, the optimizer decides by the number of dimensions
  /// (`decayed_rank`).
  detail::perhaps decays{};
  /// A frozen parameter keeps its values. Its gradient is discarded: it is not sent, and does not count in
  /// the norm of all gradients.
  bool frozen = false;

  constexpr bool decays_at(int rank, int min_rank) const { return decays.value_or(rank >= min_rank); }
};

namespace detail {

/// The treatments that parameters were given, by the address of their weights.
class treatments {
public:
  constexpr treatments() = default;
  constexpr treatments(treatments&& other) noexcept : first_(detail::exchange(other.first_, nullptr)) {}
  constexpr treatments& operator=(treatments&& other) noexcept {
    std::swap(first_, other.first_);
    return *this;
  }
  constexpr ~treatments() {
    while (first_ != nullptr) delete detail::exchange(first_, first_->next);
  }

  constexpr void give(void const* weights, treatment const& settings) {
    entry** link = &first_;
    while (*link != nullptr && (*link)->weights != weights) link = &(*link)->next;
    if (*link == nullptr) *link = new entry{weights, settings, nullptr};
    else (*link)->settings = settings;
  }
  constexpr treatment of(void const* weights) const {
    for (entry const* e = first_; e != nullptr; e = e->next)
      if (e->weights == weights) return e->settings;
    return {};
  }

private:
  struct entry {
    void const* weights;
    treatment settings;
    entry* next;
  };
  entry* first_ = nullptr;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
