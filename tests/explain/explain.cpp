// If it compiles, it passes. What explanations say, word for word.
#include <meshtf/explain/explain.hpp>
#include <meshtf/planning.hpp>

#include "training.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests::explained;

// clang-format off
struct ragged  : dim<30>   {};
struct heads   : dim<8>    {};
struct length  : dim<64>   {};
struct key     : dim<32>   {};
struct vocab   : dim<1000> {};

struct pods : axis<2> {};
struct rows : axis<2> {};
struct cols : axis<4> {};
struct lone : axis<1> {};
struct many : axis<64> {};
struct grid : mesh<rows, cols> {};
struct cube : mesh<pods, rows, cols, lone> {};
struct wide : mesh<rows, many> {};
struct one  : mesh<> {};

struct mixed    : layout<grid, split<batch, rows>, split<hidden, cols>, split<vocab, cols>> {};
struct by_batch : layout<grid, split<batch, rows>> {};
struct by_cols  : layout<grid, split<batch, cols>> {};
struct by_hidden : layout<grid, split<hidden, cols>> {};
struct deep     : layout<cube, split<batch, rows>, split<hidden, cols, pods>, split<in, lone>> {};
struct broad    : layout<wide, split<batch, many>, split<hidden, rows>> {};
struct alone    : layout<one> {};
struct clash    : layout<grid, split<batch, rows>, split<hidden, rows>, split<ragged, cols>,
                         split<length, cols>> {};
struct twice    : layout<grid, split<batch, rows>, split<batch, cols>> {};
// clang-format on

using x  = shape<batch, in>;
using w1 = shape<in, hidden>;
using h  = shape<batch, hidden>;
using w2 = shape<hidden, classes>;
using y  = shape<batch, classes>;

/// A text is these lines, of which the first is empty.
constexpr bool is(std::string_view text, std::string_view lines) { return text == lines.substr(1); }

// two products; the line numbers of this lambda stand in the table below
constexpr auto forward = dry_run<mixed>([]<Layout L>(machine<L>& m) {
  tensor<float, L, batch, in> const images{m};
  tensor<float, L, in, hidden> const first{m};
  tensor<float, L, hidden, classes> const second{m};
  for (int i = 0; i < 3; ++i) {
    auto const hot = einsum<batch, hidden>(images, first);
    auto const out = einsum<batch, classes>(hot, second);
    max<batch>(out);
  }
});
constexpr machine_model ideal{.flops_per_second        = 100e9,
                              .memory_bytes_per_second = 10e9,
                              .seconds_per_byte_added  = 0,
                              .within_node   = {.seconds_per_message = 1e-6, .seconds_per_byte = 1e-9},
                              .between_nodes = {.seconds_per_message = 1e-6, .seconds_per_byte = 1e-9}};

