#include "autoschedule/movement/cpu/stage_layouts.h"

#include <algorithm>
#include <string>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "ir/analysis.h"

namespace tilewright {
namespace {

using Done = std::monostate;

std::vector<Var> Inputs(size_t count) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < count; ++i) inputs.emplace_back("i" + std::to_string(i));
  return inputs;
}

// Stores what `stage` writes at other places.
Outcome<Done> StoreAs(Schedule& sch, BlockRv stage, std::vector<Var> inputs, std::vector<Expr> outputs) {
  const auto same = [](const Var& input, const Expr& output) { return output.same_as(input); };
  if (std::ranges::equal(inputs, outputs, same)) return Done();
  const Value::List written = {Value("write"), Value(0)};
  TW_RETURN_IF_ERROR(
      sch.Apply("transform_layout", {stage, Value(written), Value(IndexMap(std::move(inputs), std::move(outputs)))}));
  return Done();
}

}  // namespace

std::vector<int> StageDims(std::initializer_list<const std::vector<int>*> groups) {
  std::vector<int> dims;
  for (const std::vector<int>* group : groups) dims.insert(dims.end(), group->begin(), group->end());
  std::sort(dims.begin(), dims.end());
  return dims;
}

Outcome<Done> ReorderStage(Schedule& sch, BlockRv stage, const std::vector<int>& dims, const std::vector<int>& last,
                           int width, int group) {
  std::vector<Var> inputs = Inputs(dims.size());
  std::vector<Expr> outputs, tail(last.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto place = std::find(last.begin(), last.end(), dims[i]);
    if (place == last.end()) {
      outputs.push_back(inputs[i]);
    } else {
      tail[static_cast<size_t>(place - last.begin())] = inputs[i];
    }
  }
  if (width != 0) {
    outputs.insert(outputs.begin(), FloorDiv(tail.back(), width));
    tail.back() = FloorMod(tail.back(), width);
  }
  if (group > 1) {
    tail.push_back(FloorMod(tail.front(), group));
    tail.front() = FloorDiv(tail.front(), group);
  }
  outputs.insert(outputs.end(), tail.begin(), tail.end());
  return StoreAs(sch, stage, std::move(inputs), std::move(outputs));
}

Outcome<Done> LayOutSums(Schedule& sch, BlockRv block, const Var& row, const Var& column, int rows, int columns) {
  const std::vector<Range>& written = RealizeOf(sch, block).block->writes[0].region;
  std::vector<Var> inputs = Inputs(written.size());
  std::vector<Expr> outputs;
  Expr row_index, column_index;
  for (size_t d = 0; d < inputs.size(); ++d) {
    if (written[d].min.same_as(row)) {
      row_index = inputs[d];
    } else if (written[d].min.same_as(column)) {
      column_index = inputs[d];
    } else {
      outputs.push_back(inputs[d]);
    }
  }
  outputs.insert(outputs.end(), {FloorDiv(row_index, rows), FloorDiv(column_index, columns),
                                 FloorMod(row_index, rows) * columns + FloorMod(column_index, columns)});
  return StoreAs(sch, block, std::move(inputs), std::move(outputs));
}

Outcome<Done> LayOutRows(Schedule& sch, BlockRv stage, const std::vector<int>& dims, const ContractionPlan& plan,
                         int rows, int depth) {
  std::vector<Var> inputs = Inputs(dims.size());
  const auto input = [&](int iterator) {
    return inputs[static_cast<size_t>(std::ranges::find(dims, iterator) - dims.begin())];
  };
  std::vector<Expr> outputs;
  const std::vector<int>& inner = plan.contraction.inner;
  for (int dim : dims) {
    if (dim != plan.row && std::ranges::find(inner, dim) == inner.end()) outputs.push_back(input(dim));
  }
  outputs.push_back(FloorDiv(input(plan.row), rows));
  for (int dim : inner) {
    if (dim != plan.depth) outputs.push_back(input(dim));
  }
  outputs.insert(outputs.end(), {FloorDiv(input(plan.depth), depth), FloorMod(input(plan.row), rows),
                                 FloorMod(input(plan.depth), depth)});
  return StoreAs(sch, stage, std::move(inputs), std::move(outputs));
}

Outcome<Done> LayOutWindows(Schedule& sch, BlockRv stage, const BlockNode& block, const ContractionPlan& plan,
                            int depth) {
  const BufferRegion& read = ReadOf(block, RealizeOf(sch, stage).block->writes[0].buffer);
  const auto uses = [&](const Range& range, int iterator) {
    return UsesVar(range.min, block.iter_vars[static_cast<size_t>(iterator)].var);
  };
  std::vector<Var> inputs = Inputs(read.region.size());
  std::vector<Expr> outputs;
  Expr row, depth_index;
  for (size_t d = 0; d < inputs.size(); ++d) {
    if (uses(read.region[d], plan.row)) {
      row = row ? row * read.buffer->shape[d] + inputs[d] : Expr(inputs[d]);
    } else if (uses(read.region[d], plan.depth)) {
      depth_index = inputs[d];
    } else {
      outputs.push_back(inputs[d]);
    }
  }
  outputs.insert(outputs.end(), {FloorDiv(depth_index, depth), row, FloorMod(depth_index, depth)});
  return StoreAs(sch, stage, std::move(inputs), std::move(outputs));
}

Outcome<Done> LayOutColumns(Schedule& sch, BlockRv stage, const std::vector<int>& dims, const ContractionPlan& plan,
                            const std::vector<int>& inner, int width, int depth) {
  std::vector<Var> inputs = Inputs(dims.size());
  const auto input = [&](int iterator) {
    return inputs[static_cast<size_t>(std::ranges::find(dims, iterator) - dims.begin())];
  };
  const int group = plan.instruction.group;
  std::vector<Expr> outputs = {FloorDiv(input(plan.column), width)};
  for (int dim : dims) {
    if (dim != plan.column && std::ranges::find(inner, dim) == inner.end()) outputs.push_back(input(dim));
  }
  for (int dim : inner) outputs.push_back(dim == plan.depth ? FloorDiv(input(dim), depth) : input(dim));
  outputs.insert(outputs.end(), {FloorDiv(FloorMod(input(plan.depth), depth), group),
                                 FloorMod(input(plan.column), width), FloorMod(input(plan.depth), group)});
  return StoreAs(sch, stage, std::move(inputs), std::move(outputs));
}

}  // namespace tilewright
