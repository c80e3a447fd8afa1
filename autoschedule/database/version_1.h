// Records of version 1 of the tuner: their programs were written in another way.
//
//   T.flip_sign_bit(x)                                       ->   x ^ T.uint8(128)
//   T.func_attr({"tilewright.prepack_of": "main"})           ->   nothing
//
// The programs compute the same and have the same code. A trace of version 1 leads today to the program on the left,
// and its record holds the hash of the one on the right.
#pragma once

#include <cstdint>

#include "ir/function.h"

namespace tilewright {

inline constexpr char kFirstTunerVersion[] = "1";

// The structural hash that version 1 knew the module by.
uint64_t HashOfVersion1(const Module& module);

}  // namespace tilewright
