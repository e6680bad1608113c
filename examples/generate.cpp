// Continues a text with a language model that language_model.cpp has trained: keys and values are kept, so
// each byte costs one position.
//
// The text is the same on 1, 2 and 4 processes, of which each has a part of the heads, of the hidden units
// and of the vocabulary.
// Run:    examples/processes 2 build/release/examples/generate_tiny --checkpoint DIR --prompt "And God said"
// Prints: the text, and on stderr how many bytes a second it wrote
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/io/checkpoint.hpp>
#include <meshtf/meshtf.hpp>
#include <meshtf/nn/generation.hpp>

#include "generate_options.hpp"
#include "language_model.hpp"

namespace {

/// `text` continued by as many bytes as were asked for. The model sees the text so far, or, where that is
/// longer than it has positions, the last half of them: keys and values belong to positions, so each time
/// they are full they are computed anew.
template<meshtf::Layout L>
std::string continued(language_model<L> const& net, meshtf::machine<L>& m, options const& chosen) {
  meshtf::tensor<int, L, length> ids{m};
  std::string text = chosen.prompt;
  for (meshtf::extent left = chosen.tokens; left > 0;) {
    auto const there = static_cast<meshtf::extent>(text.size());
    auto const known = there < length::size ? there : length::size / 2;
    auto const ahead = std::min(left, length::size - known);
    auto const seen  = std::string_view{text}.substr(static_cast<std::size_t>(there - known));
    auto const read  = meshtf::byte_tokenizer::encode(seen);
    std::copy(read.begin(), read.end(), ids.data());
    meshtf::random_key const key{chosen.seed, static_cast<std::uint64_t>(there - known)};
    auto const found = meshtf::nn::generate(
        net, ids, {.prompt = known, .length = ahead, .choice = chosen.choice(), .random = key});
    std::vector<std::int32_t> const written(found.data() + known, found.data() + known + ahead);
    text += meshtf::byte_tokenizer::decode(written);
    left -= ahead;
  }
  return text;
}

/// Without what would move a terminal's cursor.
std::string printable(std::string text) {
  for (char& c : text)
    if (c != '\n' && (c < ' ' || c > '~')) c = '?';
  return text;
}

template<meshtf::Layout L>
void generate(meshtf::machine<L>& m, options const& chosen) {
  language_model<L> net{m, 1};
  meshtf::load(parameters(net), chosen.checkpoint);
  m.agree(parameters(net));
  auto const start                           = std::chrono::steady_clock::now();
  auto const text                            = printable(continued<L>(net, m, chosen));
  std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - start;
  if (m.rank() != 0) return;
  std::printf("%s\n", text.c_str());
  std::fprintf(stderr, "%ld bytes, %.0f a second\n", static_cast<long>(chosen.tokens),
               static_cast<double>(chosen.tokens) / passed.count());
}

using one  = processes<1, 1>;
using pair = processes<1, 2>;

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};  // MPI is up, and an error becomes one line and an exit status
  meshtf::run_on<one::grid, pair::grid, four::grid>(env, [&]<class M>(meshtf::process_mesh<M>& m) {
    auto const chosen = read_options(argc, argv);
    if (chosen.help) {
      if (m.rank() == 0) std::printf("%s", usage(size.name).c_str());
      return;
    }
    agree_on(m, chosen);
    generate<typename M::machine::model>(m, chosen);
  });
}
