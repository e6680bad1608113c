// The dictionary of docs/from_mesh_tensorflow.md and docs/from_pytorch_and_jax.md: lines from there, and the
// line that says the same here. The tables of both pages are made from this file by
// tests/checks/dictionary.py. Like every example, it is compiled and run.
//
//   //# HEADING     begins a table
//   //= ORIGINAL || PYTORCH || JAX   the lines there, of which some may be missing, on as many lines as they
//                                    need; below them the line here
// What is called by the name of an operation alone, as `relu(x)`, stands in the operation's header instead.
// Run:    examples/processes 4 build/release/examples/from_mesh_tensorflow
// Prints: that every line has run, and a loss.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <source_location>
#include <vector>

#include <meshtf/meshtf.hpp>
#include <meshtf/nn/beam_search.hpp>
#include <meshtf/nn/generation.hpp>
#include <meshtf/nn/mixture_of_experts.hpp>
#include <meshtf/search/search.hpp>

using namespace meshtf;

namespace {

//# Dimensions, meshes, layouts

//= batch = mtf.Dimension("batch", 8) || a number in a shape || a number in a shape
struct batch : dim<8> {};

struct length : dim<4> {};
struct vocab : dim<16> {};
struct model : dim<12> {};
struct hidden : dim<16> {};
struct heads : dim<4> {};
struct key : dim<3> {};

//= mtf.Shape([batch, length, model]), mtf.convert_to_shape("batch:8,length:4,model:12")
using sequence = shape<batch, length, model>;

//= shape.size, shape.ndims, length in shape.dims || x.numel(), x.ndim || x.size, x.ndim
static_assert(sequence::size == 8 * 4 * 12 && sequence::rank == 3 && sequence::has<length>);

//= mtf.Shape([batch, length]) + model, shape - length
static_assert(std::same_as<united<shape<batch, length>, shape<model>>, sequence> &&
              std::same_as<without<sequence, shape<length>>, shape<batch, model>>);

//= shape.rename_dimension("length", "longer"), shape.resize_dimension("length", 6)
struct longer : dim<6> {};
using longer_sequence = replaced<sequence, length, shape<longer>>;

//= mtf.combined_dimension([heads, key])
struct all_keys : dim<heads::size * key::size> {};

//= mesh_shape = "rows:2;cols:2" ||
//= init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "cols")) ||
//= jax.make_mesh((2, 2), ("rows", "cols"))
struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

//= layout_rules = mtf.convert_to_layout_rules("batch:rows;hidden:cols;heads:cols;vocab:cols") ||
//= placements = [Shard(0), Shard(1)], for each tensor ||
//= PartitionSpec("rows", "cols"), for each tensor
struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>, split<heads, cols>, split<vocab, cols>> {
};

struct by_length : layout<grid, split<length, rows>> {};
struct whole : layout<grid> {};
struct processes : axis<4> {};
struct line : mesh<processes> {};
struct by_line : layout<line, split<batch, processes>> {};
struct by_model_and_heads : layout<grid, split<model, rows>, split<heads, cols>> {};
struct by_all_heads : layout<grid, split<heads, rows, cols>> {};

//= layout_rules.tensor_layout(shape, mesh_shape): a TensorLayout, or an error
static_assert(accepted<placement_verdict<mixed, batch, hidden>>);

//= mtf.Mesh(graph, "mesh"), PlacementMeshImpl, SimdMeshImpl || DeviceMesh || Mesh
using processes_of_the_grid = process_mesh<grid>;

//= layout_rules.tensor_dimension_to_mesh_axis(batch, mesh_shape), tensor_layout.is_fully_replicated
static_assert(split_over<mixed, shape<batch>> == axis_set_of<grid, axes<rows>> &&
              split_over<mixed, shape<length>> == 0);

//= mtf.tensor_dim_to_mesh_dim_size(layout, mesh_shape, batch), mtf.tensor_dim_to_size_per_split(layout,
//= mesh_shape, batch)
static_assert(placed_under<mixed, batch>.parts == 2 && placed_under<mixed, batch>.allocated_extent() == 4);

//= mesh_impl.slice_shape(shape)
static_assert(tensor<float, mixed, batch, hidden>::size == 4 * 8);

template<Layout L>
struct product_of_two {
  tensor<float, L, batch, model> x;
  tensor<float, L, model, hidden> w;
  constexpr explicit product_of_two(machine<L>& m) : x{m}, w{m} {}
  constexpr auto step() { return einsum<batch, hidden>(x, w); }
};
//= lowering.add_counter(...), pretty_print_counters ||
//= CommDebugMode(), while it runs ||
//= jax.jit(f).lower(x).cost_analysis()
static_assert(dry_run<product_of_two, mixed>().flops() == 2 * 4 * 12 * 8);

//= an mtf.Operation before it is lowered, and where it is refused
using product_plan = einsum_plan<mixed, shape<batch, hidden>, shape<batch, model>, shape<model, hidden>>;
static_assert(accepted<product_plan::verdict>);

//= operation.lower(lowering): the local operation and its allreduce
static_assert(product_plan::local.m == 4 && product_plan::local.n == 8 && product_plan::local.k == 12 &&
              product_plan::finished_over == 0);

//= mtf.Lowering(graph, {mesh: mesh_impl}), for each kind of mesh_impl || || jax.jit(f).lower(x)
static_assert(std::same_as<machine<mixed>, process_mesh<grid>> &&
              std::same_as<machine<dry<mixed>>, ledger<grid>>);

//# Values
void values(process_mesh<grid>& m) {
  using L            = mixed;
  auto const numbers = xt::xarray<float>::from_shape({8, 12});

  //= mtf.import_tf_tensor(mesh, array, shape), mesh_impl.make_slices || torch.from_numpy(array) ||
  //= jax.device_put(array, sharding)
  auto const x = from_global<float, L, batch, model>(m, numbers);

  //= mtf.import_fully_replicated(mesh, array, shape) || distribute_tensor(x, mesh, [Replicate()]) ||
  //= jax.device_put(array, replicated)
  auto const same = from_global<float, whole, batch, model>(m, numbers);

  //= mtf.anonymize(x) || x.full_tensor() || lax.with_sharding_constraint(x, replicated)
  auto const on_all = reshard<whole>(x);

  //= lowering.export_to_tf_tensor(x), mesh_impl.combine_slices || x.full_tensor().numpy() || np.asarray(x)
  auto const all = to_global(x);

  //= mtf.import_laid_out_tensor(mesh, slices, shape) || DTensor.from_local(part, mesh, placements) ||
  //= jax.make_array_from_process_local_data
  tensor<float, L, batch, model> laid_out{m};
  laid_out.local() = xt::ones<float>({4, 12});

  //= mtf.import_tf_tensor(another_mesh, lowering.export_to_tf_tensor(x), shape)
  process_mesh<line> another{m.world()};
  auto const there = from_global<float, by_line, batch, model>(another, to_global(x));

  //= mtf.Graph(), graph.operations: what is kept of them until backward
  [[maybe_unused]] bool const nothing_to_differentiate = m.tape_is_empty();

  //= mtf.get_variable(mesh, "w", shape, initializer=tf.random_normal_initializer()) ||
  //= nn.Parameter(torch.randn(12, 16)) ||
  //= random.normal(key, (12, 16))
  parameter<float, L, model, hidden> w{m, normal{.seed = 1}};

  //= mtf.zeros(mesh, shape), mtf.zeros_like(x) || torch.zeros(8, 12) || jnp.zeros((8, 12))
  tensor<float, L, batch, model> const nothing{m};

  //= mtf.constant(mesh, 1.0, shape), mtf.ones(mesh, shape), mtf.ones_like(x) || torch.ones(8, 12) ||
  //= jnp.ones((8, 12))
  auto const ones = nothing + 1;

  //= mtf.range(mesh, vocab, tf.int32) || torch.arange(16) || jnp.arange(16)
  auto const numbered = iota<int, L, vocab>(m);

  //= mtf.random_uniform(mesh, shape) || torch.rand(8, 12) || random.uniform(key, (8, 12))
  auto const u = random_uniform<float, L, batch, model>(m, {.seed = 2});

  //= mtf.random_normal(mesh, shape) || torch.randn(8, 12) || random.normal(key, (8, 12))
  auto const g = random_normal<float, L, batch, model>(m, {.seed = 3});

  //= mtf.dropout(x, is_training, rate=0.1) ||
  //= F.dropout(x, 0.1) ||
  //= x * random.bernoulli(key, 0.9, x.shape) / 0.9
  auto const dropped = dropout(x, 0.1, {.seed = 4});

  //= mtf.dropout(x, is_training, rate=0.1, noise_shape=[batch]) ||
  //= x * F.dropout(torch.ones(8, 1), 0.1) ||
  //= nnx.Dropout(0.1, broadcast_dims=(1,), rngs=rngs)(x)
  auto const dropped_whole = x * dropout(tensor<float, L, batch>{m} + 1, 0.1, {.seed = 6});

  //= mtf.stop_gradient(x) || x.detach() || lax.stop_gradient(x)
  auto const fixed = stop_gradient(x);

  //= mtf.pnum_to_processor_coordinates(mesh_shape, pnum), mesh_impl.laid_out_pcoord(mesh_axis) ||
  //= mesh.get_coordinate() ||
  //= lax.axis_index("rows")
  [[maybe_unused]] extent const row = m.coordinate<rows>(), column = m.coordinate<cols>();

  //= mtf.processor_coordinates_to_pnum(mesh_shape, [row, column]), mesh_impl.laid_out_pnum() ||
  //= mesh.get_rank() || jax.process_index()
  [[maybe_unused]] bool const is_row_major = m.rank() == row * cols::size + column;

  //= mtf.processor_groups(mesh_shape, ["rows"]), mtf.pnum_to_group(mesh_shape, ["rows"], pnum) ||
  //= mesh.get_group("rows") || an axis name
  [[maybe_unused]] MPI_Comm const group_of_this_process = m.along<rows>();

  //= mesh_impl.laid_out_slice_num(shape) || || sharding.devices_indices_map(shape)
  [[maybe_unused]] extent const part = m.place().part_of(placed_under<L, batch>.over);

  //= mtf.assign(variable, value) || w.data.copy_(value) || w = value
  w = random_normal<float, L, model, hidden>(m, {.seed = 5});

  //= mtf.assign_add(variable, 1.0), mtf.assign_sub || w.data.add_(1) || w = w + 1
  w = stop_gradient(w) + 1;
}

//# Pointwise
void pointwise(process_mesh<grid>& m) {
  using L      = mixed;
  auto const x = random_uniform<float, L, batch, hidden>(m, {.seed = 1}, 0.5, 2);
  auto const y = random_uniform<float, L, batch, hidden>(m, {.seed = 2}, 0.5, 2);
  auto const b = random_uniform<float, L, hidden>(m, {.seed = 3});
  auto const i = iota<int, L, hidden>(m);

  //= mtf.add(x, b), mtf.sub(x, b) || x + b, x - b || x + b, x - b
  auto const sums        = x + b;
  auto const differences = x - b;

  //= mtf.multiply(x, b), mtf.divide(x, y) || x * b, x / y || x * b, x / y
  auto const products  = x * b;
  auto const quotients = x / y;

  //= mtf.ScalarMultiplyOperation, mtf.ScalarAddOperation || x * 2, x + 1 || x * 2, x + 1
  auto const doubled  = x * 2;
  auto const one_more = x + 1;

  //= mtf.identity(x) || x.clone() || jnp.copy(x)
  auto const own = copy(x);

  //= mtf.add_n([x, y, b])
  auto const three = x + y + b;

  //= mtf.pow(x, y) || x.pow(y) || jnp.power(x, y)
  auto const p = pow(x, y);

  //= mtf.leaky_relu(x), mtf.elu(x) ||
  //= F.leaky_relu(x, 0.2), F.elu(x) ||
  //= jax.nn.leaky_relu(x, 0.2), jax.nn.elu(x)
  auto const lr = leaky_relu(x, 0.2);
  auto const el = elu(x);

  //= mtf.minimum(mtf.maximum(x, 0.6), 1.5) || x.clamp(0.6, 1.5) || jnp.clip(x, 0.6, 1.5)
  auto const clamped = clamp(x, 0.6, 1.5);

  //= mtf.negative(x) || -x || -x
  auto const ne = -x;

  //= mtf.minimum(x, b), mtf.maximum(x, b) ||
  //= torch.minimum(x, b), torch.maximum(x, b) ||
  //= jnp.minimum(x, b), jnp.maximum(x, b)
  auto const low  = minimum(x, b);
  auto const high = maximum(x, b);

  //= mtf.floordiv(x, y), mtf.mod(x, y) of integers || x // y, x % y || x // y, x % y
  auto const q    = floor_divide(i, 3);
  auto const rest = modulo(i, 3);

  //= mtf.less(x, y), mtf.greater_equal(x, y), mtf.equal(x, y) ||
  //= x < y, x >= y, x == y ||
  //= x < y, x >= y, x == y
  auto const is_less          = less(x, y);
  auto const is_greater_equal = greater_equal(x, y);
  auto const is_equal         = equal(x, y);

  //= mtf.greater(x, y), mtf.less_equal(x, y), mtf.not_equal(x, y) || x > y, x <= y, x != y || x > y, x <= y,
  //= x != y
  auto const is_greater    = greater(x, y);
  auto const is_less_equal = less_equal(x, y);
  auto const is_other      = not_equal(x, y);

  //= mtf.logical_and(p, q), mtf.logical_or(p, q), mtf.logical_not(p) || p & q, p | q, ~p || p & q, p | q, ~p
  auto const both   = logical_and(is_less, is_equal);
  auto const either = logical_or(is_less, is_equal);
  auto const no     = logical_not(is_less);

  //= mtf.where(condition, x, y) || torch.where(condition, x, y) || jnp.where(condition, x, y)
  auto const chosen = where(is_less, x, y);

  //= mtf.cast(x, tf.int32) || x.int() || x.astype(jnp.int32)
  auto const whole_numbers = cast<int>(x);

  //= mtf.to_float(i), mtf.to_int32(x), mtf.to_bfloat16(x) || i.float(), x.int(), x.bfloat16() ||
  //= i.astype(jnp.float32)
  auto const floats = cast<float>(i);
  auto const narrow = cast<bfloat16>(x);

  //= mtf.cwise(tf_function, [x, y]) || a torch.autograd.Function || a function, vmap
  auto const mine = map([](auto const& u, auto const& v) { return u * v + u; },
                        [](auto const& u, auto const& v) { return std::array{v + 1, u}; }, x, y);

  //= mtf.layers.sigmoid_cross_entropy_with_logits(x, y) ||
  //= F.binary_cross_entropy_with_logits(x, y, reduction="none") ||
  //= optax.sigmoid_binary_cross_entropy(x, y)
  auto const loss = sigmoid_cross_entropy(x, y);
}

//# Along dimensions
void reductions(process_mesh<grid>& m) {
  using L      = mixed;
  auto const x = random_uniform<float, L, batch, hidden>(m, {.seed = 1});
  auto const b = greater(x, 0.5);
  auto const w = random_uniform<float, L, batch, hidden>(m, {.seed = 9});

  //= mtf.reduce_sum(x, reduced_dim=hidden), mtf.reduce_sum(x, output_shape=[batch]) || x.sum(-1) || x.sum(-1)
  auto const total = sum<hidden>(x);

  //= mtf.reduce_mean(x, reduced_dim=hidden), mtf.reduce_mean(x) ||
  //= x.mean(-1), x.mean() ||
  //= x.mean(-1), x.mean()
  auto const average        = mean<hidden>(x);
  auto const average_of_all = mean(x);

  //= mtf.reduce_sum(x * w) / mtf.reduce_sum(w) ||
  //= (x * w).sum() / w.sum() ||
  //= jnp.average(x, weights=w)
  auto const weighted = weighted_mean(x, w);

  //= mtf.reduce_max(x, reduced_dim=hidden), mtf.reduce_min(x, reduced_dim=hidden) ||
  //= x.amax(-1), x.amin(-1), whose gradient divides dz among equal elements (here each gets all of it) ||
  //= x.max(-1), x.min(-1), whose gradient divides dz among equal elements (here each gets all of it)
  auto const most  = max<hidden>(x);
  auto const least = min<hidden>(x);

  //= || x.var(-1, correction=0), torch.linalg.vector_norm(x, dim=-1), x.prod(-1) ||
  //= x.var(-1), jnp.linalg.norm(x, axis=-1), x.prod(-1)
  auto const spread         = variance<hidden>(x);
  auto const size           = l2_norm<hidden>(x);
  auto const all_multiplied = product<hidden>(x);

  //= mtf.reduce_all(b), mtf.reduce_any(b) || b.all(), b.any() || b.all(), b.any()
  auto const every = all(b);
  auto const some  = any(b);

  //= mtf.argmax(x, hidden) || x.argmax(-1) || x.argmax(-1)
  auto const where_most = argmax<hidden>(x);

  //= mtf.top_1(x, hidden) || x.max(-1) || lax.top_k(x, 1)
  auto const [value, index] = max_and_argmax<hidden>(x);

  //= mtf.top_k(x, hidden, k_dim) || x.topk(4, -1) || lax.top_k(x, 4)
  struct four : dim<4> {};
  auto const [values, indices] = top_k<hidden, four>(x);

  //= mtf.nth_smallest_element(y, 2, model) || y.kthvalue(3, 1) || jnp.sort(y, 1)[:, 2]
  auto const third = nth_element<model, 2>(random_uniform<float, L, batch, model>(m, {.seed = 3})).value;

  //= mtf.nth_largest_element(y, 2, model) || y.kthvalue(10, 1) || jnp.sort(y, 1)[:, -3]
  auto const third_largest =
      nth_element<model, 2>(random_uniform<float, L, batch, model>(m, {.seed = 3}), {.descending = true})
          .value;

  //= tf.sort, tf.argsort by slicewise || y.sort(1), y.argsort(1) || jnp.sort(y, 1), jnp.argsort(y, 1)
  auto const y        = random_uniform<float, L, batch, model>(m, {.seed = 2});
  auto const in_order = sort<model>(y);
  auto const order    = argsort<model>(y);

  //= mtf.cumsum(y, model, exclusive=True) || y.cumsum(1) - y || jnp.cumsum(y, 1) - y
  auto const before = cumsum<model>(y, {.exclusive = true});

  //= tf.cumprod by slicewise || y.cumprod(1) || jnp.cumprod(y, 1)
  auto const running_product = cumprod<model>(y);

  //= mtf.reduce_logsumexp(x, hidden) || x.logsumexp(-1) || jax.nn.logsumexp(x, -1)
  auto const z = logsumexp<hidden>(x);

  //= mtf.softmax(x, hidden), mtf.log_softmax(x, hidden) ||
  //= x.softmax(-1), x.log_softmax(-1) ||
  //= jax.nn.softmax(x), jax.nn.log_softmax(x)
  auto const probabilities = softmax<hidden>(x);
  auto const logs          = log_softmax<hidden>(x);

  //= mtf.softmax(x, hidden, extra_logit=0.0)
  auto const attention_to_nothing = softmax<hidden>(x, 0.0);

  //= mtf.sample_with_temperature(logits, vocab, temperature=0.8) ||
  //= torch.multinomial((x / 0.8).softmax(-1), 1) ||
  //= random.categorical(key, x / 0.8)
  auto const ids = sample<hidden>(x, {.seed = 7}, 0.8);
}

//# Products
void products(process_mesh<grid>& m) {
  using L      = mixed;
  auto const x = random_uniform<float, L, batch, length, model>(m, {.seed = 1});
  auto const w = random_uniform<float, L, model, hidden>(m, {.seed = 2});
  auto const v = random_uniform<float, L, hidden, model>(m, {.seed = 3});

  //= mtf.einsum([x, w], output_shape=[batch, length, hidden]) ||
  //= torch.einsum("blm,mh->blh", x, w) ||
  //= jnp.einsum("blm,mh->blh", x, w)
  auto const h = einsum<batch, length, hidden>(x, w);

  //= mtf.einsum([x, w, v], output_shape=[batch, length]) || torch.einsum("blm,mh,hm->bl", x, w, v) ||
  //= jnp.einsum("blm,mh,hm->bl", x, w, v)
  auto const of_three = einsum<batch, length>(x, w, v);

  //= mtf.matmul(x, w) || x @ w || x @ w
  auto const same = matmul<model>(x, w);

  //= mtf.LazyAllreduceSum, which adds up when somebody asks ||
  //= DTensor with Partial() ||
  //= PartitionSpec(..., unreduced)
  auto const open     = partial_einsum<batch, length, model>(h, v);
  auto const finished = finish(open);

  struct memory : dim<4> {};
  auto const q        = random_uniform<float, L, batch, length, heads, key>(m, {.seed = 4});
  auto const k        = random_uniform<float, L, batch, memory, heads, key>(m, {.seed = 5});
  auto const one_head = random_uniform<float, L, batch, memory, key>(m, {.seed = 6});

  //= mtf.layers.dot_product_attention(q, k, v, mtf.layers.attention_mask_autoregressive(positions)) ||
  //= F.scaled_dot_product_attention(q, k, k, is_causal=True) ||
  //= jax.nn.dot_product_attention(q, k, k, is_causal=True)
  auto const attended = attention<length, memory, key>(q, k, k, {.causal = true});

  //= attention.local_attention_1d(q, k, k, ..., radius=2) ||
  //= F.scaled_dot_product_attention(q, k, k, attn_mask=band) ||
  //= jax.nn.dot_product_attention(q, k, k, is_causal=True, local_window_size=(1, 0))
  auto const near = attention<length, memory, key>(q, k, k, {.causal = true, .window = 2});

  //= transformer_layers.SelfAttention(num_memory_heads=1) ||
  //= F.scaled_dot_product_attention(q, one_head, one_head, enable_gqa=True) ||
  //= jax.nn.dot_product_attention(q, one_head, one_head)
  auto const of_many_heads = attention<length, memory, key>(q, one_head, one_head);

  //= attention.attention(q, k, v, ..., dropout_rate=0.1, dropout_broadcast_dims=[]) ||
  //= F.scaled_dot_product_attention(q, k, k, dropout_p=0.1) ||
  //= nnx.dot_product_attention(q, k, k, dropout_rate=0.1, dropout_rng=key)
  auto const some_dropped = attention<length, memory, key>(q, k, k, {.dropout = 0.1, .random = {.seed = 7}});

  auto const scores = random_uniform<float, L, heads, length, memory>(m, {.seed = 8});
  //= attention.attention(q, k, v, ..., bias=scores) ||
  //= F.scaled_dot_product_attention(q, k, k, attn_mask=scores) ||
  //= jax.nn.dot_product_attention(q, k, k, bias=scores)
  auto const biased = attention<length, memory, key>(q, k, k, with_bias(scores));

  auto const visible = less(iota<int, L, memory>(m), 3);
  //= attention.attention(q, k, v, ..., bias=where(visible, 0, -1e9)),
  //= attention.visibility_mask_to_attention_bias, mtf.layers.attention_mask_ignore_padding(inputs) ||
  //= F.scaled_dot_product_attention(q, k, k, attn_mask=visible[:, None, None]) ||
  //= jax.nn.dot_product_attention(q, k, k, mask=visible[:, None, None])
  auto const unpadded = attention<length, memory, key>(q, k, k, with_mask(visible));

  auto const of_q = tensor<int, L, batch, length>{m} + floor_divide(iota<int, L, length>(m), 2);
  auto const of_k = tensor<int, L, batch, memory>{m} + floor_divide(iota<int, L, memory>(m), 2);
  //= mtf.layers.attention_mask_same_segment(of_q, of_k), the sequence_id of a Context ||
  //= F.scaled_dot_product_attention(q, k, k, attn_mask=(of_q[:, :, None] == of_k[:, None])[:, None]) ||
  //= jax.nn.dot_product_attention(q, k, k, mask=(of_q[:, :, None] == of_k[:, None])[:, None])
  auto const apart = attention<length, memory, key>(q, k, k, with_segments(of_q, of_k));

  struct buckets : dim<8> {};
  //= transformer_layers.SelfAttention(relative_attention_type="contextual")
  nn::contextual_bias<float, L, heads, key, buckets, length, memory> const by_query{m, normal{.seed = 9}};
  auto const with_distances = attention<length, memory, key>(q, k, k, with_bias(by_query(q)));

  auto const q_in_two = reshard<by_model_and_heads>(q);
  auto const k_in_two = reshard<by_model_and_heads>(k);
  //= attention.maybe_reshape_attention_input_for_2d_sharding(context, q, k, v, bias, []), where model is
  //= split over rows and heads over cols ||
  //= q.redistribute(mesh, placements), of k and of the result too ||
  //= lax.with_sharding_constraint(q, P(None, None, ("rows", "cols"))), of k and of the result too
  auto const k_of_all = reshard<by_all_heads>(k_in_two);
  auto const of_all   = attention<length, memory, key>(reshard<by_all_heads>(q_in_two), k_of_all, k_of_all);
  auto const of_all_in_two = reshard<by_model_and_heads>(of_all);
}

//# Layers
void layers(process_mesh<grid>& m) {
  using L          = mixed;
  auto const x     = random_uniform<float, L, batch, length, model>(m, {.seed = 1});
  auto const ids   = cast<int>(floor(random_uniform<float, L, batch, length>(m, {.seed = 2}, 0, 16)));
  auto const words = floor_divide(ids, 8);
  nn::streams seeds{3};

  //= mtf.layers.dense(x, new_dims=[heads, key], reduced_dims=[length, model]) ||
  //= nn.Linear(4 * 12, 4 * 3) on x.flatten(1) ||
  //= nnx.LinearGeneral((4, 12), (4, 3), axis=(-2, -1))
  nn::linear<float, L, shape<length, model>, shape<heads, key>> dense{
      m, variance_scaling{.seed = 4, .in = 4 * 12, .out = 4 * 3}};
  auto const y = dense(x);

  struct expert : dim<2> {};
  auto const x_of_each = random_uniform<float, L, expert, batch, model>(m, {.seed = 7});
  //= mtf.layers.dense(x, [hidden], [model], expert_dims=[expert]) ||
  //= torch.einsum("ebm,emh->ebh", x, w) + b[:, None] ||
  //= nnx.LinearGeneral(12, 16, batch_axis={0: 2}, rngs=rngs)(x)
  parameter<float, L, expert, model, hidden> const w{m, variance_scaling{.seed = 8, .in = 12, .out = 16}};
  parameter<float, L, expert, hidden> const b{m};
  auto const of_each = einsum<expert, batch, hidden>(x_of_each, w) + b;

  //= mtf.layers.us_einsum([x, w], [batch, length, hidden]), under unit_scaling_convention ||
  //= torch.einsum("blm,mh->blh", x, w) / 12**0.5 || jnp.einsum("blm,mh->blh", x, w) / 12**0.5
  parameter<float, L, model, hidden> const of_unit_variance{m, truncated_normal{.seed = 9}};
  auto const scaled = einsum<batch, length, hidden>(x, of_unit_variance) / std::sqrt(12.0F);

  //= mtf.layers.weights_nonzero(ids) || (ids != 0).float() || (ids != 0).astype(jnp.float32)
  auto const weights = cast<float>(not_equal(ids, 0));

  //= mtf.layers.dense_product(x, [model], [hidden], ["sigmoid", "linear"]) ||
  //= F.glu of one nn.Linear ||
  //= nnx.glu of one nnx.Linear
  nn::gated_feed_forward<float, L, model, hidden, nn::glu> gated{m, seeds, 0.1, 0.1};

  //= vocab_embeddings.FactorizedVocabEmbedding(..., inner_dimension_size=2)
  struct inner : dim<2> {};
  nn::factorised_embedding<float, L, vocab, inner, model> small{m, normal{5}, normal{6}};

  //= vocab_embeddings.AdaptiveVocabEmbedding(..., clusters=[{"token_count": 4, "embedding_size": 12}, ...])
  struct often : dim<4> {};
  struct seldom : dim<12> {};
  nn::adaptive_embedding<float, L, vocab, model, nn::cluster<often, model>, nn::cluster<seldom, inner>>
      adaptive{m, seeds, 0.1};

  //= transformer.autoregressive_inputs(targets, sequence_id)
  auto const inputs = nn::autoregressive_inputs<length>(ids, words);

  //= transformer.delimited_lm_inputs_mask(ids)
  auto const is_input = nn::delimited_lm_inputs_mask<length>(ids);

  //= transformer.sinusoid_positional_embedding_weights(length, model, tf.float32)
  auto const positions = nn::sinusoid_positions<float, L, length, model>(m);

  auto const h = gated(small(inputs) + adaptive(ids) + x + broadcast<batch, length, model>(positions));
}

//# Shapes, indices, placements
void shapes(process_mesh<grid>& m) {
  using L          = mixed;
  auto const x     = random_uniform<float, L, batch, length, hidden>(m, {.seed = 1});
  auto const table = random_uniform<float, L, vocab, model>(m, {.seed = 2});
  auto const ids   = cast<int>(floor(random_uniform<float, L, batch, length>(m, {.seed = 3}, 0, 16)));

  //= mtf.transpose(x, [length, batch, hidden]) || x.permute(1, 0, 2) || x.transpose(1, 0, 2)
  auto const turned = transpose<length, batch, hidden>(x);

  //= mtf.rename_dimension(x, "length", "memory")
  struct memory : dim<4> {};
  auto const renamed = rename<length, memory>(x);

  //= mtf.replace_dimensions(x, hidden, [heads, depth]) and back ||
  //= x.unflatten(-1, (4, 4)), x.flatten(-2) ||
  //= x.reshape(8, 4, 4, 4), x.reshape(8, 4, 16)
  struct depth : dim<4> {};
  auto const parts = split_dim<hidden, heads, depth>(x);
  auto const again = merge_dims<heads, depth, hidden>(parts);

  //= mtf.broadcast(x, [batch, length, hidden]), mesh_impl.broadcast_impl || b.expand(8, 4, 16) ||
  //= jnp.broadcast_to(b, (8, 4, 16))
  auto const b    = random_uniform<float, L, hidden>(m, {.seed = 4});
  auto const wide = broadcast<batch, length, hidden>(b);

  //= mtf.reshape(x, shape) to other splits ||
  //= x.redistribute(mesh, placements) ||
  //= lax.with_sharding_constraint(x, sharding)
  auto const moved = reshard<by_length>(x);

  //= mtf.gather(table, ids, vocab) || table[ids], F.embedding(ids, table) || table[ids]
  auto const rows_of_table = gather<vocab>(table, ids);

  //= mtf.gather(x, places, length), whose ids share batch with x ||
  //= x.take_along_dim(places[..., None], 1) ||
  //= jnp.take_along_axis(x, places[..., None], 1)
  struct pick : dim<2> {};
  auto const places = iota<int, L, pick>(m) + tensor<int, L, batch, pick>{m};
  auto const picked = gather<length>(x, places);

  //= || x.scatter(1, places[..., None].expand(-1, -1, 16), picked) || jax.vmap(lambda a, p, b:
  //= a.at[p].set(b))(x, places, picked)
  auto const put_back = scatter<length>(x, places, picked);

  //= mtf.one_hot(ids, vocab) || F.one_hot(ids, 16) || jax.nn.one_hot(ids, 16)
  auto const hot = one_hot<vocab, float>(ids);

  //= mtf.slice(x, 1, 2, "length") || x[:, 1:3] || x[:, 1:3]
  struct two : dim<2> {};
  auto const part = slice<length, two>(x, 1);

  //= mtf.split(x, length, [1, 3]) || x.split([1, 3], 1) || jnp.split(x, [1], 1)
  struct one : dim<1> {};
  struct three : dim<3> {};
  auto const [first, rest] = split_into<length, one, three>(x);

  //= mtf.pad(x, [1, 1], "length") || F.pad(x, (0, 0, 1, 1)) || jnp.pad(x, ((0, 0), (1, 1), (0, 0)))
  struct six : dim<6> {};
  auto const padded_x = pad<length, six>(x, 1);

  //= mtf.stack([x, y], "two"), mtf.unstack(both, two) || torch.stack([x, y]), both.unbind() || jnp.stack([x,
  //= y]), jnp.unstack(both)
  auto const both    = stack<two>(x, x);
  auto const singles = unstack<two>(both);

  //= mtf.stack(steps, "two") || torch.stack(steps) || jnp.stack(steps)
  auto const of_list = stack<two>(std::vector{x, x});

  //= mtf.shift(x, 1, length, wrap=False) || F.pad(x, (0, 0, 1, 0))[:, :-1] || jnp.pad(x, ((0, 0), (1, 0), (0,
  //= 0)))[:, :-1]
  auto const later = shift<length>(x, 1);

  //= mtf.shift(x, 1, length, wrap=True) || x.roll(1, 1) || jnp.roll(x, 1, 1)
  auto const round_about = roll<length>(x, 1);

  //= mtf.layers.conv1d(x, model, filter_size=3) ||
  //= F.conv1d(x.mT, w, padding="same").mT ||
  //= lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
  auto const filter    = random_uniform<float, L, three, hidden, model>(m, {.seed = 6});
  auto const convolved = conv<window<length, three>, hidden, model>(x, filter);

  //= mtf.layers.separable_conv1d(x, model) ||
  //= nn.Conv1d(16, 12, 1)(F.conv1d(x.mT, w, padding="same", groups=16)).mT ||
  //= nnx.Linear(16, 12, rngs=rngs)(nnx.Conv(16, 16, 3, feature_group_count=16, rngs=rngs)(x))
  parameter<float, L, three, hidden> const by_channel{m, he_normal{9}};
  nn::linear<float, L, hidden, model> const over_channels{m, he_normal{10}};
  auto const separated = over_channels(conv<window<length, three>>(x, by_channel));

  //= mtf.layers.conv2d_transpose(z, ...), mtf.layers.conv3d_transpose, of as many dimensions as there are
  //= windows || F.conv_transpose1d(z.mT, w, padding=1).mT || lax.conv_transpose(z, w, (1,), "SAME")
  auto const spread_again = conv_transpose<window<length, three>, hidden, model>(convolved, filter);

  //= mtf.layers.conv2d(image, filters), mtf.layers.conv2d_with_blocks(image, ...), whose blocks are the
  //= layout's; = mtf.layers.conv3d has a window more || F.conv2d || lax.conv
  struct height : dim<4> {};
  struct width : dim<4> {};
  struct k_h : dim<3> {};
  struct k_w : dim<3> {};
  auto const image  = random_uniform<float, L, batch, height, width, key>(m, {.seed = 7});
  auto const taps   = random_uniform<float, L, k_h, k_w, key, model>(m, {.seed = 8});
  auto const in_two = conv<window<height, k_h>, window<width, k_w>, key, model>(image, taps);

  //= mtf.layers.max_pool2d(x, ksize), of whole dimensions ||
  //= F.max_pool1d(x.mT, 2).mT, which gives dz to the first of equal elements (here to each) ||
  //= nn.max_pool(x, (2,), (2,)), which gives dz to the first of equal elements (here to each)
  struct half : dim<2> {};
  auto const pooled = max_pool<window<length, two, half, stride<2>>>(x);

  //= mtf.layers.batch_norm(x, is_training, momentum=0.9), and its update_ops || nn.BatchNorm1d(16)(x.mT).mT
  //= || nnx.BatchNorm(16, rngs=rngs)(x)
  nn::batch_norm<float, L, hidden> by_batch{m};
  auto const normed = by_batch(x);

  //= || F.instance_norm(x.mT, weight=w, bias=b).mT || nnx.InstanceNorm(16, rngs=rngs)(x)
  nn::group_norm<float, L, hidden, length> by_itself{m};
  auto const normed_each = by_itself(x);

  //= || nn.Conv1d(16, 12, 3, padding="same")(x.mT).mT || nnx.Conv(16, 12, 3, rngs=rngs)(x)
  nn::conv<float, L, hidden, model, window<length, three>> layer{m, he_normal{7}};
  auto const filtered = layer(x);

  //= || nn.ConvTranspose2d(3, 12, 3, padding=1)(image.movedim(-1, 1)).movedim(1, -1) || nnx.ConvTranspose(3,
  //= 12, (3, 3), rngs=rngs)(image)
  nn::conv_transpose<float, L, key, model, window<height, k_h>, window<width, k_w>> spreading{m,
                                                                                              he_normal{8}};
  auto const spread_image = spreading(image);

  //= mtf.halo_exchange(x, blocks_dim, block_dim, 1) || isend and irecv || lax.ppermute and jnp.concatenate
  auto const with_edges = halo<batch, 1, 1>(x);

  //= mtf.left_halo_exchange(x, blocks_dim, block_dim, 1)
  auto const with_left_edge = halo<batch, 1, 0>(x);

  //= mtf.concat([x, x], "length") || x.repeat(1, 2, 1) || jnp.tile(x, (1, 2, 1))
  struct eight : dim<8> {};
  auto const twice = tile<length, eight>(x);

  //= tf.reverse by slicewise || x.flip(1) || jnp.flip(x, 1)
  auto const backwards = flip<length>(x);

  //= an einsum with a one-hot || table.index_add(0, ids.flatten(), updates.flatten(0, 1)) ||
  //= table.at[ids].add(updates)
  auto const updates = random_uniform<float, L, batch, length, model>(m, {.seed = 5});
  auto const added   = scatter_add<vocab>(table, ids, updates);

  //= no counterpart || x[:, 1:3] = part || lax.dynamic_update_slice(x, part, (0, 1, 0))
  auto const written = write<length>(x, part, 1);

  //= mtf.concat([part, other], "length") || torch.cat([part, other], 1) || jnp.concatenate([part, other], 1)
  struct two_more : dim<2> {};
  auto const other  = slice<length, two_more>(x, 0);
  auto const joined = concat<length>(part, other);

  //= mtf.cumsum(x, length) || x.cumsum(1) || x.cumsum(1)
  auto const running = cumsum<length>(x);
}

//# Between processes
constexpr auto moved = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  tensor<float, L, batch, length, model> const x{m};

