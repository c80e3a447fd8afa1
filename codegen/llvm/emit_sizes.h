// Sequences that serve many sizes. Private to codegen/llvm.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "codegen/llvm/emitter.h"
#include "codegen/sized_sequence.h"
#include "ir/expr.h"

namespace tilewright::codegen {

// SizedSequence::shared, kept in the module until EmitAbi exports the function, and whether a pair is among them.
void KeepSharedMemory(ModuleContext& context, const SizedSequence& sequence);
bool MayShareMemory(const ModuleContext& context, const std::string& function, size_t read, size_t written);

// The table of numbers that the calls of a sequence need: what depends on extents, in slots of an int64 each.
class SizeTable {
 public:
  // The slot of a number that is not constant.
  int64_t SlotOf(const Expr& number);
  // The first of the slots, side by side, of an array's extents.
  int64_t SlotOf(const std::vector<Expr>& extents);
  const std::vector<Expr>& slots() const { return slots_; }

 private:
  std::vector<Expr> slots_;
  std::unordered_map<const ExprNode*, int64_t> numbers_;
  std::map<std::vector<std::pair<const ExprNode*, int64_t>>, int64_t> arrays_;  // a constant has no node here
};

// `i32 NAME.sizes(ptr call, i64 extent..., ptr table)` fills the table, or returns kTwErrorShape with a sentence.
absl::StatusOr<llvm::Function*> EmitSizes(ModuleContext& context, const SizedSequence& sequence,
                                          const SizeTable& table);

// `i64 NAME.bytes(ptr call, i64 extent...)`: the bytes of the workspace, of which `behind` stand behind what the
// sequence says; or a code of TwError, negative, with a sentence. EmitAbi calls the function of this name where there
// is one.
void EmitWorkspaceBytes(ModuleContext& context, const SizedSequence& sequence, llvm::Function* sizes,
                        const SizeTable& table, int64_t total_slot, int64_t behind);

absl::Status EmitSizedSequence(ModuleContext& context, const SizedSequence& sequence);

// What all functions of a module are marked with, and LLVM's own check of it (emit_module.cc).
absl::Status FinishModule(ModuleContext& context);

}  // namespace tilewright::codegen
