// error: parts_do_not_divide_dim<vocab, 30, 4>
//
// pytorch/pytorch#144109, #103306, #161368, #115310: shards of unequal size led to corrupted gathers, wrong
// global shapes and crashes. Here `split` means equal parts, and a size that does not divide is a compile
// error with both numbers. Unequal parts are asked for: `padded`.
#include <meshtf/core.hpp>

struct vocab : meshtf::dim<30> {};

struct cols : meshtf::axis<4> {};
struct line : meshtf::mesh<cols> {};
struct model : meshtf::layout<line, meshtf::split<vocab, cols>> {};
struct uneven : meshtf::layout<line, meshtf::padded<vocab, cols>> {};

#ifdef FIXED
static_assert(meshtf::is_legal<meshtf::placement_verdict<uneven, vocab>>);
#else
static_assert(meshtf::is_legal<meshtf::placement_verdict<model, vocab>>);
#endif
