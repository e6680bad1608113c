// The parameters of a list during an optimizer's step, and what is wrong with their gradients.
#pragma once

#include <cstddef>
#include <string>

#include <meshtf/core/exchange.hpp>
#include <meshtf/optim/trained.hpp>
#include <meshtf/optim/treatment.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The parameters of a list that have gradients, in order, during a step. `Step` visits them:
/// Step::visit<T>(trained<T, Machine>&, phase).
///
/// A parameter is an entry with a function pointer, like an operation on the tape, since element types may be
/// mixed.
template<class Machine, class Step>
class trained_list {
public:
  template<class List>
  constexpr trained_list(List const& list, bool shares, treatments const& treated) {
    list.for_each([&, this](auto& w) {
      machine_ = &w.machine();
      if (w.slot().sum) this->add(trained_of(w, shares, treated, listed_));
      ++listed_;
    });
  }
  trained_list(trained_list const&)   = delete;
  void operator=(trained_list const&) = delete;
  constexpr ~trained_list() {
    while (first_ != nullptr) {
      entry* const e = detail::exchange(first_, first_->next);
      e->visit_or_destroy(e, nullptr, typename Step::phase{});
    }
  }

  /// Null if the list has no parameters.
  constexpr Machine* machine_of_list() const { return machine_; }
  constexpr std::size_t size() const { return size_; }
  /// Those without a gradient too, which may be of another stage.
  constexpr std::size_t listed() const { return listed_; }

  constexpr void visit(Step& step, typename Step::phase phase_now) const {
    for (entry* e = first_; e != nullptr; e = e->next) e->visit_or_destroy(e, &step, phase_now);
  }

private:
  struct entry {
    void (*visit_or_destroy)(entry*, Step*, typename Step::phase);
    entry* next = nullptr;
  };
  template<class T>
  struct entry_of : entry {
    trained<T, Machine> parameter;
    Machine* machine;
  };

  template<class T>
  constexpr void add(trained<T, Machine> const& w) {
    using made = entry_of<T>;
    if (w.settings.frozen) return w.drop_gradient();
    *last_ = machine_->template create<made>(entry{&visit_or_destroy<T>}, w, machine_);
    last_  = &(*last_)->next;
    ++size_;
  }
  /// Lets `step` visit the parameter; without a step, destroys the entry.
  template<class T>
  static constexpr void visit_or_destroy(entry* e, Step* step, typename Step::phase phase_now) {
    auto* const own = static_cast<entry_of<T>*>(e);
    if (step != nullptr) step->visit(own->parameter, phase_now);
    else own->machine->destroy(own);
  }

  Machine* machine_   = nullptr;
  entry* first_       = nullptr;
  entry** last_       = &first_;
  std::size_t size_   = 0;
  std::size_t listed_ = 0;
};

/// An element of this process's gradients that is not finite.
struct element_found {
  bool is_there      = false;
  std::size_t number = 0;  // of the parameter in the list
  extent index       = 0;
  double value       = 0;
};

template<class T>
element_found first_not_finite(T const* x, extent n, std::size_t number) {
  for (extent i = 0; i < n; ++i)
    if (!(x[i] - x[i] == 0))
      return {.is_there = true, .number = number, .index = i, .value = static_cast<double>(x[i])};
  return {};
}

/// The name of parameter `number` of a list.
template<class List>
std::string name_in(List const& list, std::size_t number) {
  std::string found;
  std::size_t i = 0;
  list.for_each_named([&]<class P>(std::string const& name, P const&) {
    if constexpr (Parameter<P>)
      if (i++ == number) found = name;
  });
  return found;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
