#include "autoschedule/program/row_chain.h"

#include <algorithm>

#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/lane_runs.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// Whether vectors along the iterator would have to be gathered from an operand that has an element for each instance:
// its neighbours lie far apart, or in dimensions before the last one.
bool IsGathered(const std::vector<Access>& accesses, const BlockNode& block, size_t iterator) {
  return std::ranges::any_of(accesses, [&](const Access& access) {
    const std::optional<int64_t>& stride = access.strides[iterator];
    bool for_each = !access.store && (stride ? *stride > kLongestStride
                                             : !UsesVar(access.indices.back(), block.iter_vars[iterator].var));
    for (size_t i = 0; for_each && i < block.iter_vars.size(); ++i) {
      for_each = access.strides[i] != 0 || ExtentOf(block.iter_vars[i]) == 1;
    }
    return for_each;
  });
}

// The reduce iterator along which the block reads neighbouring elements, when no spatial one does; else -1.
int NeighbouringIterator(const BlockNode& block) {
  if (!block.init) return -1;
  const std::vector<Access> accesses = AccessesOf(block);
  int lanes = -1;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (ExtentOf(iter) == 1) continue;
    const bool along =
        std::any_of(accesses.begin(), accesses.end(), [&](const Access& a) { return !a.store && a.strides[i] == 1; });
    const bool whole = std::all_of(accesses.begin(), accesses.end(), [&](const Access& a) {
      return a.strides[i] == 1 || (!a.store && a.strides[i] == 0);
    });
    if (iter.kind == IterKind::kSpatial && whole) return -1;
    if (iter.kind == IterKind::kReduce && along && !IsGathered(accesses, block, i)) lanes = static_cast<int>(i);
  }
  return lanes;
}

// Whether the region is of one row, that of the block's first iterators.
bool IsOwnRow(const BufferRegion& region, const BlockNode& block, size_t rows) {
  // Dimensions of one element lie between those of the rows.
  size_t row = 0;
  for (size_t d = 0; d < region.region.size() && row < rows; ++d) {
    if (region.region[d].min.same_as(block.iter_vars[row].var)) {
      ++row;
    } else if (!IsInt(region.buffer->shape[d], 1)) {
      return false;
    }
  }
  return row == rows;
}

// Whether the first iterators are the rows, and the block accesses the other blocks' buffers at its own row.
bool WorksOnRows(const BlockScope& scope, const BlockNode& block, const std::vector<Expr>& rows) {
  if (block.iter_vars.size() < rows.size()) return false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (iter.kind != IterKind::kSpatial || !StructuralEqual(iter.domain.extent, rows[i])) return false;
  }
  auto own_row = [&](const BufferRegion& region) {
    return scope.Writers(region.buffer).empty() || IsOwnRow(region, block, rows.size());
  };
  // What nobody else touches may be stored in any way: groups of channels, whose rows are several of the result's.
  auto is_result = [&](const BufferRegion& write) {
    return scope.Writers(write.buffer).size() == 1 && scope.Readers(write.buffer).empty();
  };
  return std::all_of(block.reads.begin(), block.reads.end(), own_row) &&
         std::ranges::all_of(block.writes,
                             [&](const BufferRegion& write) { return is_result(write) || own_row(write); });
}

// Whether both read the same rows of a buffer, as several statistics of one input do.
bool ReadTheSameRows(const BlockNode& a, const BlockNode& b, size_t rows) {
  return rows > 0 && std::ranges::any_of(a.reads, [&](const BufferRegion& read) {
           return read.region.size() > rows && IsOwnRow(read, a, rows) &&
                  std::ranges::any_of(b.reads, [&](const BufferRegion& other) {
                    return other.buffer.same_as(read.buffer) && IsOwnRow(other, b, rows);
                  });
         });
}

