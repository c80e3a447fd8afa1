#include "schedule/program/make_block.h"

#include <utility>

#include "ir/regions.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {

Stmt MakeBlock(const NewBlock& block, uint32_t* next_id, uint32_t* block_id) {
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings;
  VarMap fresh;
  BlockNode::Fields fields;
  for (size_t d = 0; d < block.iters.size(); ++d) {
    const IterVar& iter = block.iters[d];
    const DataType dtype = iter.var.dtype();
    const Var loop("ax" + std::to_string(d), dtype), iterator("v" + std::to_string(d), dtype);
    loops.push_back({.id = (*next_id)++, .var = loop, .min = iter.domain.min, .extent = iter.domain.extent});
    fields.iter_vars.push_back({iterator, iter.domain, iter.kind});
    bindings.push_back(loop);
    fresh[iter.var] = iterator;
  }
  fields.id = *block_id = (*next_id)++;
  fields.name = block.name;
  const std::vector<Expr> indices = Substitute(block.indices, fresh);
  fields.body = Store(block.target, Substitute(block.value, fresh), indices);
  if (block.init) fields.init = Store(block.target, Substitute(block.init, fresh), indices);
  return Nest(std::move(loops), Realize(std::move(bindings), True(), TouchingBlock(std::move(fields))));
}

Block TouchingBlock(BlockNode::Fields fields) {
  AccessRegions regions = DetectRegions(*Block(fields));
  fields.reads = std::move(regions.reads);
  fields.writes = std::move(regions.writes);
  return Block(std::move(fields));
}

}  // namespace tilewright
