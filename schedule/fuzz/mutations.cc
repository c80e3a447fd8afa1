#include "schedule/fuzz/mutations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/substitute.h"

namespace tilewright::fuzz {
namespace {

bool HoldsBlocks(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    found |= isa<BlockRealizeNode>(part);
    return !found;
  });
  return found;
}

// One of the statements that `make` has an answer for, replaced by it.
template <class Make>
std::optional<Function> ReplaceOne(const Function& function, Random& random, const Make& make) {
  std::vector<std::pair<const StmtNode*, Stmt>> choices;
  PreOrder(function->body, [&](const Stmt& s) {
    if (Stmt replacement = make(s)) choices.emplace_back(s.get(), std::move(replacement));
    return true;
  });
  if (choices.empty()) return std::nullopt;
  const auto& [old, replacement] = choices[random.Below(choices.size())];
  return function.WithBody(ReplaceStmt(function->body, old, replacement), function->next_id);
}

Stmt WithBlock(const BlockRealizeNode& realize, BlockNode::Fields block) {
  return Realize(realize.bindings, realize.predicate, Block(std::move(block)));
}

std::optional<Function> SwapBindings(const Function& function, Random& random) {
  return ReplaceOne(function, random, [&](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || realize->bindings.size() < 2) return {};
    std::vector<Expr> bindings = realize->bindings;
    const size_t first = random.Below(bindings.size() - 1);
    std::swap(bindings[first], bindings[first + 1]);
    return Realize(std::move(bindings), realize->predicate, realize->block);
  });
}

std::optional<Function> ShrinkRegion(const Function& function, Random& random) {
  return ReplaceOne(function, random, [&](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || realize->block->iter_vars.empty()) return {};
    BlockNode::Fields block = realize->block->fields();
    std::vector<BufferRegion>& regions = random.Below(2) == 0 || block.reads.empty() ? block.writes : block.reads;
    if (regions.empty() || regions[0].region.empty()) return {};
    BufferRegion& region = regions[random.Below(regions.size())];
    if (region.region.empty()) return {};
    Range& range = region.region[random.Below(region.region.size())];
    if (IsInt(range.extent, 1)) {
      range.min = range.min + 1;
    } else {
      range.extent = range.extent - 1;
    }
    return WithBlock(*realize, std::move(block));
  });
}

std::optional<Function> DropBarrier(const Function& function, Random& random) {
  return ReplaceOne(function, random, [](const Stmt& s) -> Stmt {
    const auto* sync = dyn_cast<SyncNode>(s);
    return sync != nullptr && sync->sync == SyncKind::kBarrier ? Evaluate(Expr(0)) : Stmt();
  });
}

std::optional<Function> CallReductionSpatial(const Function& function, Random& random) {
  return ReplaceOne(function, random, [](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return {};
    BlockNode::Fields block = realize->block->fields();
    for (IterVar& iter : block.iter_vars) {
      if (iter.kind != IterKind::kReduce || IsInt(iter.domain.extent, 1)) continue;
      iter.kind = IterKind::kSpatial;
      return WithBlock(*realize, std::move(block));
    }
    return {};
  });
}

std::optional<Function> ShrinkBuffer(const Function& function, Random& random) {
  std::vector<Buffer> buffers;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return true;
    for (const Buffer& buffer : realize->block->alloc_buffers) {
      if (buffer->ndim() != 0 && buffer->strides.empty() && !buffer->layout) buffers.push_back(buffer);
    }
    return true;
  });
  if (buffers.empty()) return std::nullopt;
  const Buffer& buffer = buffers[random.Below(buffers.size())];
  BufferNode::Fields fields = buffer->fields();
  Expr& extent = fields.shape[random.Below(fields.shape.size())];
  const auto value = AsInt(extent);
  if (!value || *value < 2) return std::nullopt;
  extent = Const(extent.dtype(), *value - 1);
  fields.data = Var(buffer->data.name(), buffer->data.dtype());
  return function.WithBody(Substitute(function->body, {}, {{buffer, Buffer(std::move(fields))}}), function->next_id);
}

bool IsSpatialIterator(const BlockNode& block, const Expr& index) {
  return std::any_of(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& iter) {
    return iter.var.get() == index.get() && iter.kind == IterKind::kSpatial && !IsInt(iter.domain.extent, 1);
  });
}
bool IsConstant(const Expr& value) { return isa<IntImmNode>(value) || isa<FloatImmNode>(value); }

// Neighbours write the same element, and the block says so.
std::optional<Function> OverlapWrites(const Function& function, Random& random) {
  return ReplaceOne(function, random, [&](const Stmt& s) -> Stmt {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr || HoldsBlocks(realize->block->body) || !realize->block->match_buffers.empty()) return {};
    bool changed = false;
    const size_t choice = random.Below(4);
    const auto overlap = [&](const Stmt& body) {
      return body ? RewriteStmt(body,
                                [&](const Stmt& part) -> Stmt {
                                  const auto* store = dyn_cast<StoreNode>(part);
                                  if (store == nullptr || store->indices.empty() || store->predicate) return part;
                                  std::vector<Expr> indices = store->indices;
                                  Expr& index = indices[choice % indices.size()];
                                  if (!IsSpatialIterator(*realize->block, index) || IsConstant(store->value))
                                    return part;
                                  index = FloorDiv(index, 2);
                                  changed = true;
                                  return Store(store->buffer, store->value, std::move(indices));
                                })
                  : body;
    };
    BlockNode::Fields block = realize->block->fields();
    block.body = overlap(block.body);
    if (!changed) return {};
    block.init = overlap(block.init);
    AccessRegions found = DetectRegions(*Block(block));
    block.reads = std::move(found.reads);
    block.writes = std::move(found.writes);
    return WithBlock(*realize, std::move(block));
  });
}

constexpr Mutation kMutations[] = {
    {"swapped bindings", SwapBindings},   {"shrunken region", ShrinkRegion},
    {"dropped barrier", DropBarrier},     {"reduction called spatial", CallReductionSpatial},
    {"too small a buffer", ShrinkBuffer}, {"overlapping writes", OverlapWrites},
};

}  // namespace

std::span<const Mutation> Mutations() { return kMutations; }

}  // namespace tilewright::fuzz
