// SentencePiece's tokenizer: pieces of words, from a vocabulary that spm_train made of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/data/piece_model.hpp>
#include <meshtf/data/text.hpp>
#include <meshtf/data/tokenizer.hpp>
#include <meshtf/price/cost_hash.hpp>

// The library takes and fills vectors, and those of -D_GLIBCXX_DEBUG are others than its own.
#if MESHTF_WITH_SENTENCEPIECE && !defined(_GLIBCXX_DEBUG)
#define MESHTF_HAS_SENTENCEPIECE 1
#else
#define MESHTF_HAS_SENTENCEPIECE 0
#endif

#if MESHTF_HAS_SENTENCEPIECE && MESHTF_DEFINES_RUNTIME
#include <sentencepiece_processor.h>
#endif

namespace sentencepiece {
class SentencePieceProcessor;  // only definitions need it
}

namespace meshtf {
inline namespace v0 {

/// Converts text to ids and back as `spm_encode` and `spm_decode` do (Kudo and Richardson 2018). Needs the
/// library sentencepiece, and is not there with -D_GLIBCXX_DEBUG.
///
///     struct vocab : meshtf::dim<8000> {};
///     meshtf::sentencepiece_tokenizer const pieces{"joint.model", vocab::size};
///
/// Every process reads the file: `agreed(world, [&] { return sentencepiece_tokenizer{...}; })`. Several
/// threads may use one tokenizer.
class sentencepiece_tokenizer {
public:
#if MESHTF_HAS_SENTENCEPIECE
  /// Reads a model with `vocabulary` pieces. The library sees the file only after `check_piece_model` has.
  /// Errors: `no_input` if the file can't be read; `data_error` if it is not a model, or has another number
  /// of pieces.
  sentencepiece_tokenizer(std::string const& path, extent vocabulary);
#else
  template<class... Arguments>
  explicit sentencepiece_tokenizer(Arguments const&...) {
    static_assert(sizeof...(Arguments) == 0,
                  "meshtf: sentencepiece_tokenizer needs the library sentencepiece: apt install "
                  "libsentencepiece-dev, and configure again; without CMake: -DMESHTF_WITH_SENTENCEPIECE=1 "
                  "-lsentencepiece, and no -D_GLIBCXX_DEBUG");
  }
#endif

  extent vocabulary_size() const { return vocabulary_; }

  /// The FNV-1a hash of the file.
  std::uint64_t hash() const { return hash_; }

  /// Neither begins nor ends with an id of its own: `id_of("</s>")` is there to be added. What is not UTF-8
  /// becomes U+FFFD. Errors: `data_error` if there are more than `largest_vocabulary_file` bytes.
  std::vector<std::int32_t> encode(std::string_view text) const;

  /// Errors: `data_error` if an id is not in the vocabulary.
  std::string decode(std::span<std::int32_t const> ids) const;

  /// The id of a piece, such as "</s>". Errors: `usage_error` if the vocabulary lacks it.
  std::int32_t id_of(std::string_view piece) const;

private:
  struct deletes {
    void operator()(sentencepiece::SentencePieceProcessor* processor) const;
  };

  std::unique_ptr<sentencepiece::SentencePieceProcessor, deletes> processor_;
  extent vocabulary_  = 0;
  std::uint64_t hash_ = 0;
};
static_assert(Tokenizer<sentencepiece_tokenizer>);

#if MESHTF_HAS_SENTENCEPIECE && MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void sentencepiece_tokenizer::deletes::operator()(
    sentencepiece::SentencePieceProcessor* processor) const {
  delete processor;
}

MESHTF_DEFINE sentencepiece_tokenizer::sentencepiece_tokenizer(std::string const& path, extent vocabulary)
    : vocabulary_{vocabulary} {
  auto const file   = read_text(path);
  auto const pieces = detail::check_piece_model(path, file.bytes);
  if (pieces != vocabulary)
    throw data_error("expected " + path + " to have " + std::to_string(vocabulary) + " pieces, got " +
                     std::to_string(pieces) +
                     ": give the dimension of the vocabulary this size, or train the model with "
                     "spm_train --vocab_size=" +
                     std::to_string(vocabulary));
  hash_ = (fnv1a{} << file.bytes).value();
  processor_.reset(new sentencepiece::SentencePieceProcessor);
  if (auto const status = processor_->LoadFromSerializedProto(file.bytes); !status.ok())
    throw data_error("expected " + path + " to be a model of SentencePiece, got one that the library " +
                     "refuses: " + status.ToString() + ": train it anew with spm_train");
}

MESHTF_DEFINE std::vector<std::int32_t> sentencepiece_tokenizer::encode(std::string_view text) const {
  if (std::cmp_greater(text.size(), largest_vocabulary_file))
    throw data_error("expected a text of at most " + std::to_string(largest_vocabulary_file) +
                     " bytes to encode, got " + std::to_string(text.size()) + ": encode it line by line");
  std::vector<int> ids;
  if (auto const status = processor_->Encode(text, &ids); !status.ok())
    throw data_error("expected a text that SentencePiece encodes, got its error: " + status.ToString() +
                     ": look at the text, and at the options that the model was trained with");
  return {ids.begin(), ids.end()};
}

MESHTF_DEFINE std::string sentencepiece_tokenizer::decode(std::span<std::int32_t const> ids) const {
  for (std::size_t k = 0; k < ids.size(); ++k)
    if (ids[k] < 0 || ids[k] >= vocabulary_)
      throw data_error("expected ids from 0 to " + std::to_string(vocabulary_ - 1) + ", got " +
                       std::to_string(ids[k]) + " as number " + std::to_string(k) +
                       ": decode them with the vocabulary that they are of");
  std::string text;
  if (auto const status = processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text); !status.ok())
    throw data_error("expected ids that SentencePiece decodes, got its error: " + status.ToString() +
                     ": decode them with the vocabulary that they are of");
  return text;
}

MESHTF_DEFINE std::int32_t sentencepiece_tokenizer::id_of(std::string_view piece) const {
  auto const id = processor_->PieceToId(piece);
  if (id < 0 || id >= vocabulary_ || processor_->IdToPiece(id) != piece)
    throw usage_error("expected a piece of the vocabulary, got '" + std::string{piece} +
                      "': name one that spm_export_vocab lists");
  return id;
}

#endif

}  // namespace v0
}  // namespace meshtf
