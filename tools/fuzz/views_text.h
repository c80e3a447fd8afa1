// Random programs whose arrays have views: other shapes, types, strides and places of the same memory.
//
//   S = T.alloc_buffer((4, 6), "float32")
//   S_bits = T.decl_buffer((24,), "int32", data=S.data)
//   S_rows = T.decl_buffer((3, 6), "float32", data=S.data, elem_offset=6)
//   for i, j in T.grid(4, 6): S[i, j] = ...             written by one name
//   for i in range(24): O[i // 6, i % 6] = S_bits[i]    and read by another
//
// Stages write an array or a view of it, and read arrays and views. Some read the memory that they write, by another
// name: many of these depend on the order of iterations, and verification refuses them. Rows are read and written
// through match_buffer too. Numbers are integers, floats read as bits and integers read by parts, so results are exact.
#pragma once

#include "tools/fuzz/program_text.h"

namespace tilewright {

ProgramText MakeViewsText(uint64_t seed, const std::set<int>& without = {});

}  // namespace tilewright
