// How exported functions read and check their arguments. Private to codegen/llvm.
//
//   ArgumentCode code{context, emitter, exported, call, exported->getArg(1)};
//   CheckForm(code, function);               // null, devices, ranks, types
//   ... bind the variables of shapes ...
//   CheckValues(code, function, variables);  // extents, strides, memory
//
// Checks of few arguments are emitted in place. Those of many are functions for some of them each, which read again
// what they need: LLVM takes 3.3 s for the checks of 242 arguments in one function, whose values live through all of
// its blocks. The order of the checks, and so the error that a caller gets, is the same.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emitter.h"
#include "ir/function.h"

namespace tilewright::codegen {

enum CallField : unsigned { kWorkspace = 1, kWorkspaceBytes = 2, kMessage = 3, kMessageBytes = 4 };
enum TensorField : unsigned {
  kData = 0,
  kDeviceType = 1,
  kNdim = 3,
  kDtype = 4,
  kShape = 5,
  kStrides = 6,
  kOffset = 7
};

// The first numbers, i64 each, of an array.
std::vector<llvm::Value*> LoadNumbers(Builder& b, llvm::Value* array, size_t count);

// A place for code that reads the arguments of a call: in the exported function, or in one that it calls.
struct ArgumentCode {
  ModuleContext& context;
  FunctionEmitter& emitter;
  llvm::Function* function;
  llvm::Value* call;     // TwCall*
  llvm::Value* tensors;  // TwTensor**

  Builder& b() const { return emitter.builder(); }
  llvm::Value* Tensor(size_t index) const;
  llvm::Value* Field(llvm::Value* tensor, TensorField field) const;
  // byte_offset included.
  llvm::Value* Data(llvm::Value* tensor) const;
  // i64 each.
  std::vector<llvm::Value*> Extents(llvm::Value* tensor, size_t rank) const;
  // The strides of a null pointer are `compact`.
  std::vector<llvm::Value*> Strides(llvm::Value* tensor, const std::vector<llvm::Value*>& compact) const;
  // Strides of elements that lie side by side.
  std::vector<llvm::Value*> Compact(const std::vector<llvm::Value*>& extents) const;
  // Returns `error` with a message from the function where `condition` is false.
  void Check(llvm::Value* condition, TwError error, const std::string& format, llvm::ArrayRef<llvm::Value*> args) const;
};

// What can be said of each argument alone: whether it is there, its device, its rank and its type.
absl::Status CheckForm(const ArgumentCode& code, const Function& function);

// What depends on the variables of shapes, which are bound in code.emitter: extents, strides, memory.
absl::Status CheckValues(const ArgumentCode& code, const Function& function, const std::vector<Var>& variables);

}  // namespace tilewright::codegen