  //= mesh_impl.alltoall(x, rows, split_axis=1, concat_axis=0) || dist.all_to_all_single || lax.all_to_all(x,
  //= "rows", 1, 0)
  auto const by_length_now = reshard<by_length>(x);

  //= mesh_impl.allconcat(x, rows, concat_axis=1) || dist.all_gather_into_tensor || lax.all_gather(x, "rows",
  //= axis=1)
  auto const on_all = reshard<whole>(by_length_now);

  //= mesh_impl.allsplit(x, rows, split_axis=0) || each process takes its shard || each process takes its
  //= shard
  auto const by_batch_again = reshard<mixed>(on_all);

  //= mesh_impl.allreduce(x, [rows], "SUM"), where the shards of batch have been summed || dist.all_reduce(x)
  //= || lax.psum(x, "rows")
  auto const total = sum<batch>(x);

  //= mesh_impl.allreduce(x, [rows], "MAX") || dist.all_reduce(x, ReduceOp.MAX) || lax.pmax(x, "rows")
  auto const most = max<batch>(x);

  //= mesh_impl.shift_by_n_processors(x, rows, 1, wrap=True), mesh_impl.receive(x, rows, source_pcoord) ||
  //= dist.batch_isend_irecv ||
  //= lax.ppermute(x, "rows", [(0, 1), (1, 0)])
  auto const from_the_process_before = roll<batch>(x, placed_under<mixed, batch>.allocated_extent());
});
static_assert(moved.calls<collective::all_to_all>() == 1 && moved.calls<collective::all_gather>() == 1);
static_assert(moved.calls<collective::all_reduce>() == 2 && moved.calls<collective::neighbours>() == 1 &&
              moved.calls() == 5);

