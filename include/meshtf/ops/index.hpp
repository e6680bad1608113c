// Operations by index.
#pragma once

#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/index/iota.hpp>
#include <meshtf/ops/index/one_hot.hpp>
#include <meshtf/ops/index/scatter.hpp>
#include <meshtf/ops/index/scatter_add.hpp>
#include <meshtf/ops/index/searchsorted.hpp>
