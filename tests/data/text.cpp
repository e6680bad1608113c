// Text: what is in a file is read, whatever is wrong with it is said with its name, and bytes are tokens.
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <meshtf/data/byte_tokenizer.hpp>
#include <meshtf/data/text.hpp>

#include "../catch.hpp"
#include "files.hpp"

using namespace meshtf;

namespace {

/// All 256 bytes, zero and line ends among them.
std::string every_byte() {
  std::string all;
  for (int b = 0; b < 256; ++b) all.push_back(static_cast<char>(b));
  return all;
}

std::string write(std::string const& path, std::string const& content) {
  return files::write(path, {content.begin(), content.end()});
}

/// What f complains of, and the status that a program would end with.
template<class Error>
std::string complaint(std::function<void()> const& f) {
  try {
    f();
  } catch (Error const& e) {
    return std::to_string(e.exit_status()) + " " + e.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("a text is read as it was written") {
  files::folder const at;
  auto const path = write(at / "text", every_byte());
  auto const read = read_text(path);
  CHECK(read.name == path);
  CHECK(read.bytes == every_byte());
  CHECK(read.size() == 256);

  // more than one piece of memory, and a size that fills one exactly
  for (std::size_t n : {std::size_t{1} << 20, std::size_t{3'000'001}}) {
    std::string many(n, 'a');
    many.back() = 'z';
    CHECK(read_text(write(at / "many", many)).bytes == many);
  }
}

TEST_CASE("what is no text is refused with its name") {
  files::folder const at;
  auto const refusal = [](auto const& path) { return complaint<error>([&] { read_text(path); }); };
  CHECK(refusal(at / "none") ==
        "66 expected to read the text " + (at / "none") +
            ", got: No such file or directory: name a file that is there and that you may read");
  CHECK(refusal(std::string{}).starts_with("66 expected to read the text , got: No such file"));
  CHECK(refusal(write(at / "empty", "")) ==
        "65 expected text in " + (at / "empty") + ", got an empty file: name another one");
  CHECK(refusal(at.path()) ==
        "65 expected " + at.path() + " to be a file of text, got a directory: name a file in it");
  CHECK(refusal(at / "empty" + "/below").starts_with("66 "));
  CHECK(refusal("/dev/zero")
            .starts_with(
                "65 expected /dev/zero to be a regular file, since every process reads it, got a device or a "
                "pipe"));
  // a hole, which takes no room
  std::filesystem::resize_file(write(at / "huge", ""), (std::uintmax_t{1} << 32) + 1);
  CHECK(refusal(at / "huge") ==
        "65 expected " + (at / "huge") +
            " to have at most 4294967296 bytes, since every process keeps all of them, got 4294967297: take "
            "a part of it (head -c)");
  // a pipe that nobody writes to would be waited for without end
  REQUIRE(mkfifo((at / "pipe").c_str(), 0600) == 0);
  CHECK(refusal(at / "pipe").starts_with("65 expected " + (at / "pipe") + " to be a regular file"));
  if (geteuid() != 0) {
    std::filesystem::permissions(write(at / "locked", "text"), std::filesystem::perms::none);
    CHECK(refusal(at / "locked")
              .starts_with("66 expected to read the text " + (at / "locked") + ", got: Permission denied"));
  }
}

TEST_CASE("the end of a text is held out") {
  text whole{"numbers", {}};
  for (int i = 0; i < 200; ++i) whole.bytes.push_back(static_cast<char>(i));
  auto const [training, held_out] = split_text(whole, 0.05);
  CHECK(training.size() == 190);
  CHECK(held_out.size() == 10);
  CHECK(training.bytes + held_out.bytes == whole.bytes);
  CHECK(training.name == "numbers without its held-out end");
  CHECK(held_out.name == "the held-out end of numbers");
  CHECK(split_text(whole).held_out.bytes == held_out.bytes);

  // what is left of a byte stays in training; a share that is no binary fraction counts as it is written
  whole.bytes.resize(119);
  CHECK(split_text(whole, 0.05).held_out.size() == 5);
  whole.bytes.resize(10);
  for (int tenths = 1; tenths < 10; ++tenths)
    CHECK(split_text(whole, 0.1 * tenths).held_out.size() == tenths);
  whole.bytes.resize(3'000'000);
  CHECK(split_text(whole, 0.000'001).held_out.size() == 3);
  CHECK(split_text(whole, 0.999'999).training.size() == 3);
}

TEST_CASE("a share that holds out nothing or all is refused") {
  text const whole{"short", "nineteen bytes here"};
  for (double share : {0.0, 1.0, -0.05, 5.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK(complaint<usage_error>([&] { split_text(whole, share); })
              .starts_with("64 expected a held-out share of more than 0 and less than 1, got " +
                           std::to_string(share) + ": "));
  CHECK(complaint<data_error>([&] { split_text(whole, 0.05); }) ==
        "65 expected short to be long enough to hold out 50000 millionths of it, got 19 bytes: take a longer "
        "text, or another share");
  CHECK(complaint<data_error>([&] {
          split_text(text{"none", ""}, 0.5);
        }).starts_with("65 expected none to be long enough"));
}

TEST_CASE("bytes are tokens") {
  auto const ids = byte_tokenizer::encode(every_byte());
  REQUIRE(ids.size() == 256);
  for (std::size_t i = 0; i < 256; ++i) CHECK(ids[i] == static_cast<int>(i));
  CHECK(byte_tokenizer::decode(ids) == every_byte());
  CHECK(byte_tokenizer::encode("").empty());
  CHECK(byte_tokenizer::decode({}).empty());
  static_assert(byte_tokenizer::vocabulary == 256 && byte_tokenizer::id_of('\xff') == 255);

  for (int wrong : {-1, 256}) {
    std::vector<std::int32_t> const bad{65, 66, wrong};
    CHECK(complaint<data_error>([&] {
            byte_tokenizer::decode(bad);
          }).starts_with("65 expected ids from 0 to 255, got " + std::to_string(wrong) + " as number 2: "));
  }
}
