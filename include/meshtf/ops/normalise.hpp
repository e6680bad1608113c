// Normalisations along dimensions: softmax, losses and norms.
#pragma once

#include <meshtf/ops/normalise/batch_norm.hpp>
#include <meshtf/ops/normalise/cross_entropy.hpp>
#include <meshtf/ops/normalise/extra_logit.hpp>
#include <meshtf/ops/normalise/group_norm.hpp>
#include <meshtf/ops/normalise/norm.hpp>
#include <meshtf/ops/normalise/softmax.hpp>
#include <meshtf/ops/normalise/standardised.hpp>
