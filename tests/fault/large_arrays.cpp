// Arrays of more than 2^31 elements: copies, sums, collectives, and checkpoints in both forms.
//
//   large_arrays        on 1 or 2 processes, with 10 GiB of free memory and 5 GiB of disk
//
// Prints one line, status 0, also if it is skipped since there is too little memory; what is wrong,
// status 70.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <meshtf/meshtf.hpp>

namespace {

struct big : meshtf::dim<(meshtf::extent{1} << 31) + 64> {};

template<meshtf::extent N>
struct line : meshtf::axis<N> {};
template<meshtf::extent N>
struct all_in_line : meshtf::mesh<line<N>> {};
template<meshtf::extent N>
struct divided : meshtf::layout<all_in_line<N>, meshtf::split<big, line<N>>> {};
template<meshtf::extent N>
struct whole : meshtf::layout<all_in_line<N>> {};

/// Where the arrays hold something: around the limits of a signed and of an unsigned number.
constexpr meshtf::extent places[]{0, (meshtf::extent{1} << 30) + 32, (meshtf::extent{1} << 31) - 1,
                                  meshtf::extent{1} << 31, big::size - 1};

void expect(bool is_so, std::string const& what) {
  if (!is_so) throw meshtf::software_error("expected " + what + ", got something else");
}

/// f(place in the shard) for each place of this process.
template<meshtf::extent N>
void for_each_place(meshtf::process_mesh<all_in_line<N>> const& m, auto const& f) {
  meshtf::extent const n = big::size / N;
  for (auto const place : places)
    if (place / n == m.rank()) f(place % n);
}

long available_kib() {
  std::ifstream file{"/proc/meminfo"};
  std::string word;
  long kib = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kib) break;
  return kib;
}

/// That `x` is true where it must be, `moved` places further, and nowhere else.
void expect_places(bool const* x, meshtf::extent moved, std::string const& what) {
  meshtf::extent found = 0;
  for (meshtf::extent i = 0; i < big::size; ++i) found += x[i] ? 1 : 0;
  expect(found == std::ssize(places), what + " to have no other elements");
  for (auto const place : places)
    expect(x[(place + moved) % big::size], what + " to have element " + std::to_string(place));
}

template<meshtf::extent N>
void copies_and_collectives(meshtf::process_mesh<all_in_line<N>>& m, std::string const& folder) {
  meshtf::tensor<bool, divided<N>, big> x{m};
  for_each_place<N>(m, [&](meshtf::extent i) { x.data()[i] = true; });
  expect(any(x).value() && !all(x).value(), "some elements to be true");
  {
    auto const gathered = meshtf::reshard<whole<N>>(copy(x));
    expect_places(gathered.data(), 0, "an array that was copied and gathered");
  }
  {
    auto joined = meshtf::tensor<bool, whole<N>, big>{m};
    for_each_place<N>(m, [&](meshtf::extent i) { joined.data()[i + m.rank() * (big::size / N)] = true; });
    meshtf::all_reduce(m.world(), meshtf::reduction::max, joined.data(), big::size);
    expect_places(joined.data(), 0, "an array that was joined");
  }
  save(parameters(named("x", x)), {.step = 1}, folder + "/parts");
  save(parameters(named("x", x)), folder + "/x.safetensors");
  for (auto const* const path : {"/parts", "/x.safetensors"}) {
    meshtf::tensor<bool, whole<N>, big> loaded{m};
    load(parameters(named("x", loaded)), folder + path);
    expect_places(loaded.data(), 0, "an array that was saved and loaded");
  }
}

template<meshtf::extent N>
void sums(meshtf::process_mesh<all_in_line<N>>& m) {
  meshtf::tensor<meshtf::bfloat16, divided<N>, big> x{m};
  for_each_place<N>(m, [&](meshtf::extent i) { x.data()[i] = meshtf::bfloat16{1}; });
  expect(static_cast<float>(sum(x).value()) == static_cast<float>(std::ssize(places)),
         "a sum of " + std::to_string(std::ssize(places)));
}

template<meshtf::extent N>
void run(boost::mpi::communicator const& world) {
  meshtf::process_mesh<all_in_line<N>> m{world};
  meshtf::no_gradient const guard{m};
  std::string const folder =
      (std::filesystem::temp_directory_path() / ("meshtf_large_" + std::to_string(getppid()))).string();
  if (m.rank() == 0) std::filesystem::create_directories(folder);
  world.barrier();
  copies_and_collectives<N>(m, folder);
  world.barrier();
  if (m.rank() == 0) std::filesystem::remove_all(folder);
  sums<N>(m);
  if (m.rank() == 0)
    std::printf("meshtf: arrays of %lld elements are right on %lld processes\n",
                static_cast<long long>(big::size), static_cast<long long>(N));
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  int has_room = available_kib() >= 10L << 20 ? 1 : 0;
  meshtf::all_reduce(env.world(), meshtf::reduction::min, &has_room, 1);
  if (has_room == 0) {
    if (env.world().rank() == 0) std::puts("meshtf: skipped, since less than 10 GiB of memory are free");
    return 0;
  }
  switch (env.world().size()) {
    case 1: run<1>(env.world()); break;
    case 2: run<2>(env.world()); break;
    default: throw meshtf::usage_error("expected 1 or 2 processes");
  }
}
