// What the present test case shows on the screen if it fails.
#pragma once

#include <string>

namespace tests {

/// A text that is too long to be a part of each failed assertion. The end of the test case empties it.
inline std::string shown_if_it_fails;

}  // namespace tests
