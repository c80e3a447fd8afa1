#include "autoschedule/sketch/cpu/row_rule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/movement/cpu/bypass_caches.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/row_chain.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "row_rule";

// Partial results in the last steps of a reduction by lanes.
constexpr int64_t kLastLanes = 4;
// Least number of planes that are summed one by one first.
constexpr int64_t kLeastPlanes = 4;

// Possible numbers of partial results of a reduction over `extent` elements, the best first. A number that does not
// divide `extent` leaves lanes of the last step idle.
std::vector<int64_t> LaneWidths(int64_t extent, int lanes, const Target& target) {
  std::vector<int64_t> widths = {4 * lanes, 2 * lanes, lanes, lanes / 2, lanes / 4, 8 * lanes};
  std::erase_if(widths, [&](int64_t width) { return width < kLastLanes || width > extent; });
  // The cost: the vectors read, or the latency of few sums, plus combining them and a mask.
  auto cost = [&](int64_t width) {
    const int64_t steps = CeilDiv(extent, width), vectors = CeilDiv(width, lanes);
    const int64_t mask = extent % width != 0 ? CpuCostsOf(target).mask_vectors : 0;
    return std::max(steps * vectors, steps * target.FmaLatency()) + vectors + mask;
  };
  std::sort(widths.begin(), widths.end(),
            [&](int64_t a, int64_t b) { return std::pair(cost(a), a) < std::pair(cost(b), b); });
  return widths;
}

// The number of elements of a plane that are summed at once: the most whole vectors that form whole rows or equal parts
// of one, at most twice as many as hide the latency of sums. 0: none.
int64_t PlaneStep(int64_t rows, int64_t row, int lanes, const Target& target) {
  const int64_t most = int64_t{2} * target.FmaLatency() * lanes;
  int64_t step = std::min(rows * row, most) / lanes * lanes;
  const auto nests = [&](int64_t s) { return s % row == 0 ? rows % (s / row) == 0 : row % s == 0; };
  while (step > 0 && !nests(step)) step -= lanes;
  return step;
}

// One block of the chain while it is scheduled.
struct Stage {
  BlockRv block;
  int lanes = -1;  // the iterator that becomes vectors, or -1
  bool partial = false;
};

class RowSchedule {
 public:
  RowSchedule(Schedule& sch, const Target& target, Choices& choices) : sch_(sch), target_(target), choices_(choices) {}

  Outcome<Done> Apply(const std::vector<BlockRv>& chain) {
    name_ = RealizeOf(sch_, chain.back()).block->name;
    rows_ = RowCount(sch_, chain);
    if (chain.size() == 1) TW_RETURN_IF_ERROR(SumPlanes(chain[0]));
    for (const BlockRv& block : chain) TW_RETURN_IF_ERROR(AddStages(block));
    TW_RETURN_IF_ERROR(Place());
    for (const Stage& stage : stages_) TW_RETURN_IF_ERROR(WriteStage(stage));
    TW_ASSIGN_OR_RETURN(const Choices::Pick parallel,
                        choices_.Take(sch_, name_ + ".parallel", {0, 1}, IsWorthThreads(work_, target_) ? 1 : 0));
    if (plane_) TW_RETURN_IF_ERROR(WritePlane());
    // Regions of one row are proven with a loop for each of its iterators.
    if (parallel.value != 0) {
      TW_ASSIGN_OR_RETURN(row_, FuseFirst(sch_, row_loops_, LoopsToFuse(sch_, row_loops_)));
    }
    TW_RETURN_IF_ERROR(ChooseStreaming(sch_, row_, name_, target_, choices_));
    TW_RETURN_IF_ERROR(ChoosePrefetching(sch_, row_, name_, target_, choices_));
    if (parallel.value == 0 || ExtentOf(sch_, row_) == 1) return Done();
    return sch_.Parallel(row_);
  }

