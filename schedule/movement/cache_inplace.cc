#include "schedule/movement/cache_inplace.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/arith/region.h"
#include "schedule/movement/sure_reads.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/proven_after.h"
#include "schedule/program/relaxed_region.h"
#include "schedule/program/storage_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "cache_inplace";

std::optional<Refusal> WhyOthersInTheWay(const BlockScope& scope, const ScopeChild& child, const Buffer& buffer) {
  auto in_the_way = [&](uint32_t other) {
    const std::vector<const ForNode*>& loops = scope.Find(other)->loops;
    return other != child.id() && !loops.empty() && !child.loops.empty() && loops[0] == child.loops[0];
  };
  auto refuse = [&](const char* reason, uint32_t other) {
    return Refusal{kName, reason, {child.id(), other, child.loops[0]->id}, {}, {buffer->name}};
  };
  for (uint32_t writer : scope.Writers(buffer)) {
    if (in_the_way(writer)) return refuse("{block1} also writes {text0} below {loop2}, a loop of {block0}", writer);
  }
  for (uint32_t reader : scope.Readers(buffer)) {
    if (in_the_way(reader)) return refuse("{block1} reads {text0} below {loop2}, a loop of {block0}", reader);
  }
  return std::nullopt;
}

}  // namespace

Outcome<CacheInplaceResult> CacheInplace(const Function& function, uint32_t block_id, int read_index,
                                         std::string_view scope_text) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const BlockNode& block = *cast<BlockRealizeNode>(path.back())->block;
  TW_ASSIGN_OR_RETURN(BufferRegion read, ReadRegion(kName, block, read_index));
  const Buffer& buffer = read.buffer;
  if (!Mentions(block.writes, buffer)) {
    return Refusal{kName, "{block0} reads {text0} and does not write it", {block_id}, {}, {buffer->name}};
  }
  TW_ASSIGN_OR_RETURN(Scope named, ReadScope(kName, block_id, scope_text));
  const Scope memory = named;
  const BlockScope scope = BlockScope::Around(function, block_id);
  const ScopeChild* child = scope.Find(block_id);
  if (child == nullptr) return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  if (scope.has_other_statements()) {
    return Refusal{kName, "the scope of {block0} holds statements other than loops and blocks", {block_id}};
  }
  // What a block without iterators uses is the same in all iterations of its loops: it is copied beside the block.
  const bool beside = block.iter_vars.empty();
  const std::vector<const ForNode*> relaxed = beside ? std::vector<const ForNode*>() : child->loops;
  if (auto refusal = WhyOthersInTheWay(scope, *child, buffer); refusal && !beside) return *refusal;

  arith::Analyzer analyzer;
  for (const IterVar& iter : scope.block()->iter_vars) analyzer.Bind(iter.var, iter.domain);
  std::vector<Range> box = RelaxedRegion(read, *child->realize, relaxed).region;
  for (const std::vector<BufferRegion>* regions : {&block.reads, &block.writes}) {
    for (const BufferRegion& region : *regions) {
      if (!region.buffer.same_as(buffer)) continue;
      box = arith::UnionRegions(box, RelaxedRegion(region, *child->realize, relaxed).region, &analyzer);
    }
  }
  if (!CopyStaysInside(function, scope, buffer, box, &analyzer)) {
    return Refusal{kName, "{block0} may reach outside of {text0}", {block_id}, {}, {buffer->name}};
  }
  if (const char* reason = WhyCannotUseCache(block, buffer, memory, box)) {
    return Refusal{kName, reason, {block_id}, {}, {buffer->name}};
  }
  const CacheStage stage = MakeCacheStage(buffer, box, memory);
  CacheInplaceResult result;
  uint32_t next_id = function->next_id;
  const Stmt into = MakeCopy(stage, box, /*into_cache=*/true, &analyzer, &next_id, &result.read_block);
  const Stmt back = MakeCopy(stage, box, /*into_cache=*/false, &analyzer, &next_id, &result.write_block);
  const Stmt nest = relaxed.empty() ? Stmt(child->realize) : Stmt(relaxed[0]);
  const Stmt changed = ReplaceStmt(nest, child->realize, UseCache(Stmt(child->realize), stage));
  const Stmt body = ReplaceStmt(scope.block()->body, nest.get(), Sequence({into, changed, back}));
  result.function = WithScopeBody(function, *scope.block(), body, {stage.cache}, next_id);
  if (FindUnwrittenRead(function, result.function, result.read_block)) {
    return Refusal{kName,
                   "{block0} writes a part of {text0} that nothing holds before: it cannot be copied",
                   {block_id},
                   {},
                   {buffer->name}};
  }
  return result;
}

}  // namespace tilewright
