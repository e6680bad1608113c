// Steps that an optimizer skips since a gradient is not finite.
#pragma once

#include <cstddef>
#include <string>

#include <meshtf/optim/global_norm.hpp>
#include <meshtf/optim/trained_list.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// How many steps an optimizer has skipped, in all and in a row.
class skipped_steps {
public:
  constexpr long count() const { return count_; }
  /// Whether a step that is skipped now ends the job.
  constexpr bool next_is_last(int at_most) const { return in_a_row_ + 1 >= at_most; }
  constexpr void note_taken() { in_a_row_ = 0; }
  /// Errors: `data_error` on all processes if it was the last of a row.
  template<class Machine, class List>
  void note_skipped(Machine& m, int at_most, element_found const& found, List const& list) {
    ++count_;
    m.say_skipped(m.step(), m.now());
    if (++in_a_row_ < at_most) return;
    std::string const parameter = found.is_there ? name_in(list, found.number) : "";
    m.end_not_finite(in_a_row_, m.step(), parameter, found.index, found.value);
  }

private:
  long count_   = 0;
  int in_a_row_ = 0;
};

/// Prepares gradients that are not yet added up for a look at all of them: their padding becomes 0. `looks`:
/// the first element of this process that is not finite is wanted, too.
template<class List>
constexpr element_found prepare_to_look(List const& list, bool looks) {
  element_found found{};
  std::size_t i = 0;
  list.for_each([&]<class W>(W& w) {
    std::size_t const number = i++;
    if (!w.slot().sum) return;
    clear_gradient_padding(w);
    if constexpr (W::machine_type::computes)
      if (looks && !found.is_there) found = first_not_finite(w.slot().sum->data(), w.size, number);
  });
  return found;
}

/// Whether all gradients of all processes, which are finished, are finite: one all-reduce of one number.
template<class Machine, class List>
constexpr bool gradients_are_finite(Machine& m, List const& list) {
  using number = norm_of<List>;
  norm_sum<typename number::element_type, typename number::layout_type> sum{m, count_in(list), true};
  add_gradients(sum, list);
  auto const norm = sum.norm(false);
  if constexpr (Machine::computes) return *norm.data() - *norm.data() == 0;
  else return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