bool IsAlone(const BlockScope& scope, const ScopeChild& child) {
  return HasTrivialBindings(*child.realize, child.loops) &&
         std::all_of(child.loops.begin(), child.loops.end(),
                     [](const ForNode* loop) { return loop->kind == ForKind::kSerial; }) &&
         std::none_of(scope.children().begin(), scope.children().end(), [&](const ScopeChild& other) {
           return other.id() != child.id() && !other.loops.empty() && !child.loops.empty() &&
                  other.loops[0] == child.loops[0];
         });
}

}  // namespace

std::vector<IterVar> SpatialIterators(const BlockNode& block) {
  std::vector<IterVar> spatial;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind == IterKind::kSpatial) spatial.push_back(iter);
  }
  return spatial;
}

std::vector<int> LaneIterators(const BlockNode& block, int lanes) {
  const std::vector<Access> accesses = AccessesOf(block);
  std::vector<int> together = {lanes};
  for (bool found = true; found;) {
    found = false;
    const auto inner = static_cast<size_t>(together.front());
    const int64_t extent = ExtentOf(block.iter_vars[inner]).value_or(0);
    for (size_t i = 0; i < block.iter_vars.size() && !found; ++i) {
      // Iterators of one value continue each other.
      if (std::ranges::find(together, static_cast<int>(i)) != together.end()) continue;
      if (block.iter_vars[i].kind != IterKind::kReduce || !ExtentOf(block.iter_vars[i])) continue;
      found = std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
        return access.store || (access.strides[inner] && access.strides[i] == *access.strides[inner] * extent &&
                                (*access.strides[inner] != 0 || access.strides[i] == 0));
      });
      // An iterator that no load uses continues nothing.
      found = found && std::any_of(accesses.begin(), accesses.end(),
                                   [&](const Access& access) { return !access.store && access.strides[i] != 0; });
      if (found) together.insert(together.begin(), static_cast<int>(i));
    }
  }
  return together;
}

bool RowsContinueLanes(const BlockNode& block, const std::vector<int>& lane_iterators) {
  int row = -1;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::kSpatial) row = static_cast<int>(i);
  }
  const auto place = static_cast<size_t>(row), lanes = static_cast<size_t>(lane_iterators.back());
  int64_t extent = 1;
  for (int i : lane_iterators) {
    const std::optional<int64_t> length = ExtentOf(block.iter_vars[static_cast<size_t>(i)]);
    if (!length) return false;
    extent *= *length;
  }
  return row >= 0 && std::ranges::all_of(AccessesOf(block), [&](const Access& access) {
           return access.buffer.same_as(block.writes[0].buffer) ||
                  (access.strides[lanes] && access.strides[place] == *access.strides[lanes] * extent);
         });
}

int LaneIterator(const BlockNode& block) {
  const int lanes = NeighbouringIterator(block);
  if (lanes < 0) return lanes;
  const std::vector<int> together = LaneIterators(block, lanes);
  const auto reduced = std::ranges::count_if(
      block.iter_vars, [](const IterVar& iter) { return iter.kind == IterKind::kReduce && ExtentOf(iter) != 1; });
  if (reduced == std::ssize(together) && RowsContinueLanes(block, together)) return lanes;
  const std::vector<Access> accesses = AccessesOf(block);
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (iter.kind == IterKind::kSpatial && ExtentOf(iter) != 1 && IsStridedAxis(accesses, i)) return -1;
  }
  return lanes;
}

