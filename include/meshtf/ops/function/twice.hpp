// twice: a function forward and backward two times, to find a machine that computes wrongly.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <meshtf/core/exchange.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/ops/shape/stop_gradient.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/tensor/parameters.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// "element 3 of its part of the gradient of net.w is 0.5 the first time and 0.25 the second". Defined with
/// the processes, so that a plan, which has no values, need not compile it.
std::string twice_words(std::string_view what, extent index, double first, double second);

/// The first element that two runs have not in common.
struct difference_of_runs {
  std::string words{};

  template<class T>
  void look(std::string_view what, extent index, T first, T second) {
    if (words.empty() && std::memcmp(&first, &second, sizeof first) != 0)
      words = twice_words(what, index, static_cast<double>(first), static_cast<double>(second));
  }
  /// Padding, and what is not counted now, may differ.
  template<class X, class Machine>
  void look(Machine const& m, std::string_view what, typename X::element_type const* first,
            typename X::element_type const* second) {
    auto const& dims = placed_dims<typename X::layout_type, typename X::shape_type>;
    for_each_run(dims, m.place(), m.counted(), [&](extent from, extent, extent n) {
      for (extent i = from; i < from + n; ++i) look(what, i, first[i], second[i]);
    });
  }
};

/// What two runs leave in the tensors of a list: the gradients of its parameters, and the values of what is
/// not trained. `Machine` is that of the list.
template<class Machine>
class two_runs {
public:
  template<class List>
  constexpr two_runs(Machine& m, List const& list) : machine_(m) {
    list.for_each_tensor([this](auto& w) { this->add(w); });
  }
  two_runs(two_runs const&)       = delete;
  void operator=(two_runs const&) = delete;
  constexpr ~two_runs() {
    while (first_ != nullptr) {
      entry* const e = detail::exchange(first_, first_->next);
      e->visit(e, phase::destroy, nullptr, {});
    }
  }

  /// After the first run: keeps what it left, and puts back what was before.
  constexpr void begin_again() { visit_all(phase::begin_again); }
  /// After the second: gradients that were there before are added.
  constexpr void end() { visit_all(phase::end); }

  template<class List>
  void compare(List const& list, difference_of_runs& found) const {
    entry* e = first_;
    list.for_each_named([&](std::string const& name, auto const&) {
      e->visit(e, phase::compare, &found, name);
      e = e->next;
    });
  }

private:
  enum class phase { begin_again, compare, end, destroy };

  struct entry {
    void (*visit)(entry*, phase, difference_of_runs*, std::string_view name);
    entry* next = nullptr;
  };
  /// `slot`: its gradient; `before` and `first_run` are gradients.
  template<class W>
  struct parameter_entry : entry {
    using slot_type = slot<typename W::element_type, Machine>;
    W* w;
    slot_type before;
    slot_type first_run{};

    constexpr void begin_again() { first_run = detail::exchange(w->slot(), fresh(*w)); }
    constexpr void end() {
      if (!before.sum) return;
      using tensor_type =
          tensor_of<typename W::element_type, typename W::layout_type, typename W::shape_type>;
      contribute(*w, tensor_type{w->machine(), before.sum}, before.unreduced, before.why);
    }
    void compare(difference_of_runs& found, std::string_view name) const {
      auto const& again      = w->slot();
      std::string const what = "the gradient of " + std::string{name};
      if (!first_run.sum && !again.sum) return;
      if (!first_run.sum || !again.sum || first_run.unreduced != again.unreduced) {
        if (found.words.empty()) found.words = what + " is computed in one of the two runs alone";
        return;
      }
      found.template look<W>(w->machine(), what, first_run.sum->data(), again.sum->data());
    }
    static constexpr slot_type fresh(W const& w) {
      slot_type made{};
      made.stays_unreduced = w.slot().stays_unreduced;
      return made;
    }
  };
  template<class W>
  struct kept_entry : entry {
    using handle = typename W::handle_type;
    W* w;
    handle before;
    handle first_run{};

    constexpr void begin_again() {
      if (!before) return;
      first_run = copy_of(*w);
      w->handle()->written();
      w->machine().copy(W::size, before->data(), w->handle()->data());
    }
    constexpr void end() {}
    void compare(difference_of_runs& found, std::string_view name) const {
      if (!before) return;
      found.template look<W>(w->machine(), name, first_run->data(), w->handle()->data());
    }
    /// Nothing if another stage has the values.
    static constexpr handle copy_of(W& w) {
      if (w.handle()->is_absent()) return {};
      auto& m   = w.machine();
      auto made = handle::make(m, m, W::size);
      m.copy(W::size, w.handle()->data(), made->data());
      return made;
    }
  };

