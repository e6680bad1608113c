// Contractions: how one process multiplies its parts of an einsum, decided before it runs.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {

/// How an array reaches the matrix product: in place, or, if its strides forbid that, through a buffer.
struct packing {
  bool needed   = false;
  extent offset = 0;  // offset of the buffer in the scratch memory, in elements
  // copies into the buffer, summed over what only this operand has; for the result, out of it
  nest_steps walk{};
};

/// z = the sum of x * y over the dimensions that z lacks, as one matrix product C = A * B (row-major, as in
/// BLAS) for each iteration of `batch`. If the matrices are too small to pay for the calls, and for integers
/// always, `nest` over x, y and z computes everything.
struct contraction_steps {
  bool by_gemm     = false;
  bool swapped     = false;  // A is y and B is x
  bool transpose_a = false;  // A is stored k by m
  bool transpose_b = false;  // B is stored n by k
  extent m         = 1;
  extent n         = 1;
  extent k         = 1;
  extent lda       = 1;
  extent ldb       = 1;
  extent ldc       = 1;
  nest_steps batch{};  // over A, B and C: where each product begins
  packing x{};
  packing y{};
  packing z{};
  extent scratch = 0;  // elements that the buffers take
  // elements of a wider type in which narrow ones are added up: see `narrow_scratch`
  extent wide  = 0;
  extent flops = 0;  // of the sum as written: 2 for each iteration of the whole nest
  nest_steps nest{};

  /// The buffers shall also be enough for a process that works by `other` steps.
  constexpr void enlarge_scratch_for(contraction_steps const& other) {
    if (other.scratch > scratch) scratch = other.scratch;
    if (other.wide > wide) wide = other.wide;
  }

  /// Arrays: x, y, z.
  static constexpr contraction_steps plan(task_loops const& l, loop_extents const& e);
};

/// A piece of a matrix product that is computed in a wider type: rows, columns and summed elements of it.
struct product_piece {
  extent m = 1;
  extent n = 1;
  extent k = 1;

  /// Elements of the pieces of A, B and C.
  constexpr extent elements() const { return m * k + k * n + m * n; }
};

/// At most 480 each way, 2.6 MiB of floats: large enough for a product to be nearly as fast as a whole one.
/// Rows of a power of two bytes are slower: they displace one another from the cache.
constexpr product_piece piece_of(contraction_steps const& s) {
  constexpr extent max_piece = 480;
  return {s.m < max_piece ? s.m : max_piece, s.n < max_piece ? s.n : max_piece,
          s.k < max_piece ? s.k : max_piece};
}

namespace detail {

/// Elements of a wider type that narrow ones need: the pieces of a product, or a sum before it is rounded.
constexpr extent wide_elements_of(contraction_steps const& s) {
  if (!s.by_gemm) return s.nest.reduces ? span_of(s.nest, 2) : 0;
  extent largest = piece_of(s).elements();
  for (packing const* p : {&s.x, &s.y, &s.z})
    if (p->needed && p->walk.reduces && span_of(p->walk, 1) > largest) largest = span_of(p->walk, 1);
  return largest;
}

/// The role of a loop in a matrix product. `batch` has its own matrices for each iteration; `x_only` and
/// `y_only` are summed before the product.
enum class loop_role : std::uint8_t { batch, row, column, inner, x_only, y_only };

/// A group of loops walked as one: `stride` elements a step, in the same order in all arrays concerned.
struct joined_loops {
  bool possible = true;
  extent size   = 1;
  extent stride = 0;
};

/// A matrix in memory whose rows or columns are contiguous.
struct flat_matrix {
  bool possible   = false;
  bool transposed = false;
  extent leading  = 1;
};

/// A candidate for the matrix product.
struct gemm_choice {
  bool possible = false;
  contraction_steps steps{};
};

/// An einsum with its loops sorted by role. The arrays leave out the dimensions of which they have storage
/// for one element, which do not matter for strides. Such a part may be empty, but then there are no turns,
/// and `plan_contraction` takes the nest, which leaves out no loop of no turns.
struct sorted_einsum {
  small_array<extent, max_rank> size{};       // iterations
  small_array<extent, max_rank> allocated{};  // the allocated extents of the arrays
  int rank = 0;
  small_array<loop_role, max_rank> role{};
  dim_list x{};
  dim_list y{};
  dim_list z{};

