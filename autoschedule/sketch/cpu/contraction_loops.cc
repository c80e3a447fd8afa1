#include "autoschedule/sketch/cpu/contraction_loops.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/movement/cpu/near_operands.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Positive divisors, ascending.
std::vector<int64_t> Divisors(int64_t n) {
  std::vector<int64_t> divisors, larger;
  for (int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    divisors.push_back(d);
    if (d != n / d) larger.push_back(n / d);
  }
  divisors.insert(divisors.end(), larger.rbegin(), larger.rend());
  return divisors;
}

std::vector<int64_t> Iota(int64_t first, int64_t last) {
  std::vector<int64_t> values(static_cast<size_t>(last - first + 1));
  std::iota(values.begin(), values.end(), first);
  return values;
}

class LoopOrder {
 public:
  LoopOrder(Schedule& sch, const std::string& name, const ContractionPlan& plan, const ContractionLoops& loops,
            const ContractionSizes& sizes, bool copies_rows, const Target& target, Choices& choices)
      : sch_(sch),
        name_(name),
        plan_(plan),
        loops_(loops),
        sizes_(sizes),
        copies_rows_(copies_rows),
        target_(target),
        choices_(choices) {
    nest_.rows = loops.rows;
  }

  Outcome<LoopNest> Apply();

 private:
  Outcome<Done> BlockRows(LoopRv tiles);
  Outcome<Done> PickBatchPlace();
  size_t PlaceInsideRows() const;
  Outcome<Done> PickColumnPlace();
  Outcome<Done> CopyRowsPerCore();
  // Each thread copies the windows of its part of the batch and multiplies only these columns.
  bool BatchSharesWindows() const {
    return plan_.copies_images() && !plan_.contraction.batch.empty() && sizes_.batches % target_.cores == 0;
  }

  Schedule& sch_;
  const std::string& name_;
  const ContractionPlan& plan_;
  const ContractionLoops& loops_;
  const ContractionSizes& sizes_;
  const bool copies_rows_;
  const Target& target_;
  Choices& choices_;
  LoopNest nest_;
};

Outcome<LoopNest> LoopOrder::Apply() {
  const LoopRv tiles = nest_.rows.back();
  nest_.rows.pop_back();
  TW_RETURN_IF_ERROR(BlockRows(tiles));
  TW_RETURN_IF_ERROR(PickBatchPlace());
  TW_RETURN_IF_ERROR(PickColumnPlace());
  const auto batch_place = nest_.rows.begin() + nest_.batch_place,
             column_place = nest_.rows.begin() + nest_.column_place;
  nest_.outer.assign(nest_.rows.begin(), batch_place);
  nest_.outer.insert(nest_.outer.end(), loops_.batch.begin(), loops_.batch.end());
  nest_.outer.insert(nest_.outer.end(), batch_place, column_place);
  nest_.outer.insert(nest_.outer.end(), loops_.columns.begin(), loops_.columns.end());
  nest_.outer.insert(nest_.outer.end(), column_place, nest_.rows.end());
  TW_RETURN_IF_ERROR(sch_.Reorder(nest_.outer));
  if (plan_.row_place == RowPlace::kPacked) {
    const size_t outside = plan_.contraction.batch.size() + static_cast<size_t>(nest_.column_place);
    int64_t iterations = 1;
    for (size_t i = 0; i < outside; ++i) iterations *= LikelyExtent(sch_, nest_.outer[i]);
    if (KeepsCoresBusy(iterations, target_.cores)) nest_.loops_of_rows = outside;
  } else if (BatchSharesWindows() && nest_.batch_place == 0) {
    nest_.loops_of_rows = plan_.contraction.batch.size();
  }
  TW_RETURN_IF_ERROR(CopyRowsPerCore());
  return nest_;
}

// Reading rows that another core copied takes longer than copying them again. Cores that share columns need all rows,
// others some rows next to their own.
Outcome<Done> LoopOrder::CopyRowsPerCore() {
  if (!copies_rows_ || nest_.loops_of_rows > 0) return Done();
  if (target_.cores == 1 || (!sizes_.constant_columns && nest_.column_place > 0)) return Done();
  const auto shared = std::ranges::find_if(nest_.outer, [&](LoopRv loop) { return LikelyExtent(sch_, loop) > 1; });
  if (shared == nest_.outer.end() || ExtentOf(sch_, *shared).value_or(1) % target_.cores != 0) return Done();
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices_.Take(sch_, name_ + ".rows_per_core", {0, 1}, 1, {{"shared"}, {"per_core"}}));
  if (pick.value == 0) return Done();
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(*shared, {target_.cores, Value()}));
  *shared = parts[1];
  nest_.outer.insert(nest_.outer.begin(), parts[0]);
  nest_.loops_of_rows = 1;
  return sch_.Reorder(nest_.outer);
}