  template<class W>
  constexpr void add(W& w) {
    if constexpr (Parameter<W>) {
      using made = parameter_entry<W>;
      append(machine_.template create<made>(entry{&visit_entry<made>}, &w,
                                            detail::exchange(w.slot(), made::fresh(w))));
    } else {
      using made = kept_entry<W>;
      append(machine_.template create<made>(entry{&visit_entry<made>}, &w, made::copy_of(w)));
    }
  }
  constexpr void append(entry* e) {
    *last_ = e;
    last_  = &e->next;
  }
  template<class Entry>
  static constexpr void visit_entry(entry* e, phase now, difference_of_runs* found, std::string_view name) {
    auto* const own = static_cast<Entry*>(e);
    switch (now) {
      case phase::begin_again: return own->begin_again();
      case phase::end: return own->end();
      case phase::destroy: return own->w->machine().destroy(own);
      case phase::compare:
        if constexpr (Machine::computes) own->compare(*found, name);
    }
  }
  constexpr void visit_all(phase now) {
    for (entry* e = first_; e != nullptr; e = e->next) e->visit(e, now, nullptr, {});
  }

  Machine& machine_;
  entry* first_ = nullptr;
  entry** last_ = &first_;
};

/// While it lives, no sum of gradients begins during a backward pass.
template<class Machine>
class no_early_sums {
public:
  constexpr explicit no_early_sums(Machine& m)
      : machine_(m), before_(detail::exchange(m.early_sums(), nullptr)) {}
  no_early_sums(no_early_sums const&)  = delete;
  void operator=(no_early_sums const&) = delete;
  constexpr ~no_early_sums() { machine_.early_sums() = before_; }

private:
  Machine& machine_;
  early_sums_hook* before_;
};

/// f(x...) forward and, unless it has done that itself, backward.
template<class F, class... X>
constexpr auto there_and_back(F const& f, X const&... x) {
  auto loss = f(x...);
  if (loss.needs_gradient()) backward(loss);
  return stop_gradient(loss);
}

/// Errors: `software_error` on all processes if a process has seen a difference.
template<class Machine, class List, class Loss>
constexpr void expect_equal_runs(Machine& m, two_runs<Machine> const& runs, List const& list,
                                 Loss const& first, Loss const& second) {
  int differs         = 0;
  auto const join_all = [&] {
    m.all_reduce(reduction::max, &differs, 1, joining_axes<typename Machine::mesh_type>);
  };
  if constexpr (Machine::computes) {
    difference_of_runs found;
    if (!second.handle()->is_absent())
      found.template look<Loss>(m, "the loss", first.handle()->data(), second.handle()->data());
    runs.compare(list, found);
    differs = found.words.empty() ? 0 : 1;
    join_all();
    if (differs != 0) m.end_runs_differ(found.words);
  } else {
    join_all();
  }
}

}  // namespace detail

/// Computes the loss f(x...) and its gradients twice, from the same values, and compares the bits: a machine
/// that computes wrongly without a word is found before the optimizer's step. In place of `backward`; returns
/// the loss as data.
///
///     auto const loss = twice(parameters(net), [&net](auto const& x) { return net.loss(x); }, x);
///     opt.step(parameters(net));
///
/// The second run begins with the values that everything in `list` had before the first, `state` too. What f
/// itself counts or reads, such as a clock, makes runs differ; random values depend on their keys alone. The
/// loss, all gradients and all `state` are compared on each process, before gradients are added up over
/// processes. Gradients that were there before are kept, and added to those of the second run. f may call
/// `accumulate`, which goes backward itself. `early_sums` do nothing meanwhile.
///
/// It costs both runs, copies of what is not trained, the memory of a second set of gradients, and one
/// all-reduce of one number over the whole mesh: the price has all of this. It does not include the
/// comparison, which reads each gradient twice.
/// Errors: `software_error` (status 70) on all processes if runs differ; it names the first process that saw
/// it, the array and the first element there.
template<class... Part, class F, class... X>
  requires(!detail::AnyRejected<X...>)
constexpr auto twice(parameter_list<Part...> const& list, F const& f, X const&... x) {
  auto& m            = detail::machine_of(list, "twice");
  using machine_type = std::remove_reference_t<decltype(m)>;
  using loss_type    = decltype(f(x...));
  if constexpr (detail::AnyRejected<loss_type>) {
    return loss_type{};
  } else {
    detail::no_early_sums const later{m};
    m.begin_operation("twice");
    detail::two_runs<machine_type> runs{m, list};
    auto const first = detail::there_and_back(f, x...);
    m.begin_operation("twice");
    runs.begin_again();
    auto second = detail::there_and_back(f, x...);
    m.begin_operation("twice");
    detail::expect_equal_runs(m, runs, list, first, second);
    runs.end();
    return second;
  }
}

MESHTF_ACCEPT_REJECTED(twice)

}  // namespace v0
}  // namespace meshtf
