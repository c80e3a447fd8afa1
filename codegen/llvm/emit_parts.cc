// Long functions: the statements of a long list become functions of their own, some at a time.
//
//   nest 0; nest 1; ...      code = part_0(call, workspace, captures...); if (code != 0) return code; ...
//
// What LLVM does with a function grows faster than the function: where it hoists invariants, 480 chained products take
// 12 times as long as 240.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/free_variables.h"
#include "codegen/llvm/pointer_facts.h"

namespace tilewright::codegen {
namespace {

// Statements of a list from which on it is taken apart, and those of a part.
constexpr size_t kLongList = 64;
constexpr size_t kPart = 32;

}  // namespace

// Tiles of AMX live longer than a statement, and loops run their bodies again and again.
bool FunctionEmitter::IsEmittedInParts(const SeqNode* op) const {
  return op->stmts.size() >= kLongList && !inside_parallel_ && loops_.empty() && !tiles_configured_ &&
         std::ranges::none_of(op->stmts, UsesAmx);
}

void FunctionEmitter::EmitInParts(const SeqNode* op) {
  for (size_t first = 0; first < op->stmts.size(); first += kPart) {
    const size_t count = std::min(kPart, op->stmts.size() - first);
    const auto begin = op->stmts.begin() + static_cast<std::ptrdiff_t>(first);
    EmitPart(Sequence({begin, begin + static_cast<std::ptrdiff_t>(count)}),
             absl::StrCat(name_, ".part", first / kPart));
  }
}

void FunctionEmitter::EmitPart(const Stmt& part, const std::string& name) {
  const std::vector<const VarNode*> free = FreeVariables(part);
  llvm::Type* ptr = builder_.getPtrTy();
  llvm::Value* workspace = llvm::Constant::getNullValue(ptr);
  if (workspace_ != nullptr) {
    workspace = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), workspace_, static_cast<uint64_t>(workspace_top_));
  }
  std::vector<llvm::Value*> args = {call_, workspace};
  const size_t first_variable = args.size();
  for (const VarNode* var : free) args.push_back(EmitVar(var));
  std::vector<llvm::Type*> params;
  for (const llvm::Value* arg : args) params.push_back(arg->getType());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(builder_.getInt32Ty(), params, false),
                                          llvm::Function::InternalLinkage, name, context_.module);
  function->addFnAttr(llvm::Attribute::NoInline);
  const bool distinct = !DefinesPointers(part);
  FunctionEmitter inner(context_, function, name, false);
  inner.set_call(function->getArg(0));
  inner.BindCaptures(free, llvm::ArrayRef(args).drop_front(first_variable), first_variable, distinct);
  if (workspace_ != nullptr) {
    inner.workspace_ = function->getArg(1);
    if (distinct) function->getArg(1)->addAttr(llvm::Attribute::NoAlias);
  }
  inner.stack_bytes_ = stack_bytes_;
  const absl::Status emitted = inner.EmitBody(part);
  if (status_.ok()) status_ = emitted;
  workspace_high_ = std::max(workspace_high_, workspace_top_ + inner.workspace_high_);
  ReturnIfError(builder_.CreateCall(function, args));
}

}  // namespace tilewright::codegen
