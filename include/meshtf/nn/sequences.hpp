// What a model of sequences gets to see, from the ids of its targets.
#pragma once

#include <cstdint>

#include <meshtf/ops/pointwise/abs.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/pointwise/compare.hpp>
#include <meshtf/ops/pointwise/integer_division.hpp>
#include <meshtf/ops/pointwise/where.hpp>
#include <meshtf/ops/reduce/cumsum.hpp>
#include <meshtf/ops/shape/shift.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// The inputs of a model that predicts each target from those before it: the targets one position later along
/// `Length`, with 0 in front. Targets that are negative, whose loss is masked, are positive as inputs. Where
/// `Length` is split, each process hands one position to the next.
/// Source: Mesh TensorFlow's function of that name.
template<Dimension Length, Tensor Ids>
constexpr auto autoregressive_inputs(Ids const& targets,
                                     std::source_location at = std::source_location::current()) {
  return abs(shift<Length>(targets, 1, at), at);
}

/// The same of sequences that are packed into one, which `segments` numbers: 0 in front of each.
template<Dimension Length, Tensor Ids, Tensor Segments>
constexpr auto autoregressive_inputs(Ids const& targets, Segments const& segments,
                                     std::source_location at = std::source_location::current()) {
  auto const inputs  = autoregressive_inputs<Length>(targets, at);
  auto const goes_on = meshtf::equal(segments, shift<Length>(segments, 1, at), at);
  return where(goes_on, inputs, std::int32_t{0}, at);
}

/// Which ids along `Length` are inputs, where inputs and targets follow one another, each ended by the id
/// `end`: those after an even number of ends.
/// Source: Mesh TensorFlow's function of that name.
template<Dimension Length, Tensor Ids>
constexpr auto delimited_lm_inputs_mask(Ids const& ids, std::int32_t end = 1,
                                        std::source_location at = std::source_location::current()) {
  auto const ends = cast<std::int32_t>(meshtf::equal(ids, end, at), at);
  return meshtf::equal(modulo(cumsum<Length>(ends, {.exclusive = true}, at), std::int32_t{2}, at),
                       std::int32_t{0}, at);
}

MESHTF_ACCEPT_REJECTED(autoregressive_inputs)
MESHTF_ACCEPT_REJECTED(delimited_lm_inputs_mask)

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