 private:
  // Sums over dimensions other than the lanes' come first, over a plane of contiguous rows: by whole vectors, for any
  // length of a row. A plane stays in L1, and threads share planes.
  Outcome<Done> SumPlanes(BlockRv block) {
    const Block kept = RealizeOf(sch_, block).block;
    const int iterator = LaneIterator(*kept);
    const int lanes = Lanes(*kept);
    const bool constant =
        std::ranges::all_of(kept->iter_vars, [](const IterVar& iter) { return ExtentOf(iter).has_value(); });
    if (rows_ < 2 || iterator < 0 || lanes < 2 || !constant) return Done();
    const std::vector<int> together = LaneIterators(*kept, iterator);
    int64_t row = 1, others = 1, all_rows = 1;
    for (size_t i = 0; i < kept->iter_vars.size(); ++i) {
      const bool lane = std::ranges::find(together, static_cast<int>(i)) != together.end();
      const bool reduce = kept->iter_vars[i].kind == IterKind::kReduce;
      (lane ? row : reduce ? others : all_rows) *= *ExtentOf(kept->iter_vars[i]);
    }
    const int64_t rows = *ExtentOf(SpatialIterators(*kept).back());
    const int64_t bytes = rows * row * kept->writes[0].buffer->dtype.bytes();
    plane_step_ = PlaneStep(rows, row, lanes, target_);
    if (plane_step_ == 0 || others < kLeastPlanes || all_rows / rows < target_.cores ||
        bytes > target_.Nearest().bytes / 4 || !RowsContinueLanes(*kept, together)) {
      return Done();
    }
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block, kName));
    std::vector<LoopRv> lane_loops;
    for (int i : together) lane_loops.push_back(loops[static_cast<size_t>(i)]);
    LoopRv lane_loop = lane_loops[0];
    if (lane_loops.size() > 1) {
      TW_RETURN_IF_ERROR(sch_.Reorder(lane_loops));
      TW_ASSIGN_OR_RETURN(lane_loop, sch_.Fuse(lane_loops));
    }
    TW_ASSIGN_OR_RETURN(plane_, sch_.Rfactor(lane_loop, -1));
    work_ += all_rows * row * others;
    return Done();
  }

  Outcome<Done> WritePlane() {
    row_loops_.pop_back();
    row_ = row_loops_.back();
    TW_RETURN_IF_ERROR(sch_.ComputeAt(*plane_, row_));
    TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsInside(sch_, *plane_, row_));
    // The lanes, the rows, and what is summed.
    std::swap(loops[0], loops[1]);
    TW_RETURN_IF_ERROR(sch_.Reorder(loops));
    TW_ASSIGN_OR_RETURN(const LoopRv elements, sch_.Fuse({loops[0], loops[1]}));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(elements, {Value(), Value(plane_step_)}));
    std::vector<LoopRv> order = {parts[0]};
    order.insert(order.end(), loops.begin() + 2, loops.end());
    order.push_back(parts[1]);
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(*plane_, order[1]));
    TW_RETURN_IF_ERROR(WriteOut(sch_, init, parts[0], true));
    return sch_.Vectorize(parts[1]);
  }

  int Lanes(const BlockNode& block) const { return target_.lanes(block.writes[0].buffer->dtype.bits()); }

  Outcome<Done> AddStages(BlockRv block) {
    const Block kept = RealizeOf(sch_, block).block;
    const BlockNode& node = *kept;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block, kName));
    int64_t work = 1;
    std::vector<LoopRv> rows, others;
    for (size_t i = 0; i < loops.size(); ++i) {
      work *= LikelyExtent(sch_, loops[i]);
      (node.iter_vars[i].kind == IterKind::kSpatial ? rows : others).push_back(loops[i]);
    }
    work_ += work;
    const int iterator = LaneIterator(node);
    const int lanes = Lanes(node);
    if (iterator < 0 || lanes < 2) {
      stages_.push_back({block, ElementwiseAxis(node)});
      return Done();
    }
    const std::vector<int> lane_iterators = LaneIterators(node, iterator);
    std::vector<LoopRv> order = rows, lane_loops;
    for (int i : lane_iterators) lane_loops.push_back(loops[static_cast<size_t>(i)]);
    for (const LoopRv& loop : others) {
      const bool lane = std::any_of(lane_loops.begin(), lane_loops.end(),
                                    [&](const LoopRv& other) { return other.index == loop.index; });
      if (!lane) order.push_back(loop);
    }
    order.insert(order.end(), lane_loops.begin(), lane_loops.end());
    if (order.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    LoopRv lane_loop = lane_loops[0];
    if (lane_loops.size() > 1) {
      TW_ASSIGN_OR_RETURN(lane_loop, sch_.Fuse(lane_loops));
    }
    const std::vector<int64_t> widths = LaneWidths(LikelyExtent(sch_, lane_loop), lanes, target_);
    if (widths.empty()) {
      stages_.push_back({block});
      return Done();
    }
    TW_ASSIGN_OR_RETURN(const Choices::Pick width, choices_.Take(sch_, node.name + ".lanes", widths, 0));
    std::vector<int64_t> steps = {width.value};
    if (width.value > lanes) steps.push_back(lanes);
    if (steps.back() > kLastLanes) steps.push_back(kLastLanes);
    LoopRv loop = lane_loop;
    for (int64_t step : steps) {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loop, {Value(), Value(step)}));
      TW_ASSIGN_OR_RETURN(const BlockRv partial, sch_.Rfactor(parts[1], -1));
      stages_.push_back({partial, 0, true});
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> left, sch_.GetLoops(block));
      loop = left.back();
    }
    stages_.push_back({block});
    return Done();
  }

  // The last iterator of an elementwise stage, when it is not a row's.
  int ElementwiseAxis(const BlockNode& node) const {
    if (node.init || node.iter_vars.size() <= rows_) return -1;
    const size_t last = node.iter_vars.size() - 1;
    for (const Access& access : AccessesOf(node)) {
      if (access.store && access.strides[last] != 1) return -1;
    }
    return static_cast<int>(last);
  }

  // All stages into the loops over rows of the first one.
  Outcome<Done> Place() {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(stages_[0].block));
    row_loops_.assign(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rows_));
    if (row_loops_.empty()) {
      // All that is reduced is one row.
      if (loops.empty()) return Refusal{kName, "{block0} has no loops", {RealizeOf(sch_, stages_[0].block).block->id}};
      TW_ASSIGN_OR_RETURN(const LoopRv only, sch_.AddUnitLoop(loops[0]));
      row_loops_ = {only};
    }
    TW_RETURN_IF_ERROR(ChooseRowsAtOnce());
    row_ = row_loops_.back();
    std::vector<BlockRv> others;
    for (size_t i = 1; i < stages_.size(); ++i) others.push_back(stages_[i].block);
    const size_t rows_to_merge = rows_at_once_ > 1 ? 0 : rows_;
    TW_ASSIGN_OR_RETURN(const LoopRv placed, PlaceInRows(sch_, others, row_, rows_to_merge));
    if (placed.index == row_.index) return Done();
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> merged, sch_.GetLoops(stages_[0].block));
    row_loops_.assign(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(rows_));
    row_ = row_loops_.back();
    return Done();
  }

  // Rows multiplied by the same vector; each would load it again.
  Outcome<Done> ChooseRowsAtOnce() {
    const Block block = RealizeOf(sch_, stages_[0].block).block;
    const std::optional<int64_t> extent = ExtentOf(sch_, row_loops_.back());
    const bool only_sums =
        std::ranges::all_of(stages_, [](const Stage& stage) { return stage.partial || stage.lanes < 0; });
    if (!stages_[0].partial || !only_sums || !extent || !SharesWhatItReads(*block, stages_[0].lanes)) {
      return Done();
    }
    const int64_t lanes = Lanes(*block), vectors = (*ExtentOf(block->iter_vars[0]) + lanes - 1) / lanes;
    const int registers = target_.cpu_part().vector_registers;
    std::vector<int64_t> counts = {1, 2, 4, 8};
    std::erase_if(counts, [&](int64_t count) {
      const bool fits = count == 1 || count * vectors < registers;
      return !fits || *extent % count != 0 || *extent / count < target_.cores;
    });
    if (counts.size() < 2) return Done();
    size_t preferred = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] * vectors <= registers / 2) preferred = i;
    }
    TW_ASSIGN_OR_RETURN(const Choices::Pick rows, choices_.Take(sch_, name_ + ".rows", counts, preferred));
    if (rows.value == 1) return Done();
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(row_loops_.back(), {Value(), rows}));
    row_loops_.back() = parts[0];
    rows_at_once_ = rows.value;
    return Done();
  }

  // The iterator of the innermost loop over rows.
  static int RowIterator(const BlockNode& node, int lanes) {
    int row = -1;
    for (size_t i = 0; i < node.iter_vars.size(); ++i) {
      const bool is_row = node.iter_vars[i].kind == IterKind::kSpatial && static_cast<int>(i) != lanes;
      if (is_row) row = static_cast<int>(i);
    }
    return row;
  }

  // Whether some operand has the same elements in all rows.
  static bool SharesWhatItReads(const BlockNode& node, int lanes) {
    const int row = RowIterator(node, lanes);
    return row >= 0 && std::ranges::any_of(AccessesOf(node), [&](const Access& access) {
             return !access.store && access.strides[static_cast<size_t>(row)] == 0 &&
                    access.strides[static_cast<size_t>(lanes)] != 0;
           });
  }

  // The loop inside of a row that the iterator is bound to, if it has one.
  Outcome<std::optional<LoopRv>> LoopOfIterator(BlockRv block, int iterator) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch_, block, row_));
    const Expr binding = RealizeOf(sch_, block).bindings[static_cast<size_t>(iterator)];
    std::optional<LoopRv> found;
    for (const LoopRv& loop : loops) {
      if (UsesVar(binding, LoopOf(sch_, loop).var)) found = loop;
    }
    return found;
  }

  Outcome<Done> WriteStage(const Stage& stage) {
    const Block node = RealizeOf(sch_, stage.block).block;
    // A buffer that outlives the function stays where it is.
    const bool small = stage.partial || stage.lanes < 0;
    if (small) (void)sch_.SetScope(stage.block, 0, "register").ok();
    if (stage.lanes < 0) {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch_, stage.block, row_));
      const size_t small_loops = rows_at_once_ > 1 ? 2 : 1;
      for (const LoopRv& loop : loops) {
        const int64_t extent = ExtentOf(sch_, loop).value_or(INT64_MAX);
        if (loops.size() > small_loops || extent > std::max(kLastLanes, rows_at_once_)) return Done();
      }
      for (const LoopRv& loop : loops) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
      return Done();
    }
    TW_ASSIGN_OR_RETURN(const std::optional<LoopRv> lanes, LoopOfIterator(stage.block, stage.lanes));
    if (!lanes) return Done();
    if (stage.partial) return WritePartial(stage.block, stage.lanes, *lanes);
    const std::vector<int64_t> widths = {1, 2, 4, 8};
    TW_ASSIGN_OR_RETURN(const Choices::Pick vectors, choices_.Take(sch_, node->name + ".row_vectors", widths, 2));
    const int64_t width = vectors.value * Lanes(*node);
    const std::optional<int64_t> extent = ExtentOf(sch_, *lanes);
    if (extent && *extent <= width) return sch_.Vectorize(*lanes);
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(*lanes, {Value(), Value(width)}));
    return sch_.Vectorize(parts[1]);
  }

  Outcome<Done> WritePartial(BlockRv block, int lane_iterator, LoopRv lanes) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch_, block, row_));
    std::optional<LoopRv> rows;
    if (rows_at_once_ > 1) {
      const int iterator = RowIterator(*RealizeOf(sch_, block).block, lane_iterator);
      TW_ASSIGN_OR_RETURN(rows, LoopOfIterator(block, iterator));
    }
    const auto same = [&](const LoopRv& a, const LoopRv& b) { return &LoopOf(sch_, a) == &LoopOf(sch_, b); };
    std::vector<LoopRv> summed;
    for (const LoopRv& loop : loops) {
      if (!same(loop, lanes) && !(rows && same(loop, *rows))) summed.push_back(loop);
    }
    std::vector<LoopRv> order = summed;
    if (rows) order.push_back(*rows);
    order.push_back(lanes);
    if (!summed.empty() && RealizeOf(sch_, block).block->init) {
      TW_RETURN_IF_ERROR(sch_.Reorder(order));
      TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block, order[0]));
      TW_RETURN_IF_ERROR(WriteOut(sch_, init, row_, true));
    }
    if (summed.size() == 1 && ExtentOf(sch_, summed[0]).value_or(kLastLanes * 2 + 1) <= kLastLanes * 2) {
      TW_RETURN_IF_ERROR(sch_.Unroll(summed[0]));
    }
    if (rows) TW_RETURN_IF_ERROR(sch_.Unroll(*rows));
    return sch_.Vectorize(lanes);
  }

  Schedule& sch_;
  const Target& target_;
  Choices& choices_;
  std::string name_;
  size_t rows_ = 0;
  int64_t work_ = 0;
  std::vector<Stage> stages_;     // in the order of the program
  std::optional<BlockRv> plane_;  // what is summed over other dimensions first
  int64_t plane_step_ = 0;        // elements of it that are summed at once
  std::vector<LoopRv> row_loops_;
  LoopRv row_;  // the innermost of them
  int64_t rows_at_once_ = 1;
};

}  // namespace