std::vector<uint32_t> RowChain(const BlockScope& scope, uint32_t block) {
  const ScopeChild* start = scope.Find(block);
  if (start == nullptr || LaneIterator(*start->realize->block) < 0 || !IsAlone(scope, *start)) return {};
  std::vector<Expr> rows;
  for (const IterVar& iter : SpatialIterators(*start->realize->block)) rows.push_back(iter.domain.extent);
  std::vector<uint32_t> chain = {block}, open = {block};
  while (!open.empty()) {
    const uint32_t id = open.back();
    open.pop_back();
    std::vector<uint32_t> next = scope.Producers(id);
    const std::vector<uint32_t> consumers = scope.Consumers(id);
    next.insert(next.end(), consumers.begin(), consumers.end());
    const BlockNode& reader = *scope.Find(id)->realize->block;
    for (const ScopeChild& other : scope.children()) {
      const BlockNode& node = *other.realize->block;
      const bool has_rows = node.iter_vars.size() >= rows.size() && reader.iter_vars.size() >= rows.size();
      if (has_rows && ReadTheSameRows(reader, node, rows.size())) next.push_back(other.id());
    }
    for (uint32_t other : next) {
      const ScopeChild* child = scope.Find(other);
      if (std::find(chain.begin(), chain.end(), other) != chain.end() || child == nullptr) continue;
      const BlockNode& node = *child->realize->block;
      const bool reduces = LaneIterator(node) >= 0;
      const bool same_rows = !reduces || SpatialIterators(node).size() == rows.size();
      if (!same_rows || (node.init && !reduces) || !IsAlone(scope, *child) || !WorksOnRows(scope, node, rows)) continue;
      chain.push_back(other);
      open.push_back(other);
    }
  }
  std::vector<uint32_t> in_order;
  for (const ScopeChild& child : scope.children()) {
    if (std::find(chain.begin(), chain.end(), child.id()) != chain.end()) in_order.push_back(child.id());
  }
  return in_order;
}

std::vector<BlockRv> RowChain(const Schedule& sch, const BlockScope& scope, uint32_t block,
                              std::span<const BlockRv> blocks) {
  std::vector<BlockRv> chain;
  for (const uint32_t member : RowChain(scope, block)) {
    for (const BlockRv& each : blocks) {
      if (sch.Get(each).As<BlockRef>()->id == member) chain.push_back(each);
    }
  }
  return chain;
}

size_t RowCount(const Schedule& sch, std::span<const BlockRv> chain) {
  for (const BlockRv& block : chain) {
    const BlockNode& node = *RealizeOf(sch, block).block;
    if (LaneIterator(node) >= 0) return SpatialIterators(node).size();
  }
  return 0;
}

namespace {

// Brings blocks into the loop as far as they have a producer or a consumer there, until none is left that has; gives
// those that have neither, and why the last of them stays.
std::vector<BlockRv> JoinRows(Schedule& sch, std::vector<BlockRv> blocks, LoopRv row, std::optional<Refusal>* why) {
  for (size_t before = 0; before != blocks.size();) {
    before = blocks.size();
    std::erase_if(blocks, [&](const BlockRv& block) { return sch.ReverseComputeAt(block, row).ok(); });
    // What has no producer in the loop has consumers there.
    for (size_t i = blocks.size(); i-- > 0;) {
      const Outcome<std::monostate> placed = sch.ComputeAt(blocks[i], row);
      if (placed.ok()) {
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        *why = placed.refusal();
      }
    }
  }
  return blocks;
}

// The loop over rows made one with that of the first block whose own can be.
Outcome<LoopRv> MergeRows(Schedule& sch, std::vector<BlockRv>& blocks, LoopRv row, size_t rows) {
  std::optional<Refusal> why;
  for (size_t i = 0; i < blocks.size(); ++i) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(blocks[i]));
    if (loops.size() < rows) continue;
    const LoopRv other = loops[rows - 1];
    for (const auto& order : {std::vector<LoopRv>{row, other}, {other, row}}) {
      const Outcome<LoopRv> merged = sch.Merge(order);
      if (merged.ok()) {
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
        return *merged;
      }
      why = merged.refusal();
    }
  }
  return why ? *why : Refusal{"row_chain", "the blocks have no loops over rows"};
}

}  // namespace

Outcome<LoopRv> PlaceInRows(Schedule& sch, std::span<const BlockRv> blocks, LoopRv row, size_t rows) {
  std::optional<Refusal> why;
  std::vector<BlockRv> left = JoinRows(sch, {blocks.begin(), blocks.end()}, row, &why);
  while (!left.empty()) {
    // Reductions that meet later: each chain has a loop of its own.
    if (rows == 0) return *why;
    TW_ASSIGN_OR_RETURN(row, MergeRows(sch, left, row, rows));
    left = JoinRows(sch, std::move(left), row, &why);
  }
  return row;
}

}  // namespace tilewright