//# Functions of one's own
void functions(process_mesh<grid>& m) {
  using L      = mixed;
  auto const x = random_uniform<float, L, batch, hidden>(m, {.seed = 1});
  parameter<float, L, hidden> w{m, normal{.seed = 2}};

  //= mtf.recompute_grad(f, [x]), transformer.LayerStack(recompute_grads=True) ||
  //= torch.utils.checkpoint.checkpoint(f, x) || jax.checkpoint(f)(x)
  auto const y = recompute([&](auto const& v) { return tanh(v * w); }, x);

  //= mtf.custom_gradient(f, grad_f, [x]) || torch.autograd.Function || jax.custom_vjp
  auto const passed = custom_gradient([](auto const& v) { return round(v); },
                                      [](auto const& dz, auto const&) { return dz; }, x);

  //= mtf.slicewise(f, [x], output_shape, dtype, splittable_dims=[batch, hidden]) || DTensor's local_map ||
  //= shard_map
  auto const mine = slicewise<shape<batch, hidden>, splittable<batch, hidden>>(
      [](auto&& z, auto const& v) { z = xt::exp(v); }, x);

  //= mtf.slicewise(f, [x], ..., grad_function=grad_f), mtf.GenericGradOperation || DTensor's local_map of a
  //= torch.autograd.Function || shard_map of a jax.custom_vjp
  auto const mine_too = slicewise<shape<batch, hidden>, splittable<batch, hidden>>(
      [](auto&& z, auto const& v) { z = xt::exp(v); },
      [](auto const& dz, auto const& v) { return dz * exp(v); }, x);

  //= mtf.gradients([y], [w], grad_ys=[dy]) || y.backward(dy) || jax.vjp(f, w)[1](dy)
  auto const dy = random_uniform<float, L, batch, hidden>(m, {.seed = 3});
  backward(sum(y * dy));
  auto const dw = finish(gradient(w));

  //= || ||
  auto const checked = twice(parameters(w), [&](auto const& v) { return mean(square(v * w)); }, x);
}

