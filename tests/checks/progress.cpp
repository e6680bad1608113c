// A loop of 24 steps that says where it stands, for progress.sh: progress [EVERY [--plain]]
#include <chrono>
#include <cstdlib>
#include <thread>

#include "../../examples/progress.hpp"

int main(int argc, char** argv) {
  progress shown{true, 0, 24, argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0, argc > 2};
  for (long step = 1; step <= 24; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds{step == 7 ? 200 : 1});
    if (shown.at(step)) shown.say("loss %.5f", 1.0 / static_cast<double>(step));
  }
}
