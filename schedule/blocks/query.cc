#include "schedule/blocks/query.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "ir/functor.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

namespace {

std::vector<std::string> BlockNames(const Function& function) {
  std::vector<std::string> names;
  PreOrder(function->body, [&](const Stmt& stmt) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(stmt)) names.push_back(realize->block->name);
    return true;
  });
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // Blocks inside of an init are not found.
  std::erase_if(names, [&](const std::string& name) { return BlocksNamed(function, name).empty(); });
  return names;
}

}  // namespace

Outcome<uint32_t> GetBlock(const Function& function, std::string_view name) {
  const std::vector<const BlockRealizeNode*> blocks = BlocksNamed(function, name);
  if (blocks.size() == 1) return blocks[0]->block->id;
  if (blocks.empty()) {
    const std::string near = DidYouMean(name, BlockNames(function));
    return Refusal{"get_block", "there is no block named {text0}{text1}", {}, {}, {std::string(name), near}};
  }
  // Nothing else leads to the root; what a graph's operator calls "root" stands below it.
  if (const auto* root = dyn_cast<BlockRealizeNode>(function->body); root != nullptr && root->block->name == name) {
    return root->block->id;
  }
  std::vector<uint32_t> ids;
  for (const BlockRealizeNode* block : blocks) ids.push_back(block->block->id);
  return Refusal{"get_block", "{num0} blocks are named {text0}", ids, {}, {std::string(name)}, {std::ssize(blocks)}};
}

Outcome<std::vector<uint32_t>> GetLoops(const Function& function, uint32_t block) {
  TW_ASSIGN_OR_RETURN(Path path, PathToBlock("get_loops", function, block));
  return LoopsAbove(function, block);
}

Outcome<std::vector<uint32_t>> GetChildBlocks(const Function& function, uint32_t id) {
  const Path path = FindPath(function, id);
  if (path.empty()) return Refusal{"get_child_blocks", "the loop or block no longer exists", {id}};
  const auto* realize = dyn_cast<BlockRealizeNode>(path.back());
  std::vector<uint32_t> ids;
  for (const BlockRealizeNode* child : realize ? ChildBlocks(*realize->block) : BlocksBelow(path.back())) {
    ids.push_back(child->block->id);
  }
  return ids;
}

Outcome<std::vector<uint32_t>> GetProducers(const Function& function, uint32_t block) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock("get_producers", function, block));
  const std::vector<uint32_t> producers = BlockScope::Around(function, block).Producers(block);
  const auto writes = [&](uint32_t producer, const Buffer& buffer) {
    return Mentions(FindBlock(function, producer)->block->writes, buffer);
  };
  std::vector<uint32_t> ids;
  const auto add = [&](uint32_t producer) {
    if (std::ranges::find(ids, producer) == ids.end()) ids.push_back(producer);
  };
  for (const BufferRegion& read : FindBlock(function, block)->block->reads) {
    for (const uint32_t producer : producers) {
      if (writes(producer, read.buffer)) add(producer);
    }
  }
  for (const uint32_t producer : producers) add(producer);  // of what the block only writes
  return ids;
}

Outcome<std::vector<uint32_t>> GetConsumers(const Function& function, uint32_t block) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock("get_consumers", function, block));
  return BlockScope::Around(function, block).Consumers(block);
}

Outcome<std::vector<uint32_t>> GetOutputBlocks(const Function& function, uint32_t scope_block) {
  TW_ASSIGN_OR_RETURN(Path path, PathToBlock("get_output_blocks", function, scope_block));
  const BlockNode& scope = *cast<BlockRealizeNode>(path.back())->block;
  auto is_local = [&](const Buffer& buffer) {
    return std::ranges::any_of(scope.alloc_buffers, [&](const Buffer& local) { return local.same_as(buffer); });
  };
  std::vector<uint32_t> ids;
  auto add_outputs = [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return true;
    const BlockNode& block = *realize->block;
    if (std::ranges::any_of(block.writes, [&](const BufferRegion& write) { return !is_local(write.buffer); })) {
      ids.push_back(block.id);
    }
    return true;
  };
  PreOrder(scope.body, add_outputs);
  return ids;
}

}  // namespace tilewright
