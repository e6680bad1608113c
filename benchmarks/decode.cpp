// Tokens a second of an encoder and decoder that writes translations: greedy of one sentence, and four beams
// of each of eight, on one process.
//
// 6 + 6 layers of 512, 8 heads, 8,000 ids, sources and targets of 32 ids, weights that nobody trained: no
// hypothesis ends, so all 32 steps are run. `--save FOLDER` writes the weights and the ids that were found,
// so that benchmarks/peers/decode_with_pytorch.py decodes with the same ones and compares.
//
// Both print the time and the processor time of one decoding: on a machine that does other work, compare the
// latter, decoding by decoding, and not that of the whole programs, which also load or draw their weights.
#include "setting.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <meshtf/meshtf.hpp>
#include <meshtf/nn/beam_search.hpp>

namespace {

// clang-format off
struct one    : meshtf::dim<1>    {};
struct eight  : meshtf::dim<8>    {};
struct beam   : meshtf::dim<4>    {};
struct source : meshtf::dim<32>   {};
struct target : meshtf::dim<32>   {};
struct vocab  : meshtf::dim<8000> {};
struct model  : meshtf::dim<512>  {};
struct heads  : meshtf::dim<8>    {};
struct key    : meshtf::dim<64>   {};
struct hidden : meshtf::dim<2048> {};
struct alone  : meshtf::layout<meshtf::mesh<>> {};
// clang-format on

using dims       = meshtf::nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden>;
using model_type = meshtf::nn::seq2seq<float, alone, dims>;

constexpr int no_end = -1;

/// Ids that differ, of which all count.
template<class Batch>
auto sources(meshtf::machine<alone>& m) {
  auto const across = meshtf::broadcast<Batch, source>(meshtf::iota<int, alone, Batch>(m) * 1009);
  auto const ids    = meshtf::modulo(across + meshtf::iota<int, alone, source>(m) * 2503, 7000) + 100;
  return meshtf::nn::source_rows{ids, meshtf::greater(ids, 0)};
}

template<class Ids>
void write_ids(std::string const& path, Ids const& ids) {
  std::ofstream file{path};
  for (int id : meshtf::to_global(ids)) file << id << '\n';
}

void measure(std::string const& what, int tokens, int rounds, std::function<void()> const& decodes) {
  std::vector<double> seconds;
  std::vector<double> processor;
  decodes();
  for (int i = 0; i < rounds; ++i) {
    auto const start       = std::chrono::steady_clock::now();
    std::clock_t const cpu = std::clock();
    decodes();
    processor.push_back(static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  bench::timing const t{what, false, seconds};
  bench::timing const c{what, false, processor};
  std::printf("%-28s %8.2f ms  %8.2f ms processor  %8.1f tokens/s  (best %.1f)\n", what.c_str(),
              1e3 * bench::median(t), 1e3 * bench::median(c), tokens / bench::median(t),
              tokens / bench::best(t));
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  bench::settle();
  int rounds = 5;
  std::string folder;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string const name = argv[i];
    if (name == "--rounds") rounds = std::stoi(argv[i + 1]);
    else if (name == "--save") folder = argv[i + 1];
    else throw meshtf::usage_error{"expected [--rounds N] [--save FOLDER], got " + name};
  }
  meshtf::process_mesh<meshtf::mesh<>> m{MPI_COMM_WORLD};
  model_type net{m, 1};
  auto const first = sources<one>(m);
  auto const all   = sources<eight>(m);
  if (!folder.empty()) {
    std::filesystem::create_directories(folder);
    meshtf::save(net.parameters(), folder + "/weights.safetensors");
    auto const found = meshtf::nn::beam_search<beam>(net, all, no_end);
    write_ids(folder + "/greedy.txt", net.greedy(first, no_end));
    write_ids(folder + "/beams.txt", found.ids);
  }
  int const length = target::size;
  measure("greedy, one sentence", length, rounds, [&] { net.greedy(first, no_end); });
  measure("beam search, 8 x 4 beams", 8 * 4 * length, rounds,
          [&] { meshtf::nn::beam_search<beam>(net, all, no_end); });
}
