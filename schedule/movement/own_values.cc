#include "schedule/movement/own_values.h"

#include <algorithm>

#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "schedule/program/relaxed_region.h"
#include "schedule/program/sum_form.h"
#include "verify/regions/region_cover.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

// Whether anything but blocks' bodies uses the buffer: loops' extents, bindings and predicates are not reads of a
// block.
bool UsesOutsideOfBlocks(const BlockNode& block, const Buffer& buffer) {
  bool uses = false;
  PreOrder(block.body, [&](const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) uses |= Reads(loop->extent, buffer) || Reads(loop->min, buffer);
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      uses |= Reads(realize->predicate, buffer);
      for (const Expr& binding : realize->bindings) uses |= Reads(binding, buffer);
    }
    return !uses;
  });
  return uses;
}

}  // namespace

bool ReadsOnlyItsOwnValues(const Function& function, const BlockRealizeNode& realize, const Buffer& buffer) {
  const BlockNode& block = *realize.block;
  const BlockScope scope = BlockScope::Of(&block);
  if (block.init || scope.children().empty() || scope.has_other_statements()) return false;
  const bool matches = std::ranges::any_of(
      block.match_buffers, [&](const MatchBuffer& match) { return match.source.buffer.same_as(buffer); });
  if (matches || UsesOutsideOfBlocks(block, buffer)) return false;
  // As if the block allocated the buffer: then nothing of it has a value in the beginning.
  BlockNode::Fields alone = block.fields();
  alone.alloc_buffers.push_back(buffer);
  const Function tile =
      function.WithBody(Realize(realize.bindings, True(), Block(std::move(alone))), function->next_id);
  return std::ranges::none_of(CheckRegionCover(tile), [&](const Diagnostic& diagnostic) {
    return !diagnostic.buffer || diagnostic.buffer.same_as(buffer);
  });
}

bool ReadsBeyondItsWrites(const BlockNode& block, const Buffer& buffer) {
  if (!block.init) return false;
  arith::Analyzer analyzer;
  for (const IterVar& iter : block.iter_vars) analyzer.Bind(iter.var, iter.domain);
  const AccessRegions touched = DetectRegions(block.body);
  return std::ranges::any_of(touched.reads, [&](const BufferRegion& read) {
    if (!read.buffer.same_as(buffer)) return false;
    return std::ranges::none_of(block.writes, [&](const BufferRegion& write) {
      return write.buffer.same_as(buffer) && ProvablyInside(&analyzer, read.region, write.region);
    });
  });
}

}  // namespace tilewright
