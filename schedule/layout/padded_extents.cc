#include "schedule/layout/padded_extents.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

// What is mentioned wherever something changes.
std::vector<const VarNode*> VarsOf(const PaddedExtents& extents, const BufferMap& buffers) {
  std::vector<const VarNode*> vars;
  for (const auto& [iterator, extent] : extents.iterators) vars.push_back(iterator.get());
  for (const auto& [buffer, padded] : buffers) vars.push_back(buffer->data.get());
  return vars;
}

}  // namespace

ExtentRewriter::ExtentRewriter(const PaddedExtents& extents, BufferMap buffers)
    : MutatorOfMentions(VarsOf(extents, buffers)), extents_(extents), buffers_(std::move(buffers)) {}

Buffer ExtentRewriter::MutateBuffer(const Buffer& buffer) {
  const auto it = buffers_.find(buffer);
  return it == buffers_.end() ? buffer : it->second;
}

Stmt ExtentRewriter::MutateFor(const ForNode* op, const Stmt& self) {
  const Stmt mutated = MutatorOfMentions::MutateFor(op, self);
  const auto it = extents_.loops.find(op->id);
  if (it == extents_.loops.end()) return mutated;
  ForNode::Fields fields = cast<ForNode>(mutated)->fields();
  fields.extent = CastTo(op->extent.dtype(), it->second);
  return For(std::move(fields));
}

Block ExtentRewriter::MutateBlock(const Block& block) {
  const Block mutated = MutatorOfMentions::MutateBlock(block);
  const auto is_padded = [&](const IterVar& iter) { return extents_.iterators.contains(iter.var); };
  if (std::ranges::none_of(block->iter_vars, is_padded)) return mutated;
  BlockNode::Fields fields = mutated->fields();
  for (IterVar& iter : fields.iter_vars) {
    if (is_padded(iter)) iter.domain.extent = CastTo(iter.domain.extent.dtype(), extents_.iterators.at(iter.var));
  }
  return Block(std::move(fields));
}

}  // namespace tilewright
