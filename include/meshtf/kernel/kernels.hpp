// Every kernel: the `compute` functions of the library's tasks.
#pragma once

#include <meshtf/kernel/attention.hpp>
#include <meshtf/kernel/bias.hpp>
#include <meshtf/kernel/contract.hpp>
#include <meshtf/kernel/gather.hpp>
#include <meshtf/kernel/lines.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/kernel/norm.hpp>
#include <meshtf/kernel/padding.hpp>
#include <meshtf/kernel/part.hpp>
#include <meshtf/kernel/random.hpp>
