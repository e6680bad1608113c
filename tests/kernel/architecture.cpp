// Which of the kernels that were compiled for several processors are taken, and the sentence if none can be.
#include <meshtf/kernel/architecture.hpp>

#include "catch.hpp"

using meshtf::kernel::choose_kernels;
using meshtf::kernel::number_of_instruction_set;

static_assert(number_of_instruction_set("avx2") == 2 && number_of_instruction_set("avx3") == -1);

namespace {

std::string taken(std::initializer_list<std::string_view> compiled, std::string_view processor,
                  std::string_view allowed = {}) {
  auto const [chosen, objection] = choose_kernels(compiled, processor, allowed);
  return chosen < 0 ? objection
                    : std::string{meshtf::kernel::instruction_sets[static_cast<std::size_t>(chosen)]};
}

}  // namespace

TEST_CASE("kernels for the largest instruction set that a processor has are taken") {
  CHECK(taken({"avx2", "avx512"}, "avx512") == "avx512");
  CHECK(taken({"avx512", "avx2"}, "avx512") == "avx512");
  CHECK(taken({"avx2", "avx512"}, "avx2") == "avx2");
  CHECK(taken({"sse2", "avx512"}, "avx2") == "sse2");
  CHECK(taken({"avx512"}, "avx512") == "avx512");
}

TEST_CASE("MESHTF_ARCHITECTURES allows some of them") {
  CHECK(taken({"avx2", "avx512"}, "avx512", "avx2") == "avx2");
  CHECK(taken({"avx2", "avx512"}, "avx512", "avx512;avx2") == "avx512");
  CHECK(taken({"avx2", "avx512"}, "avx512", " avx2, ") == "avx2");
  CHECK(taken({"avx2", "avx512"}, "avx512", "avx3") ==
        "expected MESHTF_ARCHITECTURES to name kernels that this program has (avx2, avx512), got 'avx3': "
        "leave it out for the best ones");
}

TEST_CASE("where no kernel runs, the sentence says for what to compile") {
  CHECK(taken({"avx512"}, "avx2") ==
        "expected kernels for a processor with avx2, which this one has, got kernels for avx512: compile "
        "them for it, too "
        "(CMake: -DMESHTF_ARCHITECTURES=\"avx2;avx512\")");
  CHECK(taken({"avx2", "avx512"}, "avx2", "avx512").find("got kernels for avx512") != std::string::npos);
  CHECK(taken({"avx2", "avx512"}, "sse2").find("got kernels for avx2, avx512") != std::string::npos);
}

TEST_CASE("a program is told of options that it has") {
  using meshtf::kernel::advice_for_wider_kernels;
  CHECK(advice_for_wider_kernels("sse2", "avx512", true) ==
        "meshtf: kernels compiled for sse2, this CPU has avx512: add -march=native, or "
        "-DMESHTF_ARCHITECTURES=avx512 to CMake's options");
  CHECK(
      advice_for_wider_kernels("sse2", "avx512", false) ==
      "meshtf: kernels compiled for sse2, this CPU has avx512: add -march=native to the compiler's options");
  CHECK(MESHTF_HAS_COMPILED_PART == 0);  // this test program has the headers alone
}

TEST_CASE("this processor runs what this file was compiled to") {
  CHECK(meshtf::kernel::objection_to_processor().empty());
}
