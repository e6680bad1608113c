// SentencePiece: a model made here is read and encodes; what is wrong with a file is said before the library
// sees it.
#include <functional>
#include <string>
#include <vector>

#include <meshtf/data/byte_tokenizer.hpp>
#include <meshtf/data/sentencepiece_tokenizer.hpp>

#include "../catch.hpp"
#include "files.hpp"

using namespace meshtf;

static_assert(Tokenizer<byte_tokenizer> && Tokenizer<sentencepiece_tokenizer>);
static_assert(byte_tokenizer::hash() == (fnv1a{} << "byte_tokenizer").value());

namespace {

// ---- protocol buffers

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string number(unsigned field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string message(unsigned field, std::string const& content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}

/// A piece with a score of 0.
std::string piece(std::string const& text, unsigned type = 1) {
  return message(1, message(1, text) + varint(2 << 3 | 5) + std::string(4, '\0') + number(3, type));
}

/// "\u2581" is SentencePiece's space.
std::string pieces() {
  return piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3) + piece("\u2581") + piece("a") + piece("b") +
         piece("\u2581ab");
}
constexpr extent count_of_pieces = 7;

/// Of byte pair encoding, with a normalizer that changes nothing but what `rules` say.
std::string model(std::string const& rules = "", std::string const& its_pieces = pieces()) {
  return its_pieces + message(2, number(3, 2)) +
         message(3, message(1, "identity") + (rules.empty() ? "" : message(2, rules)));
}

std::string word(std::uint32_t value) {
  std::string bytes;
  for (unsigned k = 0; k < 4; ++k) bytes.push_back(static_cast<char>(value >> 8 * k & 0xff));
  return bytes;
}

/// The rules of a normalizer: a trie of these units, zeros after them, and texts.
std::string rules(std::vector<std::uint32_t> units, std::string const& texts = std::string(1, '\0')) {
  units.resize(512);
  std::string trie;
  for (auto const unit : units) trie += word(unit);
  return word(static_cast<std::uint32_t>(trie.size())) + trie + texts;
}

std::string write(std::string const& path, std::string const& content) {
  return files::write(path, {content.begin(), content.end()});
}

template<class Error>
std::string complaint(std::function<void()> const& f) {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  return "nothing";
}

std::string refused(std::string const& bytes) {
  return complaint<data_error>([&] { detail::check_piece_model("m", bytes); });
}

bool says(std::string const& text, std::string const& words) { return text.find(words) != text.npos; }

}  // namespace

TEST_CASE("a model of SentencePiece is checked from its first byte to its last") {
  CHECK(detail::check_piece_model("m", model()) == count_of_pieces);
  CHECK(detail::check_piece_model("m", model(rules({}))) == count_of_pieces);
  CHECK(says(refused(""),
             "expected m to be a model of SentencePiece, got a file without pieces before byte 0: train"));
  CHECK(says(refused("Not a model, but a text."), "got a field"));
  CHECK(says(refused(piece("")), "a piece without text before byte"));
  CHECK(says(refused(piece("a") + piece(std::string("b\0c", 3))), "a piece with a zero in it"));
  CHECK(says(refused(piece(std::string(100'000, 'a'))), "a piece of 100000 bytes"));
  CHECK(says(refused(piece("a", 9)), "a piece of no known type"));
  CHECK(says(refused(piece("a") + number(2, 7)), "a part that is no message"));
  CHECK(says(refused(std::string(11, '\xff')), "a number of more than 64 bits"));
  for (std::size_t n = 1; n < model().size(); ++n) {  // cut off within a field, or after one
    auto const words = refused(model().substr(0, n));
    CHECK((words == "nothing" || says(words, "before byte")));
  }
}

TEST_CASE("the tables of a model's normalizer lead nowhere outside of them") {
  CHECK(says(refused(model("abc")), "whose trie has no such size"));
  CHECK(says(refused(model(word(6) + std::string(100, '\0'))), "whose trie has no such size"));
  CHECK(says(refused(model(word(400) + std::string(400, '\0'))), "whose trie has no such size"));
  CHECK(says(refused(model(rules({}, "x"))), "do not end with a zero"));
  CHECK(refused(model(rules({1U << 10}))) == "nothing");
  CHECK(says(refused(model(rules({512U << 10}))), "lead out of their trie"));
  CHECK(says(refused(model(rules({1U << 10 | 0x200}))), "nothing"));
  CHECK(says(refused(model(rules({2U << 10 | 0x200}))), "lead out of their trie"));  // the offset times 256
  CHECK(says(refused(model(rules({1U << 10 | 0x100, 0x80000001U}))), "lead out of their texts"));
  CHECK(refused(model(rules({1U << 10 | 0x100, 0x80000001U}, std::string(2, '\0')))) == "nothing");
}

#if MESHTF_HAS_SENTENCEPIECE

TEST_CASE("a model of SentencePiece encodes and decodes") {
  files::folder const at;
  auto const path = write(at / "m", model());
  sentencepiece_tokenizer const tokenizer{path, count_of_pieces};
  CHECK(tokenizer.vocabulary_size() == count_of_pieces);
  CHECK(tokenizer.hash() == (fnv1a{} << model()).value());
  CHECK(tokenizer.encode("a b") == std::vector<std::int32_t>{3, 4, 3, 5});
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.decode(std::vector<std::int32_t>{3, 4, 3, 5}) == "a b");
  CHECK(tokenizer.decode({}).empty());
  CHECK(tokenizer.id_of("</s>") == 2);
  CHECK(says(complaint<usage_error>([&] { tokenizer.id_of("</t>"); }), "got '</t>'"));
  for (std::int32_t const id : {-1, 7})
    CHECK(says(complaint<data_error>([&] { tokenizer.decode(std::vector{3, id}); }),
               "expected ids from 0 to 6, got " + std::to_string(id) + " as number 1"));
  CHECK(says(complaint<data_error>([&] { sentencepiece_tokenizer{path, 8}; }),
             "to have 8 pieces, got 7: give the dimension of the vocabulary this size"));
  CHECK(says(complaint<no_input>([&] { sentencepiece_tokenizer{at / "none", 8}; }), "none"));
  CHECK(says(complaint<data_error>(
                 [&] { sentencepiece_tokenizer{write(at / "d", model("", pieces() + piece("a"))), 8}; }),
             "one that the library refuses"));
}

TEST_CASE("no bit of a model that is another ends the program") {
  files::folder const at;
  auto const sound = model(rules({1U << 10}));
  for (std::size_t i = 0; i < sound.size(); i += i < 200 ? 1 : 31)
    for (int bit = 0; bit < 8; ++bit) {
      auto other = sound;
      other[i]   = static_cast<char>(other[i] ^ 1 << bit);
      try {
        sentencepiece_tokenizer const tokenizer{write(at / "m", other), count_of_pieces};
        tokenizer.decode(tokenizer.encode("a ab\xff b"));
      } catch (data_error const&) {
      }
    }
  SUCCEED();
}

#endif
