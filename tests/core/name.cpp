// If it compiles, it passes.
#include <meshtf/core/layout.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/core/shape.hpp>

struct batch : meshtf::dim<8> {};

namespace model {

struct hidden : meshtf::dim<16> {};

struct renamed : meshtf::dim<16> {
  static constexpr std::string_view name = "hidden units";
};

template<class D>
struct padded : meshtf::dim<32> {};

}  // namespace model

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct grid : mesh<rows> {};
struct mixed : layout<grid, split<batch, rows>> {};

// a name is what stands in the program, without the namespaces around it
static_assert(name_of<batch>() == "batch" && name_of<model::hidden>() == "hidden" &&
              name_of<rows>() == "rows" && name_of<mixed>() == "mixed");
static_assert(name_of<float>() == "float" && name_of<int>() == "int");

// of a template it is the template's, with its arguments
static_assert(name_of<model::padded<batch>>() == "padded<batch>" && name_of<shape<>>() == "shape<>");

// within a function, too
constexpr bool names_what_is_local() {
  struct length : dim<4> {};
  return name_of<length>() == "length";
}
static_assert(names_what_is_local());

// a type may say its name itself: files and plots keep it when the type is renamed
static_assert(name_of<model::renamed>() == "hidden units");

}  // namespace
