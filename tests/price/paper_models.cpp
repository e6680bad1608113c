// If it compiles, it passes: the paper's models, and T5, have exactly their numbers of parameters, and a step
// of the paper's largest is priced on meshes that no test could start.
#include "../../examples/paper_models.hpp"

namespace {

using namespace paper;

// LM1B, 2n = 1, 2, 4, ...: P = L (4 h k d + 2 d f) + 2 V d + 256 d + (2 L + 1) d
static_assert(count<language_model, lm1b<1, 32, 1>>() == 142'881'792 &&
              count<language_model, lm1b<2, 32, 1>>() == 218'379'264);
static_assert(count<language_model, lm1b<4, 8, 4>>() == 369'374'208 &&
              count<language_model, lm1b<8, 8, 4>>() == 671'364'096);
static_assert(count<language_model, lm1b<16, 16, 8>>() == 1'275'343'872 &&
              count<language_model, lm1b<32, 16, 32>>() == 2'483'303'424);
static_assert(count<language_model, lm1b<64, 16, 32>>() == 4'899'222'528);

// WMT14
static_assert(count<translator, wmt<1, 32, 1>>() == 155'484'160 &&
              count<translator, wmt<2, 32, 1>>() == 243'564'544);
static_assert(count<translator, wmt<4, 8, 4>>() == 419'725'312 &&
              count<translator, wmt<8, 8, 4>>() == 772'046'848);
static_assert(count<translator, wmt<16, 16, 8>>() == 1'476'689'920 &&
              count<translator, wmt<32, 16, 32>>() == 2'885'976'064);

// T5: P = V d + L (4 h k d + 2 d f + 2 d) + L (8 h k d + 2 d f + 3 d) + 2 d + 2 * 32 h, which the released
// models have
static_assert(count<t5_model, t5_small<4, 4>>() == 60'506'624 &&
              count<t5_model, t5_base<4, 4>>() == 222'903'552);
static_assert(count<t5_model, t5_large<4, 4>>() == 737'668'096 &&
              count<t5_model, t5_3b<4, 4>>() == 2'851'598'336);
static_assert(count<t5_model, t5_11b<16, 32>>() == 11'307'321'344);

// the largest of LM1B on 16x32: what is not split is the position table and the norms' scales, which every
// process holds
constexpr auto largest   = meshtf::dry_run<language_model, lm1b<64, 16, 32>>();
constexpr extent whole   = (256 + 13) * 1024;
constexpr extent of_cols = 32;
static_assert(largest.parameter_bytes() == 4 * (whole + (4'899'222'528 - whole) / of_cols));
static_assert(meshtf::fits<8 * meshtf::GiB>(largest) && largest.optimizer_bytes() == 0 &&
              largest.at_peak().bytes() == largest.peak_bytes());

// a mesh of 2048: the same types of layers, smaller parts
constexpr auto wider = meshtf::dry_run<language_model, lm1b<64, 32, 64>>();
static_assert(wider.peak_bytes() < largest.peak_bytes() && wider.flops() * 4 == largest.flops());

}  // namespace
