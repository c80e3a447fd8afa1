#include "schedule/reduction/define_empty_reductions.h"

#include <algorithm>
#include <vector>

#include "ir/analysis.h"
#include "ir/functor.h"
#include "schedule/program/loop_tree.h"
#include "schedule/reduction/decompose_reduction.h"

namespace tilewright {
namespace {

bool MayBeEmpty(const BlockNode& block) {
  return std::any_of(block.iter_vars.begin(), block.iter_vars.end(), [](const IterVar& iter) {
    const auto extent = AsInt(iter.domain.extent);
    return iter.kind == IterKind::kReduce && !(extent && *extent > 0);
  });
}

// The outermost loop that takes part in the reduction; null where none does.
const ForNode* FirstLoop(const Path& path) {
  const auto* realize = cast<BlockRealizeNode>(path.back());
  for (const ForNode* loop : LoopsAbove(path)) {
    for (size_t i = 0; i < realize->bindings.size(); ++i) {
      if (realize->block->iter_vars[i].kind == IterKind::kReduce && UsesVar(realize->bindings[i], loop->var)) {
        return loop;
      }
    }
  }
  return nullptr;
}

}  // namespace

Function DefineEmptyReductions(Function function) {
  std::vector<uint32_t> blocks;
  PreOrder(function->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize != nullptr && realize->block->init && MayBeEmpty(*realize->block)) blocks.push_back(realize->block->id);
    return true;
  });
  for (const uint32_t block : blocks) {
    const ForNode* loop = FirstLoop(FindPath(function, block));
    if (loop == nullptr) continue;
    if (auto result = DecomposeReduction(function, block, loop->id); result.ok()) function = result->function;
  }
  return function;
}

Module DefineEmptyReductions(Module module) {
  const std::vector<Function> functions = module.functions();
  for (const Function& function : functions) module.Set(DefineEmptyReductions(function));
  return module;
}

}  // namespace tilewright
