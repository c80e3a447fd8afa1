#include "graph/fusion/block_mutator.h"

#include "ir/regions.h"

namespace tilewright::graph {
namespace {

Block WithRegions(BlockNode::Fields fields) {
  fields.reads.clear();
  fields.writes.clear();
  const Block bare(fields);
  AccessRegions regions = DetectRegions(*bare);
  fields.reads = std::move(regions.reads);
  fields.writes = std::move(regions.writes);
  return Block(std::move(fields));
}

}  // namespace

Block BlockMutator::MutateBlock(const Block& block) {
  if (block->iter_vars.empty() && !block->init && !isa<StoreNode>(block->body)) {
    return tilewright::Mutator::MutateBlock(block);
  }
  BlockNode::Fields fields = block->fields();
  fields.reads.clear();
  fields.writes.clear();
  const Block inner = tilewright::Mutator::MutateBlock(Block(fields));
  return WithRegions(inner->fields());
}

}  // namespace tilewright::graph
