// A function that calls others of its module one after the other, on memory that was laid out ahead of time: what a
// whole model becomes in an object or a library.
//
//   CallSequence sequence{.name = "resnet50", .params = {image, scores}, .num_inputs = 1, ...};
//   Compile(kernels, target, {.format = "so", .sequence = &sequence});
//
// It is exported like any other function (docs/abi.md): it checks its tensors, and its workspace holds all values
// between the calls. The functions that it calls are not checked again. Constants are a read-only section of the file,
// which processes share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct CallSequence {
  struct Argument {
    enum class Memory { kParam, kConstants, kWorkspace, kScalar };
    Memory memory = Memory::kParam;
    int64_t at = 0;              // number of the parameter; offset in bytes; the scalar's value
    std::vector<int64_t> shape;  // not of scalars
  };
  struct Call {
    std::string function;  // of the module
    std::vector<Argument> arguments;
    int64_t workspace_offset = 0, workspace_bytes = 0;  // its own temporaries, in the workspace
  };
  // After the last call: bytes of a parameter or of a constant that are a result.
  struct Copy {
    Argument from;
    int64_t to = 0;  // number of the parameter
    int64_t bytes = 0;
  };

  std::string name;
  std::vector<Param> params;  // buffers of constant shape; the first `num_inputs` are read, the others written
  size_t num_inputs = 0;
  std::vector<Call> calls;
  std::vector<Copy> copies;
  int64_t workspace_bytes = 0;
  std::string constants_file;  // its bytes become the section; empty: there are none
  int64_t constants_bytes = 0;
};

}  // namespace tilewright
