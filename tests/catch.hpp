// Catch2 under one name: version 2 is what Debian 12 has, version 3 what the rest of the world has. Tests are
// written in the names of version 2.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <string>

#include <catch2/catch_all.hpp>

namespace Catch {
using Matchers::EndsWith;
using Matchers::Equals;
using Matchers::StartsWith;
inline auto Contains(std::string const& part) { return Matchers::ContainsSubstring(part); }
}  // namespace Catch
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
