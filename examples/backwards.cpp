// An encoder and decoder that learn to write words backwards: pairs that are packed into rows, a loss over
// the ids that count, dropout, micro-batches, greedy decoding, beam search.
// Run:    examples/processes 4 build/release/examples/backwards
// Prints: the loss while it learns, and words with what it makes of them.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <meshtf/meshtf.hpp>
#include <meshtf/nn/beam_search.hpp>

using namespace meshtf;

namespace {

struct batch : dim<16> {};
struct half : dim<8> {};     // of a batch: a micro-batch
struct source : dim<12> {};  // positions in a row, of a few words
struct target : dim<15> {};
struct vocab : dim<10> {};  // the end of a word, and letters; 0 stands in front of what the decoder writes
struct model : dim<32> {};
struct heads : dim<4> {};
struct key : dim<8> {};
struct hidden : dim<64> {};
struct beam : dim<3> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<batch, rows>, split<half, rows>, split<heads, cols>, split<hidden, cols>,
                      split<vocab, cols>> {};

struct small : nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {
  static constexpr int encoder_layers = 2;
  static constexpr int decoder_layers = 2;
};

constexpr int end_of_word  = 1;
constexpr int first_letter = 2;

/// Ids of a batch, and for each the number of its pair in the row; 0 where there is padding.
template<Dimension Along>
struct side {
  xt::xtensor<int, 2> ids      = xt::zeros<int>({int{batch::size}, int{Along::size}});
  xt::xtensor<int, 2> segments = xt::zeros<int>({int{batch::size}, int{Along::size}});

  void put(std::size_t row, std::size_t first, std::vector<int> const& word, int pair) {
    for (std::size_t i = 0; i < word.size(); ++i) {
      ids(row, first + i)      = word[i];
      segments(row, first + i) = pair;
    }
  }
};

std::vector<int> random_word(std::mt19937& draws) {
  std::vector<int> word(2 + draws() % 3);
  for (int& letter : word) letter = first_letter + static_cast<int>(draws() % 8);
  return word;
}

std::vector<int> backwards(std::vector<int> word) {
  std::reverse(word.begin(), word.end());
  word.push_back(end_of_word);
  return word;
}

/// As many words in each row as fit, at most `max_words` of them.
auto packed_words(machine<mixed>& m, std::mt19937& draws, int max_words) {
  side<source> from;
  side<target> to;
  for (std::size_t row = 0; row < std::size_t{batch::size}; ++row) {
    std::size_t in_source = 0;
    std::size_t in_target = 0;
    for (int pair = 1; pair <= max_words; ++pair) {
      auto const word = random_word(draws);
      if (in_source + word.size() > std::size_t{source::size}) break;
      if (in_target + word.size() + 1 > std::size_t{target::size}) break;
      from.put(row, in_source, word, pair);
      to.put(row, in_target, backwards(word), pair);
      in_source += word.size();
      in_target += word.size() + 1;
    }
  }
  return nn::packed_pairs{from_global<int, mixed, batch, source>(m, from.ids),
                          from_global<int, mixed, batch, source>(m, from.segments),
                          from_global<int, mixed, batch, target>(m, to.ids),
                          from_global<int, mixed, batch, target>(m, to.segments)};
}

std::string letters(auto const& ids, std::size_t row) {
  std::string word;
  for (std::size_t i = 0; i < ids.shape(1) && ids(row, i) >= first_letter; ++i)
    word += static_cast<char>('a' + ids(row, i) - first_letter);
  return word;
}

}  // namespace

int main(int argc, char** argv) {
  environment env{argc, argv};
  process_mesh<grid> m{env.world()};
  bool const is_first = m.rank() == 0;
  nn::seq2seq<float, mixed, small> net{m, 1};
  m.agree(net.parameters());
  std::mt19937 draws{1};
  adamw opt{5e-3};

  for (int step = 0; step < 150; ++step) {
    auto const pairs = packed_words(m, draws, 99);
    auto const part  = [&](extent i) { return pairs.part<batch, half>(i); };
    auto const loss  = accumulate<2>(
        m,
        [&](extent i) {
          auto const pass = static_cast<std::uint64_t>(2 * step + i);
          return net.loss(part(i), {.dropout = {.rate = 0.05, .random = {.seed = 1, .stream = pass}},
                                     .terms   = {.label_smoothing = 0.1, .z_loss = 1e-4}});
        },
        [&](extent i) { return net.count(part(i)); });
    opt.step(net.parameters());
    if (is_first && step % 50 == 49) std::printf("step %3d: loss %.1f\n", step + 1, loss.value());
  }

  auto const words = packed_words(m, draws, 1);  // one in each row
  auto const ids   = net.greedy(nn::source_rows{words.source, words.source_segments}, end_of_word);
  auto const read  = to_global(words.source);
  auto const wrote = to_global(ids);
  int right        = 0;
  for (std::size_t row = 0; row < std::size_t{batch::size}; ++row) {
    auto const word = letters(read, row);
    auto const made = letters(wrote, row);
    right += std::equal(word.rbegin(), word.rend(), made.begin(), made.end()) ? 1 : 0;
    if (is_first && row < 4) std::printf("%s %s\n", word.c_str(), made.c_str());
  }
  if (is_first) std::printf("%d of %d words are right\n", right, int{batch::size});

  nn::source_rows const sources{words.source, words.source_segments};
  auto const [found, scores] = nn::beam_search<beam>(net, sources, end_of_word, {.length_penalty = 0.6});
  auto hypotheses            = to_global(found);
  hypotheses.reshape({std::size_t{batch::size * beam::size}, std::size_t{target::size}});
  for (std::size_t j = 0; is_first && j < std::size_t{beam::size}; ++j)  // of the first word
    std::printf("%s%c", letters(hypotheses, j).c_str(), j + 1 < std::size_t{beam::size} ? ' ' : '\n');
  return right >= 12 ? 0 : 1;
}
