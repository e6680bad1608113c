// For tests: whether a program's record costs under each of some layouts what a dry run says.
#pragma once

#include <meshtf/meshtf.hpp>
#include <meshtf/search/search.hpp>

#include "../search/same_price.hpp"

namespace meshtf::tests {

/// The record of `Program`, of which `D...` may be split. (The program is a parameter of the class: in a
/// member of a class template clang 19 takes no constrained template for it.)
template<template<Layout> class Program, Dimension... D>
struct record_of {
  /// Does it cost under each of `L...` what a dry run says?
  template<class... L>
  static consteval bool agrees_under() {
    constexpr auto step = record<Program, D...>();
    return (same_price(price<L>(step), dry_run<Program, L>()) && ...);
  }
};

}  // namespace meshtf::tests
