// The pointwise functions that take x alone, for tests of all of them.
// Made from the headers in ops/pointwise/ by tests/checks/catalogue.py --write.
// clang-format off
#pragma once

#define MESHTF_SMOOTH_FUNCTIONS(X) X(cos) X(erf) X(exp) X(expm1) X(gelu) X(gelu_erf) X(mish) \
  X(sigmoid) X(silu) X(sin) X(softplus) X(square) X(tanh)

#define MESHTF_FUNCTIONS_OF_POSITIVE(X) X(log) X(log1p) X(reciprocal) X(rsqrt) X(sqrt)

#define MESHTF_BENT_FUNCTIONS(X) X(abs) X(relu) X(selu)

#define MESHTF_STEP_FUNCTIONS(X) X(ceil) X(floor) X(round) X(sign)
