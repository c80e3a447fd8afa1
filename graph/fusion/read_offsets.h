// The places that a program reads, apart from what it computes.
//
//   gather[v] = x[0, 4, v] + y[v + 8]   ->   gather[v] = x[0, 0, v] + y[v]      offsets {0, 4, 0, 8}
//
// The steps of a recurrence that a file writes out, and layers that read parts of one tensor, are programs that differ
// in these numbers alone. An offset is the whole number that is added in an index of a load, or that an index is. Only
// loads from parameters that the program does not write, and that are not constants, have offsets: what is read of
// constants decides how they are packed, and what is read of temporaries how they are computed.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/value.h"
#include "ir/function.h"

namespace tilewright::graph {

struct ReadOffsets {
  PrimFunc program;              // all offsets are 0
  std::vector<int64_t> offsets;  // in the order in which the program reads
};

// `constants`: the parameters, by position, whose elements are known. A program that is not regular (program_form.h)
// has no offsets.
ReadOffsets WithoutReadOffsets(const PrimFunc& program, const std::vector<int>& constants);

// The program with offset i read from new scalar parameter number params[i], from 0 on and behind the others; where
// params[i] is -1 it stays.
PrimFunc WithOffsetParameters(const PrimFunc& program, const std::vector<int>& constants,
                              const std::vector<int>& params);

}  // namespace tilewright::graph