  constexpr extent size_of(int dim) const { return size[dim]; }
  constexpr std::span<extent const> local_extents() const { return size.first(rank); }
  constexpr std::span<extent const> allocated_extents() const { return allocated.first(rank); }

  constexpr dim_list only(loop_role wanted, dim_list const& from) const {
    dim_list list;
    for (int d : from)
      if (role[d] == wanted) list.push_back(d);
    return list;
  }

  constexpr extent elements(dim_list const& dims) const {
    extent n = 1;
    for (int d : dims) n *= size_of(d);
    return n;
  }
};

constexpr sorted_einsum sort_by_role(std::span<extent const> loops, std::span<extent const> allocated,
                                     dim_list const& x, dim_list const& y, dim_list const& z) {
  sorted_einsum out{.rank = static_cast<int>(loops.size())};
  for (int d = 0; d < out.rank; ++d) {
    auto const loop     = static_cast<std::size_t>(d);
    bool const in_x     = x.has(d);
    bool const in_y     = y.has(d);
    bool const in_z     = z.has(d);
    out.size[loop]      = loops[loop];
    out.allocated[loop] = allocated[loop];
    if (in_x && in_y) out.role[loop] = in_z ? loop_role::batch : loop_role::inner;
    else if (in_x) out.role[loop] = in_z ? loop_role::row : loop_role::x_only;
    else out.role[loop] = in_z ? loop_role::column : loop_role::y_only;
  }
  auto const longer_than_one = [&](dim_list const& dims) {
    dim_list list;
    for (int d : dims)
      if (out.allocated[d] > 1) list.push_back(d);
    return list;
  };
  out.x = longer_than_one(x);
  out.y = longer_than_one(y);
  out.z = longer_than_one(z);
  return out;
}

constexpr dim_list chain(dim_list const& a, dim_list const& b, dim_list const& c = {}) {
  dim_list list = a;
  for (int d : b) list.push_back(d);
  for (int d : c) list.push_back(d);
  return list;
}

constexpr joined_loops joined(sorted_einsum const& e, dim_list const& group,
                              small_array<extent, max_rank> const& strides) {
  joined_loops out;
  for (int i = group.count; i-- > 0;) {
    if (e.size_of(group[i]) == 1) continue;
    extent const stride = strides[group[i]];
    if (out.size == 1) out.stride = stride;
    else if (stride != out.stride * out.size) out.possible = false;
    out.size *= e.size_of(group[i]);
  }
  return out;
}

constexpr flat_matrix as_matrix(joined_loops rows, joined_loops columns) {
  if (!rows.possible || !columns.possible) return {};
  if (columns.size == 1) return {true, false, rows.size == 1 ? 1 : rows.stride};
  if (columns.stride == 1) return {true, false, rows.size == 1 ? columns.size : rows.stride};
  if (rows.size == 1) return {true, true, columns.stride};
  return {rows.stride == 1, true, columns.stride};
}

/// Which of x, y and z go through a buffer, one bit each.
enum packed_set : unsigned { pack_none = 0, pack_x = 1, pack_y = 2, pack_z = 4 };

/// The product in which the arrays in `packed` go through buffers, and the rows and columns in `outer` are
/// batch loops: multiplied in parts, not copied.
constexpr gemm_choice as_gemm(sorted_einsum const& e, unsigned packed, std::uint32_t outer) {
  auto const is_outer = [&](int d) { return (outer >> d & 1) != 0; };
  auto const inside   = [&](loop_role role, dim_list const& from) {
    dim_list list;
    for (int d : e.only(role, from))
      if (!is_outer(d)) list.push_back(d);
    return list;
  };

  // a buffer takes the order of an array that has none
  dim_list const rows    = inside(loop_role::row, packed & pack_z ? e.x : e.z);
  dim_list const columns = inside(loop_role::column, packed & pack_z ? e.y : e.z);
  dim_list const inner   = inside(loop_role::inner, packed & pack_x ? e.y : e.x);
  dim_list batch;
  for (int d : e.z)
    if (is_outer(d) || e.role[d] == loop_role::batch) batch.push_back(d);

  dim_list const x = packed & pack_x ? chain(batch, rows, inner) : e.x;
  dim_list const y = packed & pack_y ? chain(batch, inner, columns) : e.y;
  dim_list const z = packed & pack_z ? chain(batch, rows, columns) : e.z;
  // a buffer's allocated extents are its local extents
  auto const memory = [&](unsigned array) {
    return (packed & array) != 0 ? e.local_extents() : e.allocated_extents();
  };
  auto const along_x = strides_of(x, memory(pack_x));
  auto const along_y = strides_of(y, memory(pack_y));
  auto const along_z = strides_of(z, memory(pack_z));

  joined_loops const x_rows    = joined(e, rows, along_x);
  joined_loops const x_inner   = joined(e, inner, along_x);
  joined_loops const y_columns = joined(e, columns, along_y);
  joined_loops const y_inner   = joined(e, inner, along_y);
  joined_loops const z_rows    = joined(e, rows, along_z);
  joined_loops const z_columns = joined(e, columns, along_z);

  // BLAS writes rows: if the columns of z are contiguous, compute its transpose as the product of the other
  // two, transposed
  flat_matrix const c = as_matrix(z_rows, z_columns);
  flat_matrix const a = c.transposed ? as_matrix(y_columns, y_inner) : as_matrix(x_rows, x_inner);
  flat_matrix const b = c.transposed ? as_matrix(x_inner, x_rows) : as_matrix(y_inner, y_columns);
  if (!a.possible || !b.possible || !c.possible) return {};

  contraction_steps s{
      .by_gemm     = true,
      .swapped     = c.transposed,
      .transpose_a = a.transposed,
      .transpose_b = b.transposed,
      .m           = c.transposed ? z_columns.size : z_rows.size,
      .n           = c.transposed ? z_rows.size : z_columns.size,
      .k           = x_inner.size,
      .lda         = a.leading,
      .ldb         = b.leading,
      .ldc         = c.leading,
  };

  nest_steps walk{.rank = batch.count, .operands = 3};
  for (int i = 0; i < batch.count; ++i) {
    int const from    = batch[i];
    walk.size[i]      = e.size[from];
    walk.stride[0][i] = s.swapped ? along_y[from] : along_x[from];
    walk.stride[1][i] = s.swapped ? along_x[from] : along_y[from];
    walk.stride[2][i] = along_z[from];
  }
  s.batch = collapsed(walk);

  auto const through_buffer = [&](packing& p, dim_list const& in, dim_list const& out, bool fills,
                                  dim_list const& buffer) {
    small_array<extent, max_rank> loops{};
    loops.fill(1);
    for (int d : in) loops[d] = e.size_of(d);
    std::array const operands{in, out};
    p.needed = true;
    p.offset = s.scratch;
    std::array const memories{fills ? e.allocated_extents() : e.local_extents(),
                              fills ? e.local_extents() : e.allocated_extents()};
    p.walk = plan_nest(loops.first(e.rank), operands, memories);
    s.scratch += e.elements(buffer);
  };
  if (packed & pack_x) through_buffer(s.x, e.x, x, true, x);
  if (packed & pack_y) through_buffer(s.y, e.y, y, true, y);
  if (packed & pack_z) through_buffer(s.z, z, e.z, false, z);
  return {true, s};
}

/// A matrix dimension is not cut into pieces smaller than this: the product would lose more than a copy
/// costs.
inline constexpr extent min_cut = 32;

/// No cut is searched for if there are more rows and columns than this together: the compiler would have to
/// try all subsets.
inline constexpr int max_cut = 6;

/// The product that leaves the largest matrices when some rows and columns become batch loops.
constexpr gemm_choice cut_in_parts(sorted_einsum const& e) {
  dim_list const free = chain(e.only(loop_role::row, e.z), e.only(loop_role::column, e.z));
  std::uint32_t best  = 0;
  extent largest      = 0;
  for (std::uint32_t picked = 1; free.count <= max_cut && picked >> free.count == 0; ++picked) {
    std::uint32_t outer = 0;
    small_array<extent, 2> left{1, 1};
    small_array<bool, 2> cut{};
    for (int i = 0; i < free.count; ++i) {
      std::size_t const side = e.role[free[i]] == loop_role::row ? 0 : 1;
      if (picked >> i & 1) {
        outer |= std::uint32_t{1} << free[i];
        cut[side] = true;
      } else left[side] *= e.size_of(free[i]);
    }
    bool const worth = (!cut[0] || left[0] >= min_cut) && (!cut[1] || left[1] >= min_cut);
    if (worth && left[0] * left[1] > largest && as_gemm(e, pack_none, outer).possible) {
      best    = outer;
      largest = left[0] * left[1];
    }
  }
  return best != 0 ? as_gemm(e, pack_none, best) : gemm_choice{};
}

/// The product that copies the fewest elements. It is always possible with three buffers.
constexpr gemm_choice with_buffers(sorted_einsum const& e, unsigned must) {
  extent const in_x = e.elements(e.x);
  extent const in_y = e.elements(e.y);
  extent const in_z = e.elements(e.z);
  unsigned best     = pack_x | pack_y | pack_z;
  extent smallest   = in_x + in_y + in_z;
  for (unsigned packed = must; packed < (pack_x | pack_y | pack_z); ++packed) {
    extent const copied =
        (packed & pack_x ? in_x : 0) + (packed & pack_y ? in_y : 0) + (packed & pack_z ? in_z : 0);
    if ((packed & must) == must && copied < smallest && as_gemm(e, packed, 0).possible) {
      best     = packed;
      smallest = copied;
    }
  }
  return as_gemm(e, best, 0);
}

}  // namespace detail

