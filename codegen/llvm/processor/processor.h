// What code generation does in a way of its own for a family of processors.
//
// codegen/llvm/x86 and codegen/llvm/aarch64 have one object each; codegen/llvm asks ProcessorOf(target) (processors.h).
// What needs the whole FunctionEmitter (tile registers, conversions, shuffles) are members of it, which stand in those
// folders and emit nothing for other processors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "target/target.h"

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace tilewright::codegen {

class Processor {
 public:
  virtual ~Processor() = default;

  // Features of LLVM's own beside those of the target: ",+evex512".
  virtual std::string MoreFeatures(const Target& target) const = 0;
  // Programs that link for it, the fastest one first.
  virtual std::vector<const char*> Linkers() const = 0;
  // Moves of vector registers to or from the stack inside of innermost loops.
  virtual int CountInnerLoopVectorSpills(std::string_view assembly) const = 0;
  // Whether the target has an instruction for p * 2^n of f32 of this type.
  virtual bool HasScale(const llvm::Type*, const Target&) const { return false; }
  // p * 2^n by that instruction, for whole numbers n; null where there is none.
  virtual llvm::Value* EmitScale(llvm::IRBuilderBase&, llvm::Value*, llvm::Value*) const { return nullptr; }
};

}  // namespace tilewright::codegen
