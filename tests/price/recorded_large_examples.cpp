// The steps of `images` and `layouts`, recorded without a layout: under the layouts of the example a record
// costs what their dry runs say. See recorded_examples.cpp.
// test: long
// test: program compiled
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "../../examples/fashion_options.hpp"
#include "../../examples/fashion_training.hpp"
#include "../../examples/promise.hpp"
#include "../../examples/side_by_side.hpp"
#include "record_of.hpp"

#include <meshtf/data/batches.hpp>
#include <meshtf/meshtf.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // what an example's `main` alone uses
#pragma GCC diagnostic ignored "-Wreturn-type"      // which returns nothing
#define main(number, words) run_example(number, words, auto const&...)
namespace images {
#include "../../examples/images.cpp"
}
namespace transformer {  // `layouts` is a template of side_by_side.hpp
#include "../../examples/layouts.cpp"
}
#undef main
#pragma GCC diagnostic pop

namespace {

using meshtf::tests::record_of;

// This record keeps the rows of an image whole, so it has no price of `space` and `mixed`, which split them.
static_assert(record_of<images::training, images::batch, images::maps,
                        images::hidden>::agrees_under<images::replicated, images::data, images::model>());

static_assert(record_of<transformer::training, transformer::batch, transformer::heads, transformer::hidden,
                        transformer::vocab>::agrees_under<transformer::replicated, transformer::data_parallel,
                                                          transformer::model_parallel, transformer::mixed,
                                                          transformer::two_axes>());

}  // namespace
