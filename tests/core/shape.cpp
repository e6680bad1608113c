// If it compiles, it passes.
#include <meshtf/core/shape.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<4> {};
struct in : dim<6> {};
struct hidden : dim<16> {};
struct heads : dim<4> {};
struct key : dim<4> {};

using x = shape<batch, length, in>;

// a shape is ordered
static_assert(x::rank == 3 && x::size == 8 * 4 * 6 && x::has<length> && !x::has<hidden>);
static_assert(!std::same_as<shape<batch, in>, shape<in, batch>>);
static_assert(shape<>::rank == 0 && shape<>::size == 1 && !shape<>::has<batch>);

// what is left keeps the order of the left operand
static_assert(std::same_as<without<x, shape<length>>, shape<batch, in>>);
static_assert(std::same_as<without<x, shape<in, batch>>, shape<length>>);
static_assert(std::same_as<without<x, shape<hidden>>, x>);
static_assert(std::same_as<without<x, x>, shape<>> && std::same_as<without<shape<>, x>, shape<>>);

// so does what is common
static_assert(std::same_as<common_dims<x, shape<in, hidden, batch>>, shape<batch, in>>);
static_assert(std::same_as<common_dims<shape<in, hidden, batch>, x>, shape<in, batch>>);
static_assert(std::same_as<common_dims<x, shape<>>, shape<>>);

// a union is the left operand and then what the right one adds
static_assert(std::same_as<united<x, shape<in, hidden>>, shape<batch, length, in, hidden>>);
static_assert(std::same_as<united<shape<in, hidden>, x>, shape<in, hidden, batch, length>>);
static_assert(std::same_as<united<x, x>, x> && std::same_as<united<shape<>, x>, x>);

// several dimensions take the place of one
static_assert(std::same_as<replaced<shape<batch, hidden, in>, hidden, shape<heads, key>>,
                           shape<batch, heads, key, in>>);
static_assert(std::same_as<replaced<shape<batch, hidden>, hidden, shape<in>>, shape<batch, in>>);
static_assert(std::same_as<replaced<shape<batch, hidden>, length, shape<in>>, shape<batch, hidden>>);

// a broadcast has the order of the operand that has all dimensions, wherever it stands
static_assert(std::same_as<broadcast_shape<x, shape<in>>, x> &&
              std::same_as<broadcast_shape<shape<in>, x>, x>);
static_assert(std::same_as<broadcast_shape<x, shape<batch, in>>, x> &&
              std::same_as<broadcast_shape<shape<batch, in>, x>, x>);
static_assert(std::same_as<broadcast_shape<x, shape<>>, x> && std::same_as<broadcast_shape<shape<>, x>, x>);

static_assert(std::same_as<broadcast_shape<shape<in, batch>, x>, x> &&
              std::same_as<broadcast_shape<x, shape<in, batch>>, x>);
static_assert(std::same_as<broadcast_shape<shape<in>, shape<batch>, x>, x> &&
              std::same_as<broadcast_shape<shape<>>, shape<>>);
static_assert(broadcast_by_themselves<x, shape<in, batch>> &&
              broadcast_by_themselves<shape<in>, shape<batch>, x> && broadcast_by_themselves<x>);

// of several that have the same dimensions, the order of the first
static_assert(std::same_as<broadcast_shape<shape<in, batch>, shape<batch, in>>, shape<in, batch>>);
static_assert(
    std::same_as<broadcast_shape<shape<batch>, shape<in, batch>, shape<batch, in>>, shape<in, batch>>);
static_assert(broadcast_by_themselves<shape<in, batch>, shape<batch, in>>);

// two that share nothing, as the sides of a mask: the left operand's, then the right's
static_assert(std::same_as<broadcast_shape<shape<batch>, shape<hidden>>, shape<batch, hidden>>);
static_assert(std::same_as<broadcast_shape<shape<hidden>, shape<batch, in>>, shape<hidden, batch, in>>);
static_assert(broadcast_by_themselves<shape<batch>, shape<hidden>> &&
              broadcast_by_themselves<shape<hidden>, shape<batch, in>>);

// no others: a dimension forgotten in one operand would be one more in the result
static_assert(!broadcast_by_themselves<shape<batch, in>, shape<batch, hidden>> &&
              !broadcast_by_themselves<shape<batch, in>, shape<in, hidden>>);
static_assert(!broadcast_by_themselves<shape<batch>, shape<hidden>, shape<in>> &&
              !broadcast_by_themselves<shape<batch>, shape<hidden>, shape<>>);

}  // namespace
