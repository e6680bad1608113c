// Names: what a type is called in ledgers, messages and files.
#include <meshtf/core.hpp>

using namespace meshtf;
using namespace std::literals;

struct batch  : dim<8>  {};
struct hidden : dim<16> {};
struct rows   : axis<2> {};
struct grid   : mesh<rows> {};
struct mixed  : layout<grid, split<batch, rows>> {};

// A type is called what the program calls it, whatever it is.
static_assert(name_of<batch>() == "batch"sv);
static_assert(name_of<rows>() == "rows"sv);
static_assert(name_of<grid>() == "grid"sv);
static_assert(name_of<mixed>() == "mixed"sv);
static_assert(name_of<float>() == "float"sv && name_of<int>() == "int"sv);

// Its namespaces, its class and an unnamed namespace are left out.
namespace text::tokens {
struct vocab : dim<32> {};
struct model {
  struct width : dim<4> {};
};
}  // namespace text::tokens
namespace {
struct hid_away : dim<2> {};
}
static_assert(name_of<text::tokens::vocab>() == "vocab"sv);
static_assert(name_of<text::tokens::model::width>() == "width"sv);
static_assert(name_of<hid_away>() == "hid_away"sv);

// Those of template arguments stay, since two of them may differ in nothing else.
static_assert(name_of<shape<batch, hidden>>() == "shape<batch, hidden>"sv);
static_assert(name_of<shape<text::tokens::vocab>>() == "shape<text::tokens::vocab>"sv);
static_assert(name_of<axes<>>() == "axes<>"sv);

// A member `name` takes precedence: files and plots stay as they are when the type is renamed.
struct length : dim<4> {
  static constexpr std::string_view name = "sequence";
};
struct heads : dim<4> {
  static constexpr char const* name = "attention heads";
};
static_assert(name_of<length>() == "sequence"sv && name_of<heads>() == "attention heads"sv);

// It is inherited like any other member.
struct memory : length {};
static_assert(name_of<memory>() == "sequence"sv);

// A member of that name that is no text is not a name.
struct channels : dim<3> {
  static constexpr int name = 3;
};
static_assert(name_of<channels>() == "channels"sv);
