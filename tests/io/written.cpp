// Saves a checkpoint for read.py, which knows what must be in it: written FOLDER, on 4 processes.
#include <meshtf/io/checkpoint.hpp>

#include <string>

#include <meshtf/meshtf.hpp>

struct in : meshtf::dim<6> {};
struct hidden : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<grid, meshtf::split<in, rows>, meshtf::split<hidden, cols>> {};

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<grid> m{env.world()};
  meshtf::parameter<float, mixed, in, hidden> w{m};
  meshtf::parameter<double, mixed, hidden> b{m};
  meshtf::parameter<float, mixed> t{m, meshtf::constant{0.75}};
  meshtf::adam opt{0.0};
  opt.shard_state = true;
  backward(sum(w) * 0.5f);
  opt.step(parameters(w));
  // element k of the whole is k / 4
  w = meshtf::from_global<float, mixed, in, hidden>(
      m, xt::eval(xt::reshape_view(xt::arange(0.0f, 12.0f, 0.25f), {6, 8})));
  b               = meshtf::from_global<double, mixed, hidden>(m, xt::eval(xt::arange(0.0, 2.0, 0.25)));
  auto const list = parameters(named("layer.weight", w), named("layer.bias", b), named("t", t));
  save(list, opt, {.step = 12, .seed = 34}, argv[1], meshtf::checkpoint_options{.in_parts = false});
  meshtf::detail::chunk_bytes = 256;
  save(list, opt, {.step = 12, .seed = 34}, std::string{argv[1]} + "/parts");
  save(list, std::string{argv[1]} + "/net", meshtf::several_files{.max_bytes = 70});
}
