// Every public name that docs/reference.md and docs/errors.md listed at commit fa286d8, before names were
// changed to the terms of the literature (docs/glossary.md), still names something. Those that the compiler
// alone has are in tests/plan/public_names.cpp.
//
// Made once from these pages: the names are their lines **NAME** and ## `NAME`, of the folder nn in
// meshtf::nn, of all others in meshtf. A name is added here by hand when a later release renames it, and is
// never removed.
#include <meshtf/io/safetensors.hpp>
#include <meshtf/io/safetensors_reader.hpp>
#include <meshtf/io/safetensors_writer.hpp>
#include <meshtf/meshtf.hpp>

#include "../catch.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // former names are deprecated, and still names

namespace public_names {
using meshtf::agree;
using meshtf::agree_on_cost;
using meshtf::agree_on_value;
using meshtf::agreed;
using meshtf::all_gather;
using meshtf::all_gather_in_place;
using meshtf::all_reduce;
using meshtf::all_to_all;
using meshtf::batch_part;
using meshtf::batches_in_order;
using meshtf::broadcast;
using meshtf::byte_tokenizer;
using meshtf::call_check;
using meshtf::environment;
using meshtf::environment_settings;
using meshtf::exchange_with_neighbours;
using meshtf::exclusive_scan;
using meshtf::fashion_mnist_folder;
using meshtf::from_global;
using meshtf::hand_over;
using meshtf::idx_array;
using meshtf::labelled_images;
using meshtf::largest_text;
using meshtf::load;
using meshtf::log_to;
using meshtf::meshes_have_one_size;
using meshtf::messages;
using meshtf::operator<<;
using meshtf::permute;
using meshtf::pixel_scale;
using meshtf::placement_text;
using meshtf::pool;
using meshtf::prefetched;
using meshtf::print;
using meshtf::process_in_mesh;
using meshtf::process_mesh;
using meshtf::profile;
using meshtf::random_windows;
using meshtf::read_idx;
using meshtf::read_images;
using meshtf::read_mnist;
using meshtf::read_text;
using meshtf::receive_piece;
using meshtf::recorded;
using meshtf::reduce_scatter;
using meshtf::run_on;
using meshtf::run_on_verdict;
using meshtf::safetensors_array;
using meshtf::safetensors_header;
using meshtf::safetensors_reader;
using meshtf::safetensors_type;
using meshtf::safetensors_writer;
using meshtf::save;
using meshtf::scale;
using meshtf::send_piece;
using meshtf::shuffled_batches;
using meshtf::split_text;
using meshtf::standard_scale;
using meshtf::text;
using meshtf::text_parts;
using meshtf::throw_on_failure;
using meshtf::to_global;
using meshtf::trace;
using meshtf::training_position;
using meshtf::windows_in_order;
}  // namespace public_names

TEST_CASE("every public name still names something") { SUCCEED("it compiles"); }
