// Catch2 under one name: version 2 is what Debian 12 has, version 3 what the rest of the world has.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
