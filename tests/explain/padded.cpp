// If it compiles, it passes. What explanations say of sizes that do not divide, word for word.
#include <meshtf/explain/explain.hpp>
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<10> {};
struct few : dim<3> {};
struct many : dim<17> {};
struct vocab : dim<251> {};
struct model : dim<24> {};
struct heads : dim<5> {};
struct length : dim<8> {};
struct key : dim<4> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct mixed : layout<grid, split<batch, rows>, padded<vocab, cols>, padded<few, cols>, padded<heads, cols>> {
};
struct by_batch : layout<grid, padded<batch, cols>> {};
struct deep : layout<grid, padded<many, rows, cols>, padded<model, cols>> {};

constexpr bool is(std::string_view text, std::string_view lines) { return text == lines.substr(1); }

// a part that is smaller, parts that hold nothing, and a size that the parts divide
static_assert(is(explain<mixed>(), R"(
mixed on grid, 8 processes: rows 2 x cols 4
  batch  10 in 2 parts of 5 over rows
  vocab  251 in 4 parts, 3 of 63 and one of 62, over cols
  few    3 in 4 parts, 3 of 1 and one of none, over cols
  heads  5 in 4 parts, 2 of 2, one of 1 and one of none, over cols
  every other dimension is whole on every process

           cols 0             cols 1             cols 2             cols 3
         +------------------+------------------+------------------+------------------+
  rows 0 | rank 0           | rank 1           | rank 2           | rank 3           |
         | batch 0-4        | batch 0-4        | batch 0-4        | batch 0-4        |
         | vocab 0-62       | vocab 63-125     | vocab 126-188    | vocab 189-250    |
         | few 0            | few 1            | few 2            | nothing of few   |
         | heads 0-1        | heads 2-3        | heads 4          | nothing of heads |
         +------------------+------------------+------------------+------------------+
  rows 1 | rank 4           | rank 5           | rank 6           | rank 7           |
         | batch 5-9        | batch 5-9        | batch 5-9        | batch 5-9        |
         | vocab 0-62       | vocab 63-125     | vocab 126-188    | vocab 189-250    |
         | few 0            | few 1            | few 2            | nothing of few   |
         | heads 0-1        | heads 2-3        | heads 4          | nothing of heads |
         +------------------+------------------+------------------+------------------+
)"));
static_assert(is(explain_placement<deep, many>(), R"(
tensor<float, deep, many>
  many  17 in 8 parts, 5 of 3, one of 2 and 2 of none, over rows, then cols
  every process has room for 3 elements, 12 B of 68 B; no two processes hold the same

           cols 0            cols 1            cols 2            cols 3
         +-----------------+-----------------+-----------------+-----------------+
  rows 0 | many 0-2        | many 3-5        | many 6-8        | many 9-11       |
  rows 1 | many 12-14      | many 15-16      | nothing of many | nothing of many |
         +-----------------+-----------------+-----------------+-----------------+
)"));
static_assert(is(explain<tensor<float, by_batch, batch, model>>(), R"(
tensor<float, by_batch, batch, model>
  batch  10 in 4 parts, 3 of 3 and one of 1, over cols
  model  24, whole
  every process has room for 3 x 24 elements, 288 B of 960 B; equal on rows: each part is on 2 processes

         +-----------+
  cols 0 | batch 0-2 |
  cols 1 | batch 3-5 |
  cols 2 | batch 6-8 |
  cols 3 | batch 9   |
         +-----------+
)"));
static_assert(is(explain<tensor<float, deep, batch, model>>(), R"(
tensor<float, deep, batch, model>
  batch  10, whole
  model  24 in 4 parts of 6 over cols
  a process holds 10 x 6 elements, 240 B of 960 B; equal on rows: each part is on 2 processes

         +-------------+
  cols 0 | model 0-5   |
  cols 1 | model 6-11  |
  cols 2 | model 12-17 |
  cols 3 | model 18-23 |
         +-------------+
)"));

// figures are those of the fullest process, if processes differ
static_assert(is(explain_einsum<mixed, shape<batch, model>, shape<batch, vocab>, shape<vocab, model>>(), R"(
einsum of x[batch, vocab] and y[vocab, model] to z[batch, model] under mixed
  the fullest process multiplies 5 x 63 by 63 x 24: 15.1 k flops
  all_reduce of z, 480 B, over cols: sends 720 B
    because vocab is summed and split over cols
  the gradient of x is whole: nothing to reduce
  the gradient of y is unreduced over rows: batch is summed and split over rows
)"));
static_assert(is(explain_einsum<mixed, shape<batch, length>, shape<batch, model>, shape<model, length>>(), R"(
einsum of x[batch, model] and y[model, length] to z[batch, length] under mixed
  a process multiplies 5 x 24 by 24 x 8: 1.92 k flops
  nothing is sent: every process has all that its part takes
  the gradient of x is whole: nothing to reduce
  the gradient of y is unreduced over rows: batch is summed and split over rows
)"));
static_assert(is(explain_gather<mixed, shape<vocab, model>, vocab, shape<batch, length>>(), R"(
gather along vocab from table[vocab, model] by ids[batch, length] under mixed
  the fullest process looks 40 ids up in its 63 of the 251 rows
  all_reduce of the result, 3.75 KiB, over cols: sends 5.63 KiB
    because vocab is looked up and split over cols
  the gradient of table is unreduced over rows: batch is summed and split over rows
)"));
static_assert(is(explain_attention<mixed, length, length, key, shape<batch, heads, length, key>,
                                   shape<batch, heads, length, key>, shape<batch, heads, length, key>>(),
                 R"(
attention of q[batch, heads, length, key] to k[batch, heads, length, key] and v[batch, heads, length, key], positions length to length, compared along key, under mixed
  the fullest process has 10 pairs of sequence and head; in each, 8 queries look at 8 positions along 4 elements: 10.2 k flops
  nothing is sent: every process has all that its part takes
  the gradients of q, k and v are whole: nothing to reduce
)"));
static_assert(is(explain_reduce<by_batch, shape<batch, model>, shape<batch>>(), R"(
sum along batch of x[batch, model] under by_batch
  the fullest process sums its 3 x 24 of x to 24
  all_reduce of the sums, 96 B, over cols: sends 144 B
    because batch is summed and split over cols
  the gradient of x is that of the sum, on every element: nothing to reduce
)"));
static_assert(is(explain_reshard<by_batch, mixed, shape<batch, model>>(), R"(
reshard of x[batch, model] from by_batch to mixed
  all_gather over cols, 288 B to 1.13 KiB: sends 864 B
    because batch is no longer split over cols
  copy, 1.13 KiB to 960 B: free
    because padding is removed
  slice over rows, 960 B to 480 B: free
    because batch is split over rows from now on
  in all it sends 864 B
)"));

template<Layout L>
struct training {
  parameter<float, L, model, vocab> w;
  sgd opt{0.1};
  tensor<float, L, batch, model> x;
  tensor<int, L, batch> labels;

  constexpr explicit training(machine<L>& m) : w{m}, x{m}, labels{m} {}
  constexpr auto step() {
    auto const loss = mean(softmax_cross_entropy<vocab>(einsum<batch, vocab>(x, w), labels));
    backward(loss);
    opt.step(parameters(w));
    return loss;
  }
};

struct ids : layout<grid, padded<vocab, cols>> {};
static_assert(explain<training, ids>().view().starts_with(
    "a step under ids, the fullest process of grid, 8 processes"));
static_assert(is(explain_rules<training, ids>(), R"(
the rules of ids, for the fullest process of grid, 8 processes: rows 2 x cols 4
  padded<vocab, cols>: 4.68 us a step by the model, 8.64 us without this rule
    saves 42.6 KiB at the peak (74 %), 17.6 KiB of parameters (75 %), 180 k flops (75 %)
    costs 180 B sent along cols
)"));

}  // namespace
