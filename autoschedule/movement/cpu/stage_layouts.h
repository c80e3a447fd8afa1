// How the operands and the output of a contraction's tiles lie in memory: each function stores what a stage writes at
// other places. `dims`: the iterators that are the dimensions of what the stage writes.
#pragma once

#include <initializer_list>
#include <variant>
#include <vector>

#include "autoschedule/tensorize/contraction_form.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

// The positions of iterators in their order: the dimensions of a stage that uses them.
std::vector<int> StageDims(std::initializer_list<const std::vector<int>*> groups);

// With the iterators in `last` as the last dimensions. With `width`, the last of them is divided: (last // width,
// others..., last % width). With a group, the first of them is divided too: (..., first // group, last % width,
// first % group).
Outcome<std::monostate> ReorderStage(Schedule& sch, BlockRv stage, const std::vector<int>& dims,
                                     const std::vector<int>& last, int width = 0, int group = 1);

// What `block` writes at its iterators, in vectors of so many rows and columns: (other dimensions..., row // rows,
// column // columns, row % rows * columns + column % columns).
Outcome<std::monostate> LayOutSums(Schedule& sch, BlockRv block, const Var& row, const Var& column, int rows,
                                   int columns);

// Packed rows in the order in which tiles of `rows` x `depth` read them: (batch and other rows..., row // rows, inner
// iterators..., depth // depth, row % rows, depth % depth).
Outcome<std::monostate> LayOutRows(Schedule& sch, BlockRv stage, const std::vector<int>& dims,
                                   const ContractionPlan& plan, int rows, int depth);

// Rows that `block` reads from a copy for windows along them: (other dimensions..., depth // depth, row, depth %
// depth). A fused row indexes two dimensions, which become one.
Outcome<std::monostate> LayOutWindows(Schedule& sch, BlockRv stage, const BlockNode& block, const ContractionPlan& plan,
                                      int depth);

// Columns in the order in which tiles of `depth` x `width` read them in loops over the iterators `inner`: (column //
// width, other iterators..., inner iterators..., depth % depth // group, column % width, depth % group), with depth //
// depth in its place among the inner ones.
Outcome<std::monostate> LayOutColumns(Schedule& sch, BlockRv stage, const std::vector<int>& dims,
                                      const ContractionPlan& plan, const std::vector<int>& inner, int width, int depth);

}  // namespace tilewright