//# Loops
void loops(process_mesh<grid>& m) {
  using L = mixed;

  //= mtf.while_loop(lambda x: mtf.less(mtf.reduce_mean(x), 3), lambda x: x + 1, [x]) ||
  //= while x.mean() < 3: x = x + 1 ||
  //= lax.while_loop(lambda x: x.mean() < 3, lambda x: x + 1, x)
  auto x = random_uniform<float, L, batch, hidden>(m, {.seed = 1});
  while (same_on_all(mean(x), 3) < 3) x = x + 1;

  //= mtf.while_loop(cond, body, [x], has_accumulators=True), whose allreduce comes after the loop
  auto total = partial_einsum<batch>(x, x);
  for (int turn = 1; turn < 3; ++turn) total = total + partial_einsum<batch>(x, x);
  auto const added_up_once = finish(total);
}

//# Layers
template<Layout L>
struct sublayers {
  nn::rms_norm<float, L, model> norm;
  nn::feed_forward<float, L, model, hidden> feed;
  parameter<float, L> gain;
  std::uint64_t drops;

  sublayers(machine<L>& m, nn::streams& seeds)
      : norm{m}, feed{m, seeds, 0.02, 0.02}, gain{m}, drops{seeds.next()} {}

  auto operator()(auto const& x) const {
    //= transformer.sublayer_rms_norm, sublayer_call_layer, sublayer_dropout, sublayer_residual of a
    //= LayerStack || x + F.dropout(feed(norm(x)), 0.1), in a module's forward ||
    //= x + drop(feed(norm(x))), in a module's __call__
    auto const y = x + dropout(feed(norm(x)), 0.1, {.seed = drops});

    //= transformer.sublayer_rezero || y + gain * feed(y) || y + gain * feed(y)
    return y + gain * feed(y);
  }
  auto parameters() {
    return meshtf::parameters(named("norm", norm), named("feed", feed), named("gain", gain));
  }
};

