// A long life: many collectives and many meshes, one after the other, in bounded memory, with bounded
// descriptors.
//
//   soak COLLECTIVES MESHES
//
// Prints one line, "meshtf: N collectives and M meshes ...", status 0; or what grew, status 70.
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <meshtf/meshtf.hpp>

namespace {

struct in : meshtf::dim<64> {};
struct line : meshtf::axis<2> {};
struct two : meshtf::mesh<line> {};
struct divided : meshtf::layout<two, meshtf::split<in, line>> {};
struct whole : meshtf::layout<two> {};

/// Bytes of this process that are in memory.
long resident() {
  std::ifstream file{"/proc/self/statm"};
  long all   = 0;
  long there = 0;
  file >> all >> there;
  return there * 4096;
}
long descriptors() {
  return static_cast<long>(std::distance(std::filesystem::directory_iterator{"/proc/self/fd"},
                                         std::filesystem::directory_iterator{}));
}

/// Each kind of collective once.
template<class Machine>
float all_kinds(Machine& m, meshtf::parameter<float, divided, in> const& w) {
  auto const gathered = meshtf::reshard<whole>(w);
  auto const moved    = meshtf::shift<in>(w, 1);
  return sum(w).value() + sum(gathered).value() + sum(moved).value() +
         static_cast<float>(meshtf::same_on_all(m, 1));
}

/// Runs `f` n times; after a fifth of them nothing may grow any more.
void expect_bounds(char const* what, long n, auto const& f) {
  long const warm = n / 5;
  for (long i = 0; i < warm; ++i) f();
  long const bytes = resident();
  long const files = descriptors();
  for (long i = warm; i < n; ++i) f();
  long const grown = resident() - bytes;
  if (descriptors() != files)
    throw meshtf::software_error("expected " + std::to_string(files) + " descriptors after " +
                                 std::to_string(n) + " " + what + ", got " + std::to_string(descriptors()));
  if (grown > 1 << 20)
    throw meshtf::software_error("expected memory that does not grow with " + std::to_string(n) + " " + what +
                                 ", got " + std::to_string(grown) + " bytes more");
}

long number(char const* text) {
  long n = 0;
  std::from_chars(text, text + std::strlen(text), n);
  return n;
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  if (argc != 3) throw meshtf::usage_error("expected COLLECTIVES MESHES");
  long const collectives = number(argv[1]);
  long const meshes      = number(argv[2]);
  meshtf::process_mesh<two> m{env.world()};
  meshtf::no_gradient const guard{m};
  meshtf::parameter<float, divided, in> w{m};

  // two sums, a gather, a message to a neighbour, a broadcast
  constexpr long at_once = 5;
  expect_bounds("collectives", collectives / at_once, [&] { all_kinds(m, w); });
  expect_bounds("meshes", meshes, [&] {
    meshtf::process_mesh<two> another{env.world()};
    meshtf::parameter<float, divided, in> const its{another};
    (void)sum(its).value();
  });
  if (m.rank() == 0)
    std::printf("meshtf: %ld collectives and %ld meshes in bounded memory\n", collectives, meshes);
}
