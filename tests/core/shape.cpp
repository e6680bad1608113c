// Shapes: ordered lists of dimensions, and the little algebra on them.
#include <meshtf/core/shape.hpp>

using namespace meshtf;

struct batch  : dim<8> {};
struct length : dim<4> {};
struct heads  : dim<2> {};
struct key    : dim<3> {};
struct model  : dim<6> {};

// A shape has a rank, a size and dimensions; without dimensions it is that of a number.
static_assert(shape<batch, length, model>::rank == 3 && shape<batch, length, model>::size == 8 * 4 * 6);
static_assert(shape<>::rank == 0 && shape<>::size == 1);
static_assert(shape<batch, model>::has<model> && !shape<batch, model>::has<length> && !shape<>::has<batch>);

// Order is part of a shape: it is the order in memory.
static_assert(!std::same_as<shape<batch, model>, shape<model, batch>>);

// What is left of the first without the second, in the order of the first.
static_assert(std::same_as<without<shape<batch, length, model>, shape<length>>, shape<batch, model>>);
static_assert(std::same_as<without<shape<batch, length, model>, shape<model, batch>>, shape<length>>);
static_assert(std::same_as<without<shape<batch, model>, shape<length>>, shape<batch, model>>);
static_assert(std::same_as<without<shape<batch, model>, shape<batch, model>>, shape<>>);
static_assert(std::same_as<without<shape<>, shape<batch>>, shape<>> && std::same_as<without<shape<batch>, shape<>>, shape<batch>>);

// What both have, in the order of the first.
static_assert(std::same_as<common_dims<shape<batch, length, model>, shape<model, batch>>, shape<batch, model>>);
static_assert(std::same_as<common_dims<shape<model, batch>, shape<batch, length, model>>, shape<model, batch>>);
static_assert(std::same_as<common_dims<shape<batch>, shape<model>>, shape<>>);

// The first, then what the second adds, in the order of the second.
static_assert(std::same_as<united<shape<batch, model>, shape<length, model, heads>>, shape<batch, model, length, heads>>);
static_assert(std::same_as<united<shape<batch, model>, shape<model, batch>>, shape<batch, model>>);
static_assert(std::same_as<united<shape<>, shape<batch>>, shape<batch>> && std::same_as<united<shape<batch>, shape<>>, shape<batch>>);

// Other dimensions in the place of one: as many as wanted, none too.
static_assert(std::same_as<replaced<shape<batch, model, length>, model, shape<heads, key>>, shape<batch, heads, key, length>>);
static_assert(std::same_as<replaced<shape<batch, model>, model, shape<length>>, shape<batch, length>>);
static_assert(std::same_as<replaced<shape<batch, model>, batch, shape<>>, shape<model>>);
static_assert(std::same_as<replaced<shape<batch, model>, length, shape<heads>>, shape<batch, model>>);

// A broadcast keeps the order of the larger operand, on whichever side it is.
static_assert(std::same_as<broadcast_shape<shape<batch, length, model>, shape<model>>, shape<batch, length, model>>);
static_assert(std::same_as<broadcast_shape<shape<model>, shape<batch, length, model>>, shape<batch, length, model>>);
static_assert(std::same_as<broadcast_shape<shape<batch, model>, shape<batch, length, model>>, shape<batch, length, model>>);
static_assert(std::same_as<broadcast_shape<shape<>, shape<batch, model>>, shape<batch, model>>);
static_assert(std::same_as<broadcast_shape<shape<batch, model>, shape<>>, shape<batch, model>>);

// Where neither contains the other in its order, it is the left's dimensions, then the right's new ones.
static_assert(std::same_as<broadcast_shape<shape<batch>, shape<model>>, shape<batch, model>>);
static_assert(std::same_as<broadcast_shape<shape<batch, length>, shape<length, model>>, shape<batch, length, model>>);
static_assert(std::same_as<broadcast_shape<shape<model, batch>, shape<batch, length, model>>, shape<model, batch, length>>);

// Equal dimensions in another order: the left's.
static_assert(std::same_as<broadcast_shape<shape<model, batch>, shape<batch, model>>, shape<model, batch>>);