void plain_layers(process_mesh<grid>& m) {
  using L      = mixed;
  auto const x = random_uniform<float, L, batch, length, model>(m, {.seed = 1});
  nn::streams seeds{2};

  //= mtf.layers.dense(x, hidden) || nn.Linear(12, 16) || nn.Dense(16)
  nn::linear<float, L, model, hidden> const dense{m, normal{.seed = 3}};

  //= mtf.layers.layer_norm(x, model) || nn.LayerNorm(12) || nn.LayerNorm()
  nn::layer_norm<float, L, model> const norm{m};

  //= transformer.sublayer_rms_norm || nn.RMSNorm(12) || nn.RMSNorm()
  nn::rms_norm<float, L, model> const root_mean_square{m};

  //= mtf.layers.embedding(ids, vocab, model) || nn.Embedding(16, 12) || nn.Embed(16, 12)
  nn::embedding<float, L, vocab, model> const tokens{m, normal{.seed = 4}};

  //= mtf.layers.dense_relu_dense(x, hidden), transformer_layers.DenseReluDense || nn.Sequential ||
  //= nn.Sequential
  nn::feed_forward<float, L, model, hidden> const to_hidden_and_back{m, seeds, 0.02, 0.02};

  //= mtf.layers.multihead_attention(x, ...), transformer_layers.SelfAttention || nn.MultiheadAttention ||
  //= nn.MultiHeadDotProductAttention
  nn::self_attention<float, L, length, model, heads, key> const attends{m, seeds, 0.02, 0.02};
  auto const z = attends(norm(x)) + to_hidden_and_back(root_mean_square(x));

  struct memory : dim<6> {};
  auto const encoded = random_uniform<float, L, batch, memory, model>(m, {.seed = 5});
  auto const visible = less(iota<int, L, memory>(m), 5);
  //= mtf.layers.multihead_attention(x, encoded, mask, ...), transformer_layers.EncDecAttention ||
  //= nn.MultiheadAttention(12, 4)(x, encoded, encoded, key_padding_mask=~visible) ||
  //= nnx.MultiHeadAttention(4, 12, decode=False, rngs=rngs)(x, encoded, mask=visible[:, None, None])
  nn::attention<float, L, model, heads, key, length, memory> const crosses{m, seeds, 0.02, 0.02};
  auto const y = crosses(x, encoded, with_mask(visible));

  //= mtf.layers.masked_local_attention_1d(x, kv_channels, heads, window_size=2),
  //= attention_bias_local_block ||
  //= flex_attention(q, k, v, block_mask=create_block_mask(near, None, None, 4, 4)) ||
  //= jax.nn.dot_product_attention(q, k, v, is_causal=True, local_window_size=(1, 0))
  auto const near = attends(x, {.causal = true, .window = 2});

  struct buckets : dim<8> {};
  struct distance : dim<2 * length::size - 1> {};
  //= transformer_layers.SelfAttention(relative_attention_type="bias"), or "bias_shared" by all layers ||
  //= T5Attention(config, has_relative_attention_bias=True) of transformers ||
  //= layers.RelativePositionBiases of t5x
  nn::relative_bias<float, L, buckets, heads, length, distance> const by_distance{m, normal{.seed = 6},
                                                                                  false};
  auto const near_and_far = attends(x, with_bias(by_distance(m)));

  //= transformer.LayerStack([...]), make_layer_stack || nn.Sequential(*(block() for _ in range(2))) ||
  //= nnx.Sequential(*(block(rngs) for _ in range(2)))
  nn::stack<sublayers<L>, 2> const layer_stack{m, seeds};
  auto const through_all = layer_stack(x);

  no_gradient const guard{m};
  auto const step = random_uniform<float, L, batch, nn::next_position, model>(m, {.seed = 7});
  //= mtf.layers.multihead_self_attention_incremental(x, prev_k, prev_v, step_num, ...) ||
  //= F.scaled_dot_product_attention(q, torch.cat([keys, k], 2), torch.cat([values, v], 2)) ||
  //= nnx.MultiHeadAttention(4, 12, decode=True, rngs=rngs)(x)
  auto seen        = attends.empty_cache<batch>(m);
  auto const first = attends.extend<nn::next_position>(step, seen, 0);

  //= mtf.layers.masked_local_attention_1d_incremental(x, prev_k, prev_v, step_num, ...)
  auto const second = attends.extend<nn::next_position>(step, seen, 1, {.window = 2});

  //= mtf.layers.multihead_encdec_attention_incremental(x, ..., memory_k, memory_v, mask) ||
  //= F.scaled_dot_product_attention(q, kept_keys, kept_values, attn_mask=visible[:, None, None]) ||
  //= jax.nn.dot_product_attention(q, kept_keys, kept_values, mask=visible[:, None, None])
  auto const kept    = crosses.cache(encoded);
  auto const crossed = crosses.attend<nn::next_position>(step, kept, with_mask(visible));
}

