// What the rules ask of a schedule's blocks and loops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/function.h"
#include "schedule/recorder/schedule.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

// The function that a block or loop of the schedule lies in.
Function FunctionOf(const Schedule& sch, BlockRv block);
Function FunctionOf(const Schedule& sch, LoopRv loop);
const BlockRealizeNode& RealizeOf(const Schedule& sch, BlockRv block);
const ForNode& LoopOf(const Schedule& sch, LoopRv loop);
// Constant extents; nothing for others.
std::optional<int64_t> ExtentOf(const Schedule& sch, LoopRv loop);
std::optional<int64_t> ExtentOf(const IterVar& iter);
// Extents for estimates (autoschedule/program/sizes.h).
int64_t LikelyExtent(const Schedule& sch, LoopRv loop);
int64_t LeastExtent(const Schedule& sch, LoopRv loop);
// The block with likely extents as its iterators' domains, for estimates: whatever it reads, writes and computes is the
// block's own. The block itself where all of them are constant.
Ref<BlockRealizeNode> LikelyRealizeOf(const Schedule& sch, BlockRv block);

// The blocks directly in the root block, in the order of the program; none in a function without one.
std::vector<BlockRv> BlocksInRoot(Schedule& sch, const std::string& function);

// Whether no loop around the block runs in parallel, on vectors, or in any other way than one iteration after the
// other: nobody has scheduled it.
bool IsSerial(const ScopeChild& child);
bool IsScheduled(const Schedule& sch, BlockRv block);
// Whether the block is in the program still: nothing has inlined it.
bool Exists(const Schedule& sch, BlockRv block);

// The block that writes the buffer, of those that this one reads from; nothing when there is none.
std::optional<BlockRv> WriterOf(Schedule& sch, BlockRv block, const Buffer& buffer);

// The block's loops by the iterator that each is bound to. A refusal of `rule` when an iterator is not bound to a loop
// of its own.
Outcome<std::vector<LoopRv>> LoopsByIterator(Schedule& sch, BlockRv block, const char* rule);

// The loops of a block that are inside of `outer`, outermost first.
Outcome<std::vector<LoopRv>> LoopsInside(Schedule& sch, BlockRv block, LoopRv outer);

// Unrolls the loops of a block inside of `outer`; `vector`: vectorizes the innermost one instead.
Outcome<std::monostate> WriteOut(Schedule& sch, BlockRv block, LoopRv outer, bool vector);

// The part of the time in which cores that share so many equal iterations have something to do.
double BusyPart(int64_t iterations, int cores);
// Whether so many iterations keep cores busy enough that dividing further loops, whose iterations are nearer to each
// other in memory, would lose more; or nearly all of the time.
bool KeepsCoresBusy(int64_t iterations, int cores);
bool KeepsCoresBusyThroughout(int64_t iterations, int cores);

// Statements up to which loops are written out.
inline constexpr int64_t kMostWrittenOut = 400;

// How many of the outermost loops may be made one: those before a loop of a symbolic extent that is inside of another.
size_t LoopsToFuse(const Schedule& sch, const std::vector<LoopRv>& loops);

// How many of the outermost loops run in parallel: the fewest that give each core the same number of iterations, or
// nearly so.
size_t ParallelLoops(const std::vector<int64_t>& extents, int cores);

// The same of loops of a schedule, of those that may be made one, by their least extents; by likely ones where those
// leave cores idle.
size_t ParallelLoops(const Schedule& sch, const std::vector<LoopRv>& loops, int cores);

// The first `count` of nested loops as one; with 0 or 1 the first one.
Outcome<LoopRv> FuseFirst(Schedule& sch, const std::vector<LoopRv>& loops, size_t count);

// Makes the outermost of nested loops the one that cores share: of as many as ParallelLoops says. None without loops.
Outcome<std::monostate> RunInParallel(Schedule& sch, std::vector<LoopRv>& loops, int cores);

}  // namespace tilewright
