// Random numbers, and operations that draw them.
#pragma once

#include <meshtf/ops/random/dropout.hpp>
#include <meshtf/ops/random/random.hpp>
#include <meshtf/ops/random/sample.hpp>
