// What all tokenizers have in common.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

/// Converts texts to ids and back.
///
/// Ids are at least 0 and less than `vocabulary_size()`. `hash()` is the same for the same vocabulary, on
/// every machine: a checkpoint that was trained with one vocabulary is of no use with another.
template<class T>
concept Tokenizer = requires(T const& tokenizer, std::string_view text, std::span<std::int32_t const> ids) {
  { tokenizer.vocabulary_size() } -> std::same_as<extent>;
  { tokenizer.encode(text) } -> std::same_as<std::vector<std::int32_t>>;
  { tokenizer.decode(ids) } -> std::same_as<std::string>;
  { tokenizer.hash() } -> std::same_as<std::uint64_t>;
};

}  // namespace v0
}  // namespace meshtf
