// What a contraction reads, brought into the layout of its tile: by which block, and where it runs.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/function.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// The region of an operand that the block reads.
const BufferRegion& ReadOf(const BlockNode& block, const Buffer& operand);
// Lets the block read a copy of an operand, indexed by its iterators; the dimensions `kept` stay.
Outcome<BlockRv> ReindexRead(Schedule& sch, BlockRv block, const Buffer& buffer, Value::List kept = {});

// Makes the dimension `inner` of what `copy` writes, at its iterators, and the one before it a single one. Whether it
// did.
bool FuseCopiedDimensions(Schedule& sch, BlockRv copy, size_t inner);

// Computes the elementwise producers of what `stage` copies (padding, transposing, casting) in the stage itself, as far
// as compute_inline accepts it; `dear`: those that take many cycles or elements, convert narrow numbers to wider
// types, or were scheduled, too.
void InlineProducers(Schedule& sch, BlockRv stage, bool dear);

// Whether the block writes at its spatial iterators, in their order.
bool WritesAtIterators(const BlockNode& block);

// Lets the block write into a scope, such as "register", at its spatial iterators in their order; the block that is
// returned copies the result to where it belongs.
Outcome<BlockRv> StageOutput(Schedule& sch, BlockRv block, const std::string& scope);

// Splits the last iterator of a block that copies where neighbours along it are stored in pieces: columns that are
// phases of a transposed convolution, too. Nothing where they follow each other already, or never do.
void SplitIntoPieces(Schedule& sch, BlockRv copy);

// A stage that packs an operand which is not constant: in `panel_loop`, the innermost loop that the operand depends
// on, so that a panel is packed right before it is used and stays in the caches. By tiles that are transposed in
// registers (intrin/transpose_tile.h) where the operand lies the other way round, by rows interleaved there where
// groups lie across it (codegen/lower/cpu/load_runs.h), else by vectors where it is read along them.
Outcome<std::monostate> PackInLoop(Schedule& sch, BlockRv stage, LoopRv panel_loop, const Target& target);

// Lets the nested loops of a stage that is in its place bring a panel into its layout as PackInLoop does.
Outcome<std::monostate> PackPanel(Schedule& sch, BlockRv stage, const std::vector<LoopRv>& loops, const Target& target);

// Whether a stage can run ahead of time.
bool ReadsConstants(const Schedule& sch, BlockRv stage);

// Whether a stage only copies, and neighbours along the dimension that it writes are next to each other where it copies
// from.
bool CopiesAlong(const BlockNode& stage, size_t dim);

// The innermost loop of a block, in parts of `group`.
Outcome<std::monostate> SplitInnermost(Schedule& sch, BlockRv block, int group);

// Packs rows, vectors of `width`, in a loop, or (null) ahead of all others in one that threads share.
Outcome<std::monostate> PackRows(Schedule& sch, BlockRv stage, const LoopRv* loop, int width, const Target& target);

// Elements that packing reads: fewer are read in milliseconds, one after the other.
inline constexpr int64_t kManyReads = 1 << 22;

// A stage that packs a constant operand, ahead of time (schedule/layout/hoist_prepack.h); where it reads many elements,
// panels in parallel, each as in PackInLoop.
Outcome<std::monostate> PackAhead(Schedule& sch, BlockRv stage, const Target& target, int64_t many_reads = kManyReads);

}  // namespace tilewright
