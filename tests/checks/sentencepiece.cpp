// The ids of lines, as spm_encode prints them, or with --decode the lines of ids: sentencepiece MODEL PIECES
// [--decode]. tests/checks/sentencepiece.py compares.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <meshtf/data/sentencepiece_tokenizer.hpp>

#if MESHTF_HAS_SENTENCEPIECE

int main(int argc, char** argv) {
  try {
    if (argc < 3)
      throw meshtf::usage_error("expected MODEL PIECES [--decode]: see tests/checks/sentencepiece.py");
    meshtf::sentencepiece_tokenizer const tokenizer{argv[1], std::stoll(argv[2])};
    for (std::string line; std::getline(std::cin, line);) {
      if (argc == 4) {
        std::istringstream words{line};
        std::vector<std::int32_t> ids;
        for (std::int32_t id = 0; words >> id;) ids.push_back(id);
        std::cout << tokenizer.decode(ids) << '\n';
        continue;
      }
      auto const ids = tokenizer.encode(line);
      for (std::size_t k = 0; k < ids.size(); ++k) std::cout << (k == 0 ? "" : " ") << ids[k];
      std::cout << '\n';
    }
    return std::cout.flush() ? 0 : 69;
  } catch (meshtf::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return e.exit_status();
  }
}

#else

int main() { return 77; }  // of a build with -D_GLIBCXX_DEBUG

#endif
