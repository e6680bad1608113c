// Verdicts: one of them is legal, and of several the first objection counts.
#include <meshtf/core/verdict.hpp>

using namespace meshtf;

struct too_tall {};
template<class Name>
struct too_wide {};

// Whatever is not `legal` is an objection; nobody has to say so.
static_assert(is_legal<legal> && !is_legal<too_tall> && !is_legal<too_wide<legal>> && !is_legal<legal const>);

// The first that is not legal.
static_assert(std::same_as<first_objection<too_tall, too_wide<int>>, too_tall>);
static_assert(std::same_as<first_objection<legal, too_wide<int>, legal, too_tall>, too_wide<int>>);

// If there is none, legal; no questions, no objection.
static_assert(std::same_as<first_objection<legal, legal>, legal> && std::same_as<first_objection<>, legal>);
