// Long functions: the statements of a long list become functions of their own, some at a time; those that are alike
// share one. In short lists long statements that are alike do, also in the body of a parallel loop.
//
//   nest 0; nest 1; ...      code = part_0(call, workspace, captures...); if (code != 0) return code; ...
//
// What LLVM does with a function grows faster than the function: where it hoists invariants, 480 chained products take
// 12 times as long as 240. With one function for all of them LLVM has nothing to do that grows. Three products of one
// input, as in attention, take it a third of the time.
#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
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
// Nodes from which on a statement of a short list shares a function: a call is nothing beside what it does.
constexpr int64_t kLongStatement = 400;
// Lists that are inside of each other, as allocations nest them, in which statements are compared.
constexpr int kMostListsAround = 4;
// Bytes of other arrays than those in register scope that LLVM is left to hold in registers.
constexpr uint64_t kMostBytesInRegisters = 512;

// Whether it is an array that stays in registers as long as no function is given where it is.
bool MayBeInRegisters(const llvm::Value* value, const llvm::DataLayout& layout) {
  const auto* array = llvm::dyn_cast<llvm::AllocaInst>(value);
  if (array == nullptr) return false;
  const std::optional<llvm::TypeSize> size = array->getAllocationSize(layout);
  return array->getMetadata(kRegisterArray) != nullptr || (size && size->getFixedValue() <= kMostBytesInRegisters);
}

}  // namespace

// Tiles of AMX live longer than a statement, and loops run their bodies again and again. Those of a parallel loop are
// the longest that there are.
bool FunctionEmitter::MayCallParts(const SeqNode* op) const {
  return loops_.size() <= (inside_parallel_ ? 1 : 0) && !tiles_configured_ && std::ranges::none_of(op->stmts, UsesAmx);
}

bool FunctionEmitter::EmitParts(const SeqNode* op) {
  const bool is_long = op->stmts.size() >= kLongList && !inside_parallel_;
  if (!is_long && lists_around_ > kMostListsAround) return false;
  if (!MayCallParts(op)) return false;
  const std::vector<uint64_t> alike = AlikeStatements(op->stmts, is_long ? 0 : kLongStatement);
  if (!is_long && std::ranges::count(alike, 0) == std::ssize(alike)) return false;
  EmitInParts(op, alike, is_long);
  return true;
}

void FunctionEmitter::EmitInParts(const SeqNode* op, const std::vector<uint64_t>& alike, bool is_long) {
  size_t parts = 0;
  for (size_t first = 0, end = 0; first < op->stmts.size(); first = end) {
    if (alike[first] != 0) {
      EmitShared(op->stmts[first], absl::StrCat(name_, ".shared", first), shared_[alike[first]]);
      end = first + 1;
      continue;
    }
    if (!is_long) {
      Emit(op->stmts[first]);
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
  const auto may_be_in_registers = [&](const llvm::Value* value) {
    return MayBeInRegisters(value, context_.module.getDataLayout());
  };
  if (std::ranges::any_of(given, may_be_in_registers)) return Emit(stmt);
  const auto aligned_alike = [&](const llvm::Value* a, const llvm::Value* b) {
    const llvm::DataLayout& layout = context_.module.getDataLayout();
    return !a->getType()->isPointerTy() || a->getPointerAlignment(layout) == b->getPointerAlignment(layout);
  };
  auto found = std::ranges::find_if(known, [&](const SharedPart& other) {
    return streams_ == other.streams && std::ranges::equal(given, other.given, aligned_alike) &&
           StructuralEqual(other.stmt, stmt, /*map_free=*/true);
  });
  if (found == known.end()) found = known.insert(found, {stmt, given, streams_, MakePart(stmt, name, given)});
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
  const bool distinct = !defines_pointers_ && !DefinesPointers(part);
  FunctionEmitter inner(context_, function, name, inside_parallel_);
  inner.set_call(function->getArg(0));
  inner.BindCaptures(FreeVariables(part), given, first_variable, distinct);
  inner.workspace_parts_ = workspace_parts_;
  inner.streams_ = streams_;
  if (workspace_ != nullptr) {
    inner.workspace_ = function->getArg(1);
    if (distinct) function->getArg(1)->addAttr(llvm::Attribute::NoAlias);
  }
  inner.stack_bytes_ = stack_bytes_;
  inner.defines_pointers_ = defines_pointers_;
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
