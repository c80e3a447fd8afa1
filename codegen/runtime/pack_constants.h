// Packing of constants, ahead of the calls that read them.
//
// A compiled module may have a function that brings constant parameters into the layout that the kernel reads; it takes
// the constants and writes the packed tensors. Tensors of the same name are the same in both functions:
//
//   std::map<std::string, Tensor> tensors = {{"B", b}};
//   PackConstants(module.Find("main_prepack"), {{"B", kFloat32, {8, 16}}, {"B_packed", kFloat32, {2, 8, 8}}}, tensors,
//                 &error);
//   ... main's arguments are tensors["B_packed"] and others ...
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/abi/function_abi.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::runtime {

struct NamedTensorType {
  std::string name;
  TwDataType dtype;
  std::vector<int64_t> shape;
};

// Calls `pack` on the tensors of its parameters' names. Those that `tensors` lacks are what it writes: they are
// allocated and added. False with the reason in `error` when memory is short or the call fails.
bool PackConstants(TwFunction pack, const std::vector<NamedTensorType>& params, std::map<std::string, Tensor>& tensors,
                   std::string* error);

}  // namespace tilewright::runtime
