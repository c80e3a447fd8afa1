// Long functions: the statements of a long list become functions of their own, some at a time; those that are alike
// share one.
//
//   nest 0; nest 1; ...      code = part_0(call, workspace, captures...); if (code != 0) return code; ...
//
// What LLVM does with a function grows faster than the function: where it hoists invariants, 480 chained products take
// 12 times as long as 240. With one function for all of them LLVM has nothing to do that grows.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/free_variables.h"
#include "codegen/llvm/pointer_facts.h"
#include "ir/structural.h"

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

// A function for statements, and what it needs of the workspace.
struct FunctionEmitter::Part {
  llvm::Function* function;
  int64_t workspace_bytes;
};

// One for each statement that is not alike another one with a part.
struct FunctionEmitter::SharedPart {
  Stmt stmt;
  std::vector<llvm::Value*> given;  // to the first statement
  Part part;
};

void FunctionEmitter::EmitInParts(const SeqNode* op) {
  const std::vector<uint64_t> alike = AlikeStatements(op->stmts);
  std::unordered_map<uint64_t, std::vector<SharedPart>> shared;
  size_t parts = 0;
  for (size_t first = 0, end = 0; first < op->stmts.size(); first = end) {
    if (alike[first] != 0) {
      EmitShared(op->stmts[first], absl::StrCat(name_, ".shared", first), shared[alike[first]]);
      end = first + 1;
      continue;
    }
    while (end < op->stmts.size() && end - first < kPart && alike[end] == 0) ++end;
    const auto place = [&](size_t i) { return op->stmts.begin() + static_cast<std::ptrdiff_t>(i); };
    const Stmt part = Sequence({place(first), place(end)});
    const std::vector<llvm::Value*> given = ValuesFor(part);
    CallPart(MakePart(part, absl::StrCat(name_, ".part", parts++), given), given);
  }
}

// Statements that are alike share a function as far as the same is known of the pointers that they are given.
void FunctionEmitter::EmitShared(const Stmt& stmt, const std::string& name, std::vector<SharedPart>& known) {
  const std::vector<llvm::Value*> given = ValuesFor(stmt);
  const auto aligned_alike = [&](const llvm::Value* a, const llvm::Value* b) {
    const llvm::DataLayout& layout = context_.module.getDataLayout();
    return !a->getType()->isPointerTy() || a->getPointerAlignment(layout) == b->getPointerAlignment(layout);
  };
  auto found = std::ranges::find_if(known, [&](const SharedPart& other) {
    return std::ranges::equal(given, other.given, aligned_alike) &&
           StructuralEqual(other.stmt, stmt, /*map_free=*/true);
  });
  if (found == known.end()) found = known.insert(found, {stmt, given, MakePart(stmt, name, given)});
  CallPart(found->part, given);
}

std::vector<llvm::Value*> FunctionEmitter::ValuesFor(const Stmt& part) {
  std::vector<llvm::Value*> values;
  for (const VarNode* var : FreeVariables(part)) values.push_back(EmitVar(var));
  return values;
}

FunctionEmitter::Part FunctionEmitter::MakePart(const Stmt& part, const std::string& name,
                                                const std::vector<llvm::Value*>& given) {
  llvm::Type* ptr = builder_.getPtrTy();
  std::vector<llvm::Type*> params = {ptr, ptr};  // the call, the workspace
  const size_t first_variable = params.size();
  for (const llvm::Value* value : given) params.push_back(value->getType());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(builder_.getInt32Ty(), params, false),
                                          llvm::Function::InternalLinkage, name, context_.module);
  function->addFnAttr(llvm::Attribute::NoInline);
  const bool distinct = !DefinesPointers(part);
  FunctionEmitter inner(context_, function, name, false);
  inner.set_call(function->getArg(0));
  inner.BindCaptures(FreeVariables(part), given, first_variable, distinct);
  if (workspace_ != nullptr) {
    inner.workspace_ = function->getArg(1);
    if (distinct) function->getArg(1)->addAttr(llvm::Attribute::NoAlias);
  }
  inner.stack_bytes_ = stack_bytes_;
  const absl::Status emitted = inner.EmitBody(part);
  if (status_.ok()) status_ = emitted;
  return {function, inner.workspace_high_};
}

void FunctionEmitter::CallPart(const Part& part, const std::vector<llvm::Value*>& given) {
  llvm::Value* workspace = llvm::Constant::getNullValue(builder_.getPtrTy());
  if (workspace_ != nullptr) {
    workspace = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), workspace_, static_cast<uint64_t>(workspace_top_));
  }
  std::vector<llvm::Value*> args = {call_, workspace};
  args.insert(args.end(), given.begin(), given.end());
  workspace_high_ = std::max(workspace_high_, workspace_top_ + part.workspace_bytes);
  ReturnIfError(builder_.CreateCall(part.function, args));
}

}  // namespace tilewright::codegen
