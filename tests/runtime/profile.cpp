// The profile: the dearest call sites are told one by one, the rest in one line that leaves nothing out.
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <meshtf/runtime/profile.hpp>

#include "../catch.hpp"

namespace {

/// A product of its own shape at each of `sites` places, `site` calls of 10 flops each; what the profile then
/// says of call sites, line by line.
std::vector<std::string> sites_of(meshtf::profile& p, int sites) {
  for (int site = 1; site <= sites; ++site)
    for (int call = 0; call < site; ++call)
      p.count({.kind = "product", .flops = 10, .m = site, .n = 1, .k = 1}, {.operation = "einsum"});
  std::istringstream text{p.text("grid")};
  std::vector<std::string> lines;
  bool told = false;
  for (std::string line; std::getline(text, line);) {
    if (told) lines.push_back(line);
    told = told || line.find("operation, call site") != std::string::npos;
  }
  return lines;
}

/// The third column of them all.
long calls_of(std::vector<std::string> const& lines) {
  long all = 0;
  for (auto const& line : lines) {
    std::istringstream columns{line};
    std::string seconds;
    std::string share;
    std::string percent;
    long calls = 0;
    columns >> seconds >> share >> percent >> calls;
    all += calls;
  }
  return all;
}

/// What MESHTF_PROFILE=`value` makes.
std::unique_ptr<meshtf::profile> wanted(char const* value) {
  setenv("MESHTF_PROFILE", value, 1);
  auto made = meshtf::profile::if_wanted();
  unsetenv("MESHTF_PROFILE");
  return made;
}

}  // namespace

TEST_CASE("a profile tells the twenty dearest call sites and adds up the rest") {
  auto const lines = sites_of(*wanted("1"), 30);
  CHECK(lines.size() == 21);
  CHECK(lines.back().find("10 more call sites (MESHTF_PROFILE=all tells each)") != std::string::npos);
  CHECK(calls_of(lines) == 30 * 31 / 2);
}

TEST_CASE("a profile tells every call site if asked for all, and where one alone is left over") {
  CHECK(sites_of(*wanted("all"), 30).size() == 30);
  auto const lines = sites_of(*wanted("1"), 21);
  CHECK(lines.size() == 21);
  CHECK(calls_of(lines) == 21 * 22 / 2);
  CHECK(lines.back().find("more call sites") == std::string::npos);
}

TEST_CASE("there is no profile where none is asked for") {
  CHECK(wanted("0") == nullptr);
  CHECK(wanted("") == nullptr);
}

TEST_CASE("a profile adds up each kind of operation, the dearest first") {
  meshtf::profile p;
  p.count({.kind = "sum", .bytes = 8}, {.operation = "sum"});
  for (int site = 1; site <= 3; ++site)
    p.count({.kind = "product", .flops = 10, .m = site}, {.operation = "einsum"});
  auto const kinds = p.by_kind();
  REQUIRE(kinds.size() == 2);
  auto const& products = kinds[0].words == "product" ? kinds[0] : kinds[1];
  CHECK(products.spent.calls == 3);
  CHECK(products.spent.flops == 30);
  CHECK(kinds[0].spent.seconds >= kinds[1].spent.seconds);
}