struct beam : dim<4> {};
struct words : dim<6> {};
struct translation : nn::seq2seq_dims<words, length, vocab, model, heads, key, hidden> {
  static constexpr int encoder_layers = 1;
  static constexpr int decoder_layers = 1;
};

void sequences_of_sequences(process_mesh<grid>& m) {
  using L = mixed;

  //= transformer.Bitransformer, make_bitransformer(...) ||
  //= nn.Transformer(12, 4, 1, 1, 16, norm_first=True)
  nn::seq2seq<float, L, translation> net{m, 1};

  auto const source = broadcast<batch, words>(iota<int, L, words>(m) + 3);
  auto const target = broadcast<batch, length>(iota<int, L, length>(m) + 1);
  //= inputs, inputs_segmentation, targets, targets_segmentation of packed examples
  nn::packed_pairs const pairs{source, source * 0 + 1, target, target * 0 + 1};

  //= bitransformer.call_simple(inputs, targets, compute_loss=True, ...)
  auto const loss = net.loss(pairs, {.terms = {.z_loss = 1e-4}}) / net.count(pairs);

  //= mtf.beam_search.greedy_decode(logits_fn, initial_ids, temperature=0.0) || model.generate(source) ||
  //= decoding.temperature_sample(inputs, cache, tokens_to_logits, eos_id=1, temperature=0) of t5x
  auto const likely = net.greedy(nn::source_rows{source, not_equal(source, 0)}, 1);

  //= bitransformer.decode(inputs, variable_dtype, temperature=0.8, sampling_keep_top_k=3) ||
  //= model.generate(source, do_sample=True, temperature=0.8, top_k=3) ||
  //= decoding.temperature_sample(inputs, cache, tokens_to_logits, eos_id=1, temperature=0.8, topk=3) of t5x
  auto const drawn = net.sample(nn::source_rows{source, not_equal(source, 0)}, 1,
                                {.temperature = 0.8, .top_k = 3}, {.seed = 7});

  //= mtf.beam_search.beam_search(logits_fn, initial_ids, alpha=0.6, states=states, eos_id=1) ||
  //= model.generate(source, num_beams=4, num_return_sequences=4) ||
  //= decoding.beam_search(inputs, cache, tokens_to_logits, eos_id=1, num_decodes=4, alpha=0.6) of t5x
  auto const [ids, scores] =
      nn::beam_search<beam>(net, nn::source_rows{source, not_equal(source, 0)}, 1, {.length_penalty = 0.6});
  backward(loss);
}

