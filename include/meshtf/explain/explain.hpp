// explain: who holds what, what an operation sends and why, what a step costs, and what each rule of its
// layout saves, as text.
#pragma once

#include <meshtf/explain/explain_cost.hpp>
#include <meshtf/explain/explain_layout.hpp>
#include <meshtf/explain/explain_operation.hpp>
