// Operations on windows: halos, convolutions, pooling.
#pragma once

#include <meshtf/ops/window/conv.hpp>
#include <meshtf/ops/window/conv_transpose.hpp>
#include <meshtf/ops/window/halo.hpp>
#include <meshtf/ops/window/pool.hpp>
#include <meshtf/ops/window/windows.hpp>