//= transformer.Unitransformer(shared_embedding_and_softmax_weights=False,
//= sinusoid_positional_embedding=True) || T5Config(tie_word_embeddings=False, ...) of transformers ||
//= T5Config(logits_via_embedding=False, ...) of t5x
struct of_writer : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  using positions             = nn::sinusoids;
  static constexpr bool tied  = false;
  static constexpr int layers = 1;
};

void text_of_a_model(process_mesh<grid>& m) {
  using L = mixed;
  nn::transformer<float, L, of_writer> const net{m, 1};
  auto const ids = tensor<int, L, batch, length>{m} + iota<int, L, length>(m);

  //= Unitransformer(label_smoothing=0.1, z_loss=1e-4).call_simple(inputs, targets, compute_loss=True)
  auto const losses = softmax_cross_entropy<vocab>(net(ids), ids, {.label_smoothing = 0.1, .z_loss = 1e-4});
  auto const loss   = mean(losses * cast<float>(not_equal(ids, 0)));

  //= Unitransformer.sample_autoregressive(ids, temperature=0.8, sampling_keep_top_k=3) ||
  //= model.generate(ids, do_sample=True, temperature=0.8, top_k=3, top_p=0.9) of transformers ||
  //= decoding.temperature_sample(ids, cache, tokens_to_logits, eos_id, temperature=0.8, topk=3) of t5x
  auto const text = nn::generate(
      net, ids, {.prompt = 1, .length = 2, .choice = {.temperature = 0.8, .top_k = 3, .top_p = 0.9}});

  //= the first_part of sample_autoregressive || model(ids, use_cache=True) of transformers ||
  //= nn.MultiHeadDotProductAttention(decode=True)
  auto read = net.prefill(ids, 0);

  //= mtf.top_k, mtf.sample_with_temperature || TopKLogitsWarper(3), TopPLogitsWarper(0.9) of transformers,
  //= torch.multinomial || jax.lax.top_k, random.categorical
  auto const next = nn::next_ids<vocab>(read.scores, {.top_k = 3, .top_p = 0.9}, {.seed = 7});

  //= the body of its while_loop || model(next, past_key_values=read) of transformers ||
  //= nn.MultiHeadDotProductAttention(decode=True)
  auto const scores = net.extend<nn::next_position>(next, read.caches, 1);
}

struct parts_of_batch : dim<4> {};
struct experts : dim<4> {};
struct shared_experts : layout<grid, split<batch, rows>, split<parts_of_batch, rows>, split<experts, rows>> {
};

//= capacity_factor_train=1.25, capacity_factor_eval=2.0
using places_for_tokens = nn::capacity_factors<std::ratio<5, 4>, std::ratio<2>>;

template<Layout L>
void mixtures(machine<L>& m) {
  nn::streams seeds{1};
  auto const x = random_uniform<float, L, batch, length, model>(m, {.seed = 2});

  //= moe.MoE1D(moe_gating="switch", num_experts=4, hidden_size=16) || ||
  nn::mixture_of_experts<float, L, model, hidden, experts, parts_of_batch, nn::switch_gating> const of_one{
      m, seeds, 0.02, 0.02};

  //= moe.MoE1D(moe_gating="expert_selection", ...)
  nn::mixture_of_experts<float, L, model, hidden, experts, parts_of_batch, nn::expert_choice_gating> const
      of_chosen{m, seeds, 0.02, 0.02};

  //= moe.MoE1D(moe_gating="top_2", num_experts=4, hidden_size=16), transformer_moe_layer_v1
  nn::mixture_of_experts<float, L, model, hidden, experts, parts_of_batch> mixture{m, seeds, 0.02, 0.02};
  auto const z = mixture(x, {.seed = 3, .stream = 4});

  //= second_policy_train="threshold", second_threshold_train=0.2
  mixture.gating = {.in_training = nn::second_expert::threshold, .threshold = 0.2};

  //= context.train = False
  auto const y = mixture.evaluate(x);

  //= loss_coef=1e-2, z_loss=1e-3: what is added to context.losses
  auto const balanced = finish(z.balance_loss * 1e-2F + z.router_z_loss * 1e-3F);
}

//# Training
struct dims : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 2;
};

template<Layout L>
struct training {
  nn::transformer<float, L, dims> net;
  adamw opt{1e-3};
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;

  constexpr explicit training(machine<L>& m) : net{m, 1}, ids{m}, targets{m} { opt.prepare(parameters(net)); }

  constexpr auto step() {
    //= mtf.layers.softmax_cross_entropy_with_logits(logits, targets, vocab, z_loss=1e-4), reduce_mean
    auto const loss = mean(softmax_cross_entropy<vocab>(net(ids), targets, {.z_loss = 1e-4}));

    //= mtf.gradients([loss], variables) || loss.backward() || jax.grad(loss)(parameters)
    backward(loss);

    //= tf.clip_by_global_norm(grads, 1.0) ||
    //= nn.utils.clip_grad_norm_(net.parameters(), 1) ||
    //= optax.clip_by_global_norm(1)
    clip_by_global_norm(parameters(net), 1);

    //= optimizer.apply_grads(grads, variables) ||
    //= opt.step(), opt.zero_grad() ||
    //= opt.update(grads, state, parameters), optax.apply_updates
    opt.step(parameters(net));

    return loss;
  }
};

struct optimizers {
  //= mtf.optimize.SgdOptimizer(0.1) || torch.optim.SGD(net.parameters(), 0.1) || optax.sgd(0.1)
  sgd plain{0.1};

  //= mtf.optimize.AdafactorOptimizer(learning_rate=1e-2) || torch.optim.Adafactor(net.parameters(), 1e-2) ||
  //= optax.adafactor(1e-2)
  adafactor factored{1e-2};

  //= mtf.optimize.MomentumOptimizer(0.1, 0.9) || torch.optim.SGD(net.parameters(), 0.1, 0.9) ||
  //= optax.sgd(0.1, 0.9)
  momentum heavy{0.1, 0.9};

  //= no counterpart || torch.optim.AdamW(net.parameters(), 1e-3) || optax.adamw(1e-3, weight_decay=0.01)
  adamw decaying{1e-3};

  //= || a package of its own || optax.lion(1e-4), optax.lamb(1e-3)
  lion by_signs{1e-4};
  lamb by_layers{1e-3};

  //= || swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.999)) ||
  //= optax.incremental_update(w, average, 1 - 0.999)
  averaged<adamw> smoothed{0.999, 1e-3};

  //= || lr_scheduler.SequentialLR of LinearLR and CosineAnnealingLR || optax.warmup_cosine_decay_schedule(0,
  //= 1e-3, 100, 5000, 1e-4)
  warmup_cosine schedule{.peak = 1e-3, .warmup_steps = 100, .total_steps = 5000, .floor = 1e-4};
};