// a layout: its rules, its ranks, its parts
static_assert(is(explain<mixed>(), R"(
mixed on grid, 8 processes: rows 2 x cols 4
  batch   512 in 2 parts of 256 over rows
  hidden  4096 in 4 parts of 1024 over cols
  vocab   1000 in 4 parts of 250 over cols
  every other dimension is whole on every process

           cols 0             cols 1             cols 2             cols 3
         +------------------+------------------+------------------+------------------+
  rows 0 | rank 0           | rank 1           | rank 2           | rank 3           |
         | batch 0-255      | batch 0-255      | batch 0-255      | batch 0-255      |
         | hidden 0-1023    | hidden 1024-2047 | hidden 2048-3071 | hidden 3072-4095 |
         | vocab 0-249      | vocab 250-499    | vocab 500-749    | vocab 750-999    |
         +------------------+------------------+------------------+------------------+
  rows 1 | rank 4           | rank 5           | rank 6           | rank 7           |
         | batch 256-511    | batch 256-511    | batch 256-511    | batch 256-511    |
         | hidden 0-1023    | hidden 1024-2047 | hidden 2048-3071 | hidden 3072-4095 |
         | vocab 0-249      | vocab 250-499    | vocab 500-749    | vocab 750-999    |
         +------------------+------------------+------------------+------------------+
)"));

// replicas are said; an axis of one process splits nothing
static_assert(is(explain<by_batch>(), R"(
by_batch on grid, 8 processes: rows 2 x cols 4
  batch  512 in 2 parts of 256 over rows
  every other dimension is whole on every process
  nothing is split over cols: processes that differ there alone hold the same

           cols 0          cols 1          cols 2          cols 3
         +---------------+---------------+---------------+---------------+
  rows 0 | rank 0        | rank 1        | rank 2        | rank 3        |
         | batch 0-255   | batch 0-255   | batch 0-255   | batch 0-255   |
         +---------------+---------------+---------------+---------------+
  rows 1 | rank 4        | rank 5        | rank 6        | rank 7        |
         | batch 256-511 | batch 256-511 | batch 256-511 | batch 256-511 |
         +---------------+---------------+---------------+---------------+
)"));
static_assert(is(explain<alone>(), R"(
alone on one, 1 process
  every dimension is whole on every process

   +--------+
   | rank 0 |
   +--------+
)"));
static_assert(is(explain<twice>(), R"(
twice on grid is refused: the layout has two rules for batch
)"));

// a tensor: several axes for one dimension, one of one process
static_assert(is(explain<tensor<double, deep, batch, in, hidden>>(), R"(
tensor<double, deep, batch, in, hidden>
  batch   512 in 2 parts of 256 over rows
  in      784, whole (lone has one process)
  hidden  4096 in 8 parts of 512 over cols, then pods
  a process holds 256 x 784 x 512 elements, 784 MiB of 12.3 GiB; no two processes hold the same

                   cols 0             cols 1             cols 2             cols 3
                 +------------------+------------------+------------------+------------------+
  pods 0, rows 0 | batch 0-255      | batch 0-255      | batch 0-255      | batch 0-255      |
                 | hidden 0-511     | hidden 1024-1535 | hidden 2048-2559 | hidden 3072-3583 |
                 +------------------+------------------+------------------+------------------+
  pods 0, rows 1 | batch 256-511    | batch 256-511    | batch 256-511    | batch 256-511    |
                 | hidden 0-511     | hidden 1024-1535 | hidden 2048-2559 | hidden 3072-3583 |
                 +------------------+------------------+------------------+------------------+
  pods 1, rows 0 | batch 0-255      | batch 0-255      | batch 0-255      | batch 0-255      |
                 | hidden 512-1023  | hidden 1536-2047 | hidden 2560-3071 | hidden 3584-4095 |
                 +------------------+------------------+------------------+------------------+
  pods 1, rows 1 | batch 256-511    | batch 256-511    | batch 256-511    | batch 256-511    |
                 | hidden 512-1023  | hidden 1536-2047 | hidden 2560-3071 | hidden 3584-4095 |
                 +------------------+------------------+------------------+------------------+
)"));

// equal on an axis; equal on all; one number; alone
static_assert(is(explain<tensor<float, by_batch, batch, in>>(), R"(
tensor<float, by_batch, batch, in>
  batch  512 in 2 parts of 256 over rows
  in     784, whole
  a process holds 256 x 784 elements, 784 KiB of 1.53 MiB; equal on cols: each part is on 4 processes

         +---------------+
  rows 0 | batch 0-255   |
  rows 1 | batch 256-511 |
         +---------------+
)"));
static_assert(is(explain<tensor<float, mixed, in>>(), R"(
tensor<float, mixed, in>
  in  784, whole
  a process holds 784 elements, 3.06 KiB; equal on rows and cols: each of 8 processes holds all of it
)"));
static_assert(is(explain<tensor<int, mixed>>(), R"(
tensor<int32, mixed>
  a process holds 1 element, 4 B; equal on rows and cols: each of 8 processes holds all of it
)"));
static_assert(is(explain_placement<alone, in>(), R"(
tensor<float, alone, in>
  in  784, whole
  a process holds 784 elements, 3.06 KiB; there is one process
)"));

// large meshes: the first ones and the last
static_assert(is(explain_placement<broad, batch, hidden>(), R"(
tensor<float, broad, batch, hidden>
  batch   512 in 64 parts of 8 over many
  hidden  4096 in 2 parts of 2048 over rows
  a process holds 8 x 2048 elements, 64.0 KiB of 8.00 MiB; no two processes hold the same

           many 0             many 1             many 2             ...   many 63
         +------------------+------------------+------------------+-----+------------------+
  rows 0 | batch 0-7        | batch 8-15       | batch 16-23      | ... | batch 504-511    |
         | hidden 0-2047    | hidden 0-2047    | hidden 0-2047    | ... | hidden 0-2047    |
         +------------------+------------------+------------------+-----+------------------+
  rows 1 | batch 0-7        | batch 8-15       | batch 16-23      | ... | batch 504-511    |
         | hidden 2048-4095 | hidden 2048-4095 | hidden 2048-4095 | ... | hidden 2048-4095 |
         +------------------+------------------+------------------+-----+------------------+
)"));
static_assert(is(explain_placement<broad, batch, in>(), R"(
tensor<float, broad, batch, in>
  batch  512 in 64 parts of 8 over many
  in     784, whole
  a process holds 8 x 784 elements, 24.5 KiB of 1.53 MiB; equal on rows: each part is on 2 processes

          +---------------+
  many 0  | batch 0-7     |
  many 1  | batch 8-15    |
  many 2  | batch 16-23   |
  many 3  | batch 24-31   |
  many 4  | batch 32-39   |
  many 5  | batch 40-47   |
  ...
  many 63 | batch 504-511 |
          +---------------+
)"));

// what can't be
static_assert(is(explain_placement<clash, batch, hidden>(), R"(
tensor<float, clash, batch, hidden> is refused: rows splits both batch and hidden, so no process would hold a rectangular part
)"));
static_assert(is(explain_placement<clash, ragged>(), R"(
tensor<float, clash, ragged> is refused: 30 elements of ragged can't be cut into 4 equal parts; padded cuts them into unequal ones
)"));
static_assert(is(explain_placement<mixed, batch, batch>(), R"(
tensor<float, mixed, batch, batch> is refused: batch is named twice; where a matrix has it on both sides, rename one
)"));

// einsum: nothing to send, a sum over one axis, over two axes of one dimension, none over an axis of one
// process
static_assert(is(explain_einsum<mixed, h, x, w1>(), R"(
einsum of x[batch, in] and y[in, hidden] to z[batch, hidden] under mixed
  a process multiplies 256 x 784 by 784 x 1024: 411 M flops
  nothing is sent: every process has all that its part takes
  the gradient of x is unreduced over cols: hidden is summed and split over cols
  the gradient of y is unreduced over rows: batch is summed and split over rows
)"));
static_assert(is(explain_einsum<mixed, y, h, w2>(), R"(
einsum of x[batch, hidden] and y[hidden, classes] to z[batch, classes] under mixed
  a process multiplies 256 x 1024 by 1024 x 16: 8.39 M flops
  all_reduce of z, 16.0 KiB, over cols: sends 24.0 KiB
    because hidden is summed and split over cols
  the gradient of x is whole: nothing to reduce
  the gradient of y is unreduced over rows: batch is summed and split over rows
)"));
static_assert(is(explain_einsum<deep, y, h, w2, double>(), R"(
einsum of x[batch, hidden] and y[hidden, classes] to z[batch, classes] under deep
  a process multiplies 256 x 512 by 512 x 16: 4.19 M flops
  all_reduce of z, 32.0 KiB, over pods and cols: sends 56.0 KiB
    because hidden is summed and split over pods and cols
  the gradient of x is whole: nothing to reduce
  the gradient of y is unreduced over rows: batch is summed and split over rows
)"));
static_assert(is(explain_einsum<deep, y, x, shape<in, classes>>(), R"(
einsum of x[batch, in] and y[in, classes] to z[batch, classes] under deep
  a process multiplies 256 x 784 by 784 x 16: 6.42 M flops
  nothing is sent: every process has all that its part takes
  the gradient of x is whole: nothing to reduce
  the gradient of y is unreduced over rows: batch is summed and split over rows
)"));

// ... two dimensions, over two axes; one that only x has; none that stays; and what is refused
static_assert(is(explain_einsum<mixed, shape<>, h, h>(), R"(
einsum of x[batch, hidden] and y[batch, hidden] to z under mixed
  a process multiplies 1 x 262144 by 262144 x 1: 524 k flops
  all_reduce of z, 4 B, over rows and cols: sends 7 B
    because batch is summed and split over rows, and hidden over cols
  the gradient of x is whole: nothing to reduce
  the gradient of y is whole: nothing to reduce
)"));
static_assert(is(explain_einsum<mixed, shape<classes>, h, w2>(), R"(
einsum of x[batch, hidden] and y[hidden, classes] to z[classes] under mixed
  a process sums its 256 x 1024 of x to 1024
  all_reduce of that, 4.00 KiB, over rows: sends 4.00 KiB
    because batch is summed and split over rows
  a process multiplies 1 x 1024 by 1024 x 16: 32.8 k flops
  all_reduce of z, 64 B, over cols: sends 96 B
    because hidden is summed and split over cols
  the gradient of x is whole: nothing to reduce
  the gradient of y is whole: nothing to reduce
)"));
static_assert(is(explain_einsum<clash, y, h, w2>(), R"(
einsum of x[batch, hidden] and y[hidden, classes] to z[batch, classes] under clash
  is refused: rows splits both batch and hidden, so no process would hold a rectangular part
)"));
static_assert(is(explain_einsum<mixed, shape<heads>, h, w2>(), R"(
einsum of x[batch, hidden] and y[hidden, classes] to z[heads] under mixed
  is refused: dim is not an operand: heads
)"));

// a long sum is made in two calls
static_assert(is(explain_reduce<mixed, shape<vocab, batch, in>, shape<vocab>>(), R"(
sum along vocab of x[vocab, batch, in] under mixed
  a process sums its 250 x 256 x 784 of x to 256 x 784
  all_reduce of the sums, 784 KiB, over cols: sends 1.15 MiB
    because vocab is summed and split over cols
  the gradient of x is that of the sum, on every element: nothing to reduce
)"));
static_assert(is(explain_reduce<mixed, x, shape<heads>>(), R"(
sum along heads of x[batch, in] under mixed
  is refused: dim is not in tensor: heads
)"));
static_assert(is(explain_gather<mixed, shape<vocab, key>, vocab, shape<batch, length>>(), R"(
gather along vocab from table[vocab, key] by ids[batch, length] under mixed
  a process looks 16,384 ids up in its 250 of the 1,000 rows
  all_reduce of the result, 2.00 MiB, over cols: sends 3.00 MiB
    because vocab is looked up and split over cols
  the gradient of table is unreduced over rows: batch is summed and split over rows
)"));
static_assert(is(explain_gather<by_batch, shape<vocab, key>, vocab, shape<batch, length>>(), R"(
gather along vocab from table[vocab, key] by ids[batch, length] under by_batch
  a process looks 16,384 ids up in all 1,000 rows
  nothing is sent: every process has all that its part takes
  the gradient of table is unreduced over rows: batch is summed and split over rows
)"));
static_assert(is(explain_attention<mixed, length, length, key, shape<batch, heads, length, key>,
                                   shape<batch, heads, length, key>, shape<batch, heads, length, key>>(),
                 R"(
attention of q[batch, heads, length, key] to k[batch, heads, length, key] and v[batch, heads, length, key], positions length to length, compared along key, under mixed
  a process has 2,048 pairs of sequence and head; in each, 64 queries look at 64 positions along 32 elements: 1.07 G flops
  nothing is sent: every process has all that its part takes
  the gradients of q, k and v are whole: nothing to reduce
)"));
static_assert(is(explain_attention<mixed, length, length, key, shape<batch, hidden, length, key>,
                                   shape<batch, length, key>, shape<batch, length, key>>(),
                 R"(
attention of q[batch, hidden, length, key] to k[batch, length, key] and v[batch, length, key], positions length to length, compared along key, under mixed
  a process has 256 pairs of sequence and head; in each, 1024 times 64 queries look at 64 positions along 32 elements: 137 G flops
  nothing is sent: every process has all that its part takes
  the gradient of k is unreduced over cols: hidden is summed and split over cols
  the gradient of v is unreduced over cols: hidden is summed and split over cols
)"));
static_assert(is(explain_attention<clash, length, length, key, shape<batch, heads, length, key>,
                                   shape<batch, heads, length, key>, shape<batch, heads, length, key>>(),
                 R"(
attention of q[batch, heads, length, key] to k[batch, heads, length, key] and v[batch, heads, length, key], positions length to length, compared along key, under clash
  is refused: attention along split dim: length, cols
)"));

// moves
static_assert(is(explain_reshard<by_cols, by_hidden, h>(), R"(
reshard of x[batch, hidden] from by_cols to by_hidden
  all_to_all over cols, 2.00 MiB to 2.00 MiB: sends 1.50 MiB
    because cols goes from batch to hidden
)"));
static_assert(is(explain_reshard<mixed, by_batch, h>(), R"(
reshard of x[batch, hidden] from mixed to by_batch
  all_gather over cols, 1.00 MiB to 4.00 MiB: sends 3.00 MiB
    because hidden is no longer split over cols
)"));
static_assert(is(explain_reshard<by_batch, mixed, h, float, axes<cols>>(), R"(
reshard of x[batch, hidden] from by_batch to mixed, while it is a sum over cols
  reduce_scatter over cols, 4.00 MiB to 1.00 MiB: sends 3.00 MiB
    because the sum over cols is due, and hidden is split over it from now on
)"));
static_assert(is(explain_reshard<by_batch, by_batch, h, float, axes<cols>>(), R"(
reshard of x[batch, hidden] from by_batch to by_batch, while it is a sum over cols
  all_reduce over cols, 4.00 MiB to 4.00 MiB: sends 6.00 MiB
    because the sum over cols is due
)"));
static_assert(is(explain_reshard<by_batch, mixed, x>(), R"(
reshard of x[batch, in] from by_batch to mixed
  every process has its part already: it is free
)"));
static_assert(is(explain_reshard<by_batch, deep, x>(), R"(
reshard of x[batch, in] from by_batch to deep
  is refused: layouts are of different meshes: grid, cube
)"));

// a program
static_assert(is(explain(forward, ideal), R"(
one process of grid, 8 processes: rows 2 x cols 4
  computes    1.26 G flops of products, 12.3 k of everything else
  touches     21.7 MiB of memory
  holds       4.91 MiB at the peak: activations 4.91 MiB
  sends       72.2 KiB in 6 calls: 192 B along rows, 72.0 KiB along cols
  takes       13.1 ms by the model: products 12.6 ms, passes over memory 413 us, messages 88.9 us

      sent  calls    elements  collective  over  for what, and why
  72.0 KiB      3      12,288  all_reduce  cols  einsum, explain.cpp:57: hidden is summed and split over cols
     192 B      3          48  all_reduce  rows  max, explain.cpp:58: batch is searched for its maximum and split over rows
)"));

// a step: what has no reason of its own has that of its kind and its layout
static_assert(
    says(explain<training, mixed>(),
         "a step under mixed, one process of grid, 8 processes: rows 2 x cols 4\n  computes    847 M flops"));
static_assert(says(explain<training, mixed>(),
                   "einsum, training.hpp:30: hidden is summed and split over cols\n"));
static_assert(says(explain<training, mixed>(),
                   "mean, training.hpp:30: batch is summed and split over rows\n"));
static_assert(
    says(explain<training, mixed>(),
         "3.13 MiB      2     819,200  all_reduce  rows  sgd::step, training.hpp:32: sums over batch, split "
         "over rows, are due\n"));
static_assert(says(
    explain<training, by_batch>(),
    "all_gather      rows  sgd::step, training.hpp:32: each process along rows has a part of what all of "
    "them need\n"));

// what rules save and cost: figures of their own, so the model's constants may change
static_assert(says(
    explain_rules<training, mixed>(),
    "the rules of mixed, for one process of grid, 8 processes: rows 2 x cols 4\n  split<batch, rows>: "));
static_assert(
    says(explain_rules<training, mixed>(),
         "847 M flops (50 %), 24.0 KiB sent along cols (50 %)\n    costs 3.13 MiB sent along rows\n  "
         "split<hidden, cols>: "));
static_assert(says(
    explain_rules<training, mixed>(),
    ", 9.38 MiB of parameters (75 %), 2.54 G flops (75 %), 9.38 MiB sent along rows (75 %)\n    costs 24.0 "
    "KiB sent along cols\n"));
// no tensor has a vocab
static_assert(says(explain_rules<training, mixed>(), " without this rule\n    changes nothing here\n"));
static_assert(is(explain_rules<training, alone>(), R"(
the rules of alone, for one process of one, 1 process
  there are none: every process does the whole step
)"));

// a verdict without words of its own is said by its name
static_assert(in_words<one_axis_splits_two_dims<rows, batch, hidden>>() ==
              "rows splits both batch and hidden, so no process would hold a rectangular part");
static_assert(in_words<reshard_needs_too_many_loops<shape<batch, in>>>() ==
              "reshard needs too many loops: [batch, in]");
static_assert(in_words<aliases_are_one_dim<dim<64>>>() ==
              "dim<64> is named twice, by aliases; each dimension is a struct of its own");
static_assert(in_words<legal>() == "legal");

}  // namespace
