// What a correct program does that its writer hardly meant; `check` warns of it.
//
//   C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]     of int8: the product wraps
//   B[vi] = A[vi] * 2, where vi stops at half of B    the other elements keep what the caller gave
//   for i in range(n): B[i] = A[i] * 2                without a block no schedule reaches it
//   T.func_attr({"constant_params": [1]})             nobody reads this attribute
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct Caution {
  uint32_t object = 0;  // id of the loop or block that it is about; 0: the function
  std::string text;
};

std::vector<Caution> CautionsOf(const Function& function);

// The caution about loops that no schedule reaches; empty where there are none.
std::vector<Caution> LoopsWithoutBlocks(const Function& function);

}  // namespace tilewright