void settings(training<mixed>& t, extent step) {
  optimizers all;

  //= mtf.optimize.AdamWeightDecayOptimizer(1e-3)
  adamw uncorrected{1e-3};
  uncorrected.bias_correction = false;

  //= mtf.optimize.AdafactorOptimizer(decay_rate=mtf.optimize.adafactor_decay_rate_adam(0.99))
  adafactor decaying_as_adam;
  decaying_as_adam.beta2 = 0.99;

  //= || scheduler.step() || a schedule in the place of the rate
  t.opt.rate = all.schedule(step);

  //= mtf.optimize.AdamWeightDecayOptimizer(exclude_from_weight_decay=["norm"]) || {"params":
  //= norm.parameters(), "weight_decay": 0} || optax.masked
  t.opt.treat(parameters(t.net.norm), {.decays = false});

  //= graph.make_variables_untrainable([w]) || w.requires_grad_(False) || optax.set_to_zero() for these
  t.opt.treat(parameters(t.net.positions.table), {.frozen = true});

  //= mtf.optimize.SgdMultiLROptimizer, AdamWithDecayMultiLROptimizer || {"params": tokens.parameters(), "lr":
  //= 1e-4} || optax.multi_transform
  t.opt.treat(parameters(t.net.tokens), {.rate = 0.1});
}

//= utils.compute_batch_size({"targets": 4}, mesh_shape, layout, ("tokens_per_replica", 16))
struct batch_of_tokens : dim<16 / length::size * placed_under<mixed, batch>.parts> {};

//= utils.auto_train_steps(batch_size, {"targets": 4}, train_tokens=2**36)
[[maybe_unused]] constexpr extent train_steps = (extent{1} << 36) / (batch::size * length::size);

//= utils.serialize_num_microbatches(batch, {"targets": 4}, mesh_shape, layout,
//= tokens_per_microbatch_per_replica=4), for accumulate<micro_batch_count>
[[maybe_unused]] constexpr extent micro_batch_count =
    placed_under<mixed, batch>.allocated_extent() / (4 / length::size);

static_assert(batch_of_tokens::size == 8 && train_steps == (extent{1} << 31) && micro_batch_count == 4);

void micro_batches(process_mesh<grid>& m) {
  //= mtf.serialize_training_step(features, model_fn, batch, 4) ||
  //= for part in x.chunk(4): (loss(part) / 4).backward() ||
  //= lax.scan over parts, the gradients added up
  struct quarter : dim<2> {};
  struct in_quarters : layout<grid, split<batch, rows>, split<quarter, rows>> {};
  parameter<float, in_quarters, model> w{m, normal{.seed = 1}};
  auto const x = random_uniform<float, in_quarters, batch, model>(m, {.seed = 2});
  auto const loss =
      accumulate<4>([&](extent i) { return mean(square(micro_batch<batch, quarter>(x, i) * w)) / 4; });

  sgd opt{0.1};
  //= no counterpart ||
  //= p.register_post_accumulate_grad_hook(update), for p in net.parameters() ||
  //= no counterpart
  backward(mean(square(x * w)), opt, parameters(w));
}

/// A pipeline of two stages, of two processes each, that keeps its weights in parts.
struct stages : axis<2> {};
struct stages_and_rows : mesh<stages, rows> {};
struct part : dim<4> {};

//= || pipelining.SplitPoint.BEGINNING before a layer, DeviceMesh with a pp axis
struct piped : layout<stages_and_rows, staged<stages>, split<batch, rows>, split<part, rows>> {};
//= || fully_shard(net, mesh=mesh["dp"]) || params in P("dp"), gathered by jit where they are used
struct in_parts : layout<stages_and_rows, split<batch, rows>, kept_over<rows>> {};

//= || PipelineStage(net, index, count, device), for each stage || nn.scan with pp sharding (praxis)
template<Layout L>
struct stage_block {
  parameter<float, L, model> scale;
  explicit stage_block(machine<L>& m) : scale{m, normal{.seed = 1}} {}
  auto operator()(auto const& x) const { return tanh(x * scale); }
  auto parameters() { return meshtf::parameters(scale); }
};

void stages_of_two(process_mesh<stages_and_rows>& m) {
  tensor<float, piped, batch, model> const x{m};
  nn::stack<stage_block<piped>, 2> net{m};
  //= || DistributedDataParallel(net), for its overlap || what XLA's latency-hiding scheduler does
  early_sums const early{parameters(net)};
  //= || Schedule1F1B(stage, n_microbatches=2, loss_fn=loss).step(x) || an own loop of ppermute and grad
  auto const loss =
      accumulate<2>(m, [&](extent i) { return mean(square(net(micro_batch<batch, part>(x, i)))) / 2; });

  no_gradient const guard{m};
  auto const by_hand = accumulate<2>(m, [&](extent i) {
    auto const y = tanh(micro_batch<batch, part>(x, i));
    //= || dist.send(y, next), dist.recv(z, previous) || lax.ppermute(y, "stages", [(0, 1)])
    auto const z = hand_on(y, 1);
    return sum(z);
  });
}

// Compiled alone: it would write files.
[[maybe_unused]] void files(machine<mixed>& m, training<mixed>& t, log_to& log, std::uint64_t step) {
  //= MtfCheckpointSaverListener, which copies slices to masters || torch.save(net.state_dict(), path) ||
  //= orbax.checkpoint
  save(parameters(t.net), t.opt, {.step = step}, "folder");

  asynchronous_saves saves{m};
  //= || torch.distributed.checkpoint.async_save(state, checkpoint_id="folder") ||
  //= orbax.checkpoint.AsyncCheckpointer
  saves.save(parameters(t.net), t.opt, {.step = step}, "folder");

  //= MtfRestoreHook, which copies masters to slices || net.load_state_dict(torch.load(path)) ||
  //= orbax.checkpoint
  step = load(parameters(t.net), t.opt, "folder").step;

  //= || print(*net.state_dict(), sep="\n") || jax.tree.map(jnp.shape, parameters)
  print_names(t.net);

  //= || net.load_state_dict({names.get(k, k): v for k, v in load_file("theirs.safetensors").items()}) ||
  load(parameters(t.net), "theirs.safetensors", {{"fc1.weight", "hidden.weight"}});

  //= || transformers_net.save_pretrained("net", max_shard_size="5GB") ||
  save(parameters(t.net), "net", several_files{.max_bytes = 5'000'000'000});

  //= || transformers_net = AutoModel.from_pretrained("net") ||
  load(parameters(t.net), "net");

  //= mtf.scalar_summary("loss", loss) || SummaryWriter().add_scalar("loss", loss, step) || a SummaryWriter
  log.scalar("loss", t.step(), step);
}

//= mtf.VariableDType(tf.float32, tf.float32, tf.bfloat16) ||
//= torch.autocast("cpu", torch.bfloat16) ||
//= a dtype policy of Flax
template<Layout L>
using mixed_net = nn::transformer<float, L, dims, bfloat16>;

//= mtf.auto_mtf.layout(graph, mesh_shape), LayoutValidator, LayoutOptimizer; in <meshtf/search/search.hpp>
constexpr auto product_recorded = record<product_of_two, batch, model, hidden>();
using best                      = best_layout<product_recorded, grid, candidates<batch, model, hidden>>;

//= mtf.auto_mtf.layout_and_mesh_shape(graph, 4)
[[maybe_unused]] constexpr double seconds_on_a_grid =
    rank_layouts<grid, candidates<batch, model, hidden>>(product_recorded)[0].seconds;
[[maybe_unused]] constexpr double seconds_on_a_line =
    rank_layouts<line, candidates<batch, model, hidden>>(product_recorded)[0].seconds;

//= auto_mtf.memory_estimator.MemoryEstimator || torch.cuda.max_memory_allocated(), of a run ||
//= compiled.memory_analysis()
static_assert(dry_run<product_of_two, best>().peak_bytes() <= dry_run<product_of_two, mixed>().peak_bytes());

}  // namespace

int main(int argc, char** argv) {
  environment env{argc, argv};
  process_mesh<grid> m{env.world()};
  values(m);
  pointwise(m);
  reductions(m);
  products(m);
  layers(m);
  shapes(m);
  functions(m);
  loops(m);
  plain_layers(m);
  sequences_of_sequences(m);
  text_of_a_model(m);
  mixtures<shared_experts>(m);
  training<mixed> t{m};
  settings(t, 0);
  float const loss = t.step().value();
  micro_batches(m);
  process_mesh<stages_and_rows> in_stages{env.world()};
  stages_of_two(in_stages);
  if (m.rank() == 0)
    std::printf("every line has run; the loss of a step is %.2f\n", static_cast<double>(loss));
}
