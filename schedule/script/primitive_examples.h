// What each primitive does to a program: the examples of docs/primitives.md.
//
// primitive_examples.txt holds, for each primitive that changes programs, its name, a program (that of the example
// before when there is none), and calls of which the last is the primitive's:
//
//   #### split
//   @T.prim_func
//   def main(...): ...
//   >>> i, j, k = sch.get_loops("C")
//   >>> i_0, i_1 = sch.split(i, factors=[None, 16])
//
// Functions NAME_desc and NAME_impl at the end of a program are the intrinsic NAME.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

struct PrimitiveExample {
  std::string primitive;
  std::string program, intrinsics;  // text; without intrinsics empty
  bool same_program = false;        // as the example before
  std::string calls;                // a line each
  Module before, after;
};

// All examples of the file. An error names the primitive whose program or calls are wrong.
absl::StatusOr<std::vector<PrimitiveExample>> ReadPrimitiveExamples(const std::string& path);

}  // namespace tilewright