std::optional<BlockRv> SplitAmongCores(Schedule& sch, BlockRv block, const Target& target) {
  const Block node = RealizeOf(sch, block).block;
  const int lanes = LaneIterator(*node);
  int64_t results = 1, work = 1;
  int outermost = -1;
  for (size_t i = node->iter_vars.size(); i-- > 0;) {
    const int64_t extent = ExtentOf(node->iter_vars[i]).value_or(0);
    work *= extent;
    if (node->iter_vars[i].kind == IterKind::kSpatial) {
      results *= extent;
    } else if (extent > 0 && extent % target.cores == 0) {
      // Parts of the lanes' own dimension must have lanes left.
      if (static_cast<int>(i) != lanes || extent / target.cores % kLastLanes == 0) outermost = static_cast<int>(i);
    }
  }
  if (lanes < 0 || results >= target.cores || !IsWorthThreads(work / target.cores, target, true) || outermost < 0)
    return std::nullopt;
  Schedule attempt = sch;
  const Outcome<std::vector<LoopRv>> loops = LoopsByIterator(attempt, block, kName);
  if (!loops.ok()) return std::nullopt;
  const LoopRv loop = (*loops)[static_cast<size_t>(outermost)];
  const Outcome<std::vector<LoopRv>> parts = attempt.Split(loop, {Value(target.cores), Value()});
  if (!parts.ok()) return std::nullopt;
  const Outcome<BlockRv> partial = attempt.Rfactor((*parts)[0], 0);
  if (!partial.ok()) return std::nullopt;
  sch = std::move(attempt);
  return *partial;
}

bool IsShorterThanLanes(const BlockNode& block) {
  const int lanes = LaneIterator(block);
  if (lanes < 0) return false;
  int64_t length = 1;
  for (const int i : LaneIterators(block, lanes)) {
    length *= ExtentOf(block.iter_vars[static_cast<size_t>(i)]).value_or(kLastLanes);
  }
  return length < kLastLanes;
}

Outcome<Done> ScheduleRows(Schedule& sch, const std::vector<BlockRv>& chain, const Target& target, Choices& choices) {
  return RowSchedule(sch, target, choices).Apply(chain);
}

}  // namespace tilewright
