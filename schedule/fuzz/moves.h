// The moves of the fuzzer: for each primitive, how its arguments are drawn.
//
// To add a primitive: one entry in moves.cc.
#pragma once

#include <span>

#include "schedule/fuzz/drawer.h"

namespace tilewright::fuzz {

struct Move {
  const char* primitive;  // what the move is about; it may take other primitives to get there
  // Applies it; whether the program may have changed. The drawer has just looked.
  bool (*draw)(Drawer& d);
  // Programs on which it has a chance, which is seldom on others; null: all.
  const char* family = nullptr;
};

std::span<const Move> Moves();
// What `tensorize` may name, as a script for IntrinRegistry::LoadScript.
extern const char kFuzzIntrinsics[];

}  // namespace tilewright::fuzz