/// How x and y are multiplied and summed into z. Their dimensions are numbers into `loops`, the iterations of
/// each loop in one process, and into `allocated`, the allocated extents of the arrays. Every dimension of z
/// is in x or y.
///
/// No array is copied if its strides suit one matrix product, or one product for each iteration of some outer
/// loops. Otherwise it is packed.
constexpr contraction_steps plan_contraction(std::span<extent const> loops, std::span<extent const> allocated,
                                             dim_list const& x, dim_list const& y, dim_list const& z) {
  detail::sorted_einsum const e = detail::sort_by_role(loops, allocated, x, y, z);
  extent iterations             = 1;
  extent batches                = 1;
  extent only_x                 = 1;
  extent only_y                 = 1;
  for (int d = 0; d < e.rank; ++d) {
    extent const size = e.size_of(d);
    iterations *= size;
    switch (e.role[d]) {
      case detail::loop_role::batch: batches *= size; break;
      case detail::loop_role::x_only: only_x *= size; break;
      case detail::loop_role::y_only: only_y *= size; break;
      default: break;
    }
  }
  unsigned const must = (only_x > 1 ? detail::pack_x : 0U) | (only_y > 1 ? detail::pack_y : 0U);

  // a nest pays if each product is tiny, or if nothing is used twice: an outer product, or batch loops and a
  // sum of one operand
  constexpr extent tiny = 16;
  bool const no_inner   = e.only(detail::loop_role::inner, e.x).count == 0;
  bool const one_is_sum = iterations == batches * only_x || iterations == batches * only_y;
  bool const by_nest    = iterations <= tiny * batches || (no_inner && must == 0) || one_is_sum;

  contraction_steps steps;
  if (!by_nest) {
    detail::gemm_choice choice;
    if (must == 0) {
      choice = detail::as_gemm(e, detail::pack_none, 0);
      if (!choice.possible) choice = detail::cut_in_parts(e);
    }
    if (!choice.possible) choice = detail::with_buffers(e, must);
    steps = choice.steps;
  }
  std::array const operands{x, y, z};
  std::array const memories{allocated, allocated, allocated};
  steps.nest  = plan_nest(loops, operands, memories);
  steps.flops = 2 * iterations;
  steps.wide  = detail::wide_elements_of(steps);
  return steps;
}
/// The same for arrays whose allocated extents are the local extents.
constexpr contraction_steps plan_contraction(std::span<extent const> loops, dim_list const& x,
                                             dim_list const& y, dim_list const& z) {
  return plan_contraction(loops, loops, x, y, z);
}

constexpr contraction_steps contraction_steps::plan(task_loops const& l, loop_extents const& e) {
  return plan_contraction(e.local_extents(), e.allocated_extents(), l.operand[0], l.operand[1], l.operand[2]);
}

}  // namespace v0
}  // namespace meshtf