Outcome<Done> LoopOrder::BlockRows(LoopRv tiles) {
  if (!ExtentOf(sch_, tiles)) {
    nest_.rows.push_back(tiles);
    return Done();
  }
  const std::vector<int64_t> blocks = Divisors(*ExtentOf(sch_, tiles));
  size_t preferred = blocks.size() - 1;
  if (plan_.rows_in_memory() && sizes_.column_bytes > NearBytes(target_)) {
    while (preferred > 0 && blocks[preferred] * sizes_.tile_bytes > NearBytes(target_)) --preferred;
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick block, choices_.Take(sch_, name_ + ".row_block", blocks, preferred));
  if (block.value == blocks.back()) {
    nest_.rows.push_back(tiles);
    return Done();
  }
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> blocked, sch_.Split(tiles, {Value(), block}));
  nest_.rows.insert(nest_.rows.end(), blocked.begin(), blocked.end());
  return Done();
}

Outcome<Done> LoopOrder::PickBatchPlace() {
  if (!sizes_.constant_columns || plan_.contraction.batch.empty()) return Done();
  // Phases of an output that is cut off, or whose windows differ, stay next to their rows, since some have less to do
  // than others.
  const bool all_columns_near = sizes_.column_bytes * sizes_.batches <= NearBytes(target_);
  const bool inside = plan_.batch_inside || (all_columns_near && (sizes_.cut_output || plan_.uneven));
  const bool rows_outside = plan_.rows_outside || (plan_.rows_in_memory() && all_columns_near && !BatchSharesWindows());
  const size_t preferred = rows_outside ? nest_.rows.size() : inside ? nest_.rows.size() - 1 : 0;
  TW_ASSIGN_OR_RETURN(
      const Choices::Pick place,
      choices_.Take(sch_, name_ + ".batch_after", Iota(0, static_cast<int64_t>(nest_.rows.size())), preferred));
  nest_.batch_place = place.value;
  return Done();
}

// Inside all loops over rows but the last, or inside that one too, so that those outside keep the cores busy.
size_t LoopOrder::PlaceInsideRows() const {
  int64_t iterations = 1;
  for (size_t place = 1; place <= nest_.rows.size(); ++place) {
    iterations *= LikelyExtent(sch_, nest_.rows[place - 1]);
    if (place + 1 >= nest_.rows.size() && KeepsCoresBusyThroughout(iterations, target_.cores)) return place;
  }
  return 0;
}

Outcome<Done> LoopOrder::PickColumnPlace() {
  size_t preferred = 0;
  if (plan_.rows_in_memory() && sizes_.constant_columns) {
    std::vector<int64_t> extents;
    for (auto loop = nest_.rows.begin() + nest_.batch_place; loop != nest_.rows.end(); ++loop) {
      extents.push_back(LikelyExtent(sch_, *loop));
    }
    preferred =
        PlaceOfColumns(extents, sizes_.tile_bytes, sizes_.column_bytes, sizes_.column_tiles, NearBytes(target_));
  } else if (sizes_.constant_columns && sizes_.batches == 1 && sizes_.column_bytes <= SharedColumnBytes(target_)) {
    preferred =
        std::max(PlaceInsideRows(), static_cast<size_t>(nest_.batch_place)) - static_cast<size_t>(nest_.batch_place);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick place,
                      choices_.Take(sch_, name_ + ".columns_after",
                                    Iota(nest_.batch_place, static_cast<int64_t>(nest_.rows.size())), preferred));
  nest_.column_place = place.value;
  return Done();
}

}  // namespace

Outcome<LoopNest> NestLoops(Schedule& sch, const std::string& name, const ContractionPlan& plan,
                            const ContractionLoops& loops, const ContractionSizes& sizes, bool copies_rows,
                            const Target& target, Choices& choices) {
  return LoopOrder(sch, name, plan, loops, sizes, copies_rows, target, choices).Apply();
}

SharedLoops ShareLoops(const Schedule& sch, const std::vector<LoopRv>& loops, double products, bool may_be_alone,
                       const Target& target) {
  const double cycles = products / (target.FmaPerCycle() * target.lanes(DataType::Float(32).bits()));
  std::vector<int64_t> likely;
  for (const LoopRv& loop : loops) likely.push_back(LikelyExtent(sch, loop));
  const auto count = [&](size_t alone) {
    const auto first = static_cast<std::ptrdiff_t>(alone);
    const size_t most = LoopsToFuse(sch, {loops.begin() + first, loops.end()});
    return ParallelLoops({likely.begin() + first, likely.begin() + first + static_cast<std::ptrdiff_t>(most)},
                         target.cores);
  };
  const bool may_be_one = loops.size() > 1 && !ExtentOf(sch, loops[0]) && LeastExtent(sch, loops[0]) == 1;
  const double of_each = may_be_one ? cycles / static_cast<double>(likely[0]) : 0;
  if (may_be_alone && of_each >= StageCycles(target)) {
    const size_t inside = count(1);
    int64_t iterations = 1;
    for (size_t i = 1; i <= inside; ++i) iterations *= likely[i];
    if (KeepsCoresBusyThroughout(iterations, target.cores)) return {1, inside};
  }
  return {0, of_each >= ForkJoinCycles(target) ? ParallelLoops(sch, loops, target.cores) : count(0)};
}

}  // namespace tilewright
