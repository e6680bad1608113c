// How often a record has noted what it has, so that the calls of one micro-batch can be counted for others.
#pragma once

#include <cstddef>

#include <meshtf/search/record.hpp>

namespace meshtf {
inline namespace v0 {

/// How often calls have been noted, and how many bytes of each kind left for a file or came back.
template<class Record>
struct record_times {
  small_array<extent, Record::max_calls> of_calls{};
  small_array<extent, Record::max_kinds> spilled{};

  constexpr explicit record_times(Record const& record) : spilled(record.spilled) {
    for (std::size_t i = 0; i < record.call_count; ++i) of_calls.element[i] = record.calls.element[i].times;
  }

  /// What the record has noted since then is noted `times` more times.
  constexpr void count_again(Record& record, extent times) const {
    for (std::size_t i = 0; i < record.call_count; ++i)
      record.calls.element[i].times += times * (record.calls.element[i].times - of_calls.element[i]);
    for (std::size_t k = 0; k < record.kind_count; ++k)
      record.spilled.element[k] += times * (record.spilled.element[k] - spilled.element[k]);
  }
};

}  // namespace v0
}  // namespace meshtf
