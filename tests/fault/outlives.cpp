// Lifetimes: what is on a mesh dies before it, and operands of one operation live on one mesh. Each mistake
// ends with a sentence and status 70.
//
//   outlives CASE   static, outer, optimizer: a tensor, or an optimizer's state, outlives its mesh; thrown:
//                   so it does while an exception passes, whose words
//                   count; handled: while one of another library passes, after an error that was handled,
//                   whose words don't count; operands, product, rows, update: one on each of two meshes;
//                   none: all is well
//
// outer:      meshtf: the process_mesh of line ends before what lives on it, 1 array (8 bytes) of tensors,
// ...
// operands:   meshtf: the operands of operator+ live on two meshes of one type: ...
#include <optional>
#include <stdexcept>
#include <string_view>

#include <meshtf/meshtf.hpp>

namespace {

struct in : meshtf::dim<8> {};
struct out : meshtf::dim<4> {};
struct point : meshtf::mesh<> {};
struct rows : meshtf::axis<4> {};
struct line : meshtf::mesh<rows> {};
struct whole : meshtf::layout<point> {};
struct divided : meshtf::layout<line, meshtf::split<in, rows>> {};

template<meshtf::Layout L>
void run(boost::mpi::communicator const& world, std::string_view which) {
  std::optional<meshtf::tensor<float, L, in>> outer;
  meshtf::adamw opt{0.1};
  meshtf::process_mesh<typename L::mesh_type> m{world};
  meshtf::process_mesh<typename L::mesh_type> other{world};

  meshtf::tensor<float, L, in> const x{m};
  meshtf::tensor<float, L, in> const y{which == "operands" ? other : m};
  auto const sum = x + y;
  meshtf::tensor<float, L, in, out> const weights{which == "product" ? other : m};
  auto const product = einsum<out>(x, weights);
  meshtf::tensor<int, L, out> const ids{which == "rows" ? other : m};
  auto const picked = gather<in>(x, ids);

  meshtf::parameter<float, L, in> w{m};
  update(w, meshtf::tensor<float, L, in>{which == "update" ? other : m}, 0.1);
  meshtf::adamw inner{0.1};
  auto const loss = mean(square(w + 1));
  backward(loss);
  if (which == "optimizer") opt.step(parameters(w));
  else inner.step(parameters(w));

  if (which == "static") static auto const kept = copy(x);
  if (which == "outer" || which == "thrown" || which == "handled") outer = copy(x);
  if (which == "thrown") throw meshtf::data_error("the text ends early");
  if (which != "handled") return;
  try {
    throw meshtf::data_error("the text ends early");
  } catch (meshtf::data_error const&) {
  }
  throw std::length_error{"too long"};
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const which = argc > 1 ? argv[1] : "none";
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  try {
    if (env.world().size() == 1) run<whole>(env.world(), which);
    else run<divided>(env.world(), which);
  } catch (meshtf::data_error const&) {  // of no use: what lives on where the mesh ends has ended the job
  } catch (std::length_error const&) {
  }
}
