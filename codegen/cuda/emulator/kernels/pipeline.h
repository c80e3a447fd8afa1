// A ring of stages between a warp that copies and warpgroups that multiply: a full and an empty mbarrier for each.
#pragma once

#include "codegen/cuda/emulator/device/kernel.h"

// Position in a ring: which stage, and in which round's parity.
template <int kStages>
struct RingPosition {
  int stage = 0, phase = 0;
  TW_DEVICE void Next() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
};

// One thread initializes barriers [0, stages) as full ones (one arrival and bytes) and the next as empty ones.
TW_DEVICE void InitRing(tw::Shared<uint64_t> barriers, int stages, int readers) {
  for (int s = 0; s < stages; ++s) {
    tw::mbarrier_init(barriers + s, 1);
    tw::mbarrier_init(barriers + stages + s, readers);
  }
}
