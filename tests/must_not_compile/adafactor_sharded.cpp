// error: meshtf: adafactor has no sharded state: its factors are whole over replicas
#include <meshtf/optim/adafactor.hpp>

struct optimizers {
  meshtf::adafactor factored{1e-2};
  constexpr optimizers() {
#ifdef FIXED
    factored.least_factored = 64;
#else
    factored.shard_state = true;
#endif
  }
};
inline constexpr optimizers made{};
