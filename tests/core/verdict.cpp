// If it compiles, it passes.
#include <meshtf/core/verdict.hpp>

namespace {

using namespace meshtf;

template<class What>
struct is_too_long {};
struct sentence {};

// a verdict is `legal` or an objection
static_assert(is_legal<legal> && accepted<legal>);
static_assert(!is_legal<is_too_long<sentence>> && !accepted<is_too_long<sentence>>);

// what is derived from `legal` is not
struct almost : legal {};
static_assert(!is_legal<almost>);

// of several verdicts the first objection counts
static_assert(
    std::same_as<first_objection<legal, is_too_long<int>, legal, is_too_long<sentence>>, is_too_long<int>>);
static_assert(std::same_as<first_objection<is_too_long<sentence>>, is_too_long<sentence>>);

// where nothing is objected to, or nothing asked, it is legal
static_assert(std::same_as<first_objection<legal, legal>, legal> && std::same_as<first_objection<>, legal>);

}  // namespace
