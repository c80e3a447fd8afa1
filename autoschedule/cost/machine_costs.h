// Costs of hardware operations, each defined once, from the target. Cycles are those of one core.
#pragma once

#include <cstddef>
#include <cstdint>

#include "target/target.h"

namespace tilewright {

// To begin and to end a parallel loop without work.
double ForkJoinCycles(const Target& target);

// What a stage costs that has a parallel loop of its own, besides its work: threads wait for the last one, and read
// what others wrote.
double StageCycles(const Target& target);

// Whether one thread takes longer for so many operations on elements than others take to begin. `combines`: results of
// threads are combined afterwards.
bool IsWorthThreads(int64_t operations, const Target& target, bool combines = false);

// From how many operations on elements on that is so.
int64_t OperationsWorthThreads(const Target& target);

// Cycles in which cores copy so many bytes, together, in a stage of its own. `scattered`: to or from more bytes than
// their second cache levels hold, or more pages.
double CyclesToCopy(double bytes, bool scattered, const Target& target);
// Cycles in which cores write out so many bytes of sums, together.
double CyclesToStage(double bytes, const Target& target);
// Cycles in which cores move so many bytes from or to the cache level that holds `held` bytes, no nearer than
// `nearest`, together.
double CyclesToMove(double bytes, double held, size_t nearest, const Target& target);
// Cycles in which so many bytes are read from memory; 0 where the last cache level holds them.
double CyclesFromMemory(double bytes, const Target& target);

// Whether flipping the sign bits of a row operand ahead of all tiles takes less time than flipping them in registers
// in each tile that reads them. `columns` of the output; `windows`: how often each element is read for one column.
bool PaysToFlipAhead(int64_t columns, int64_t windows, const Target& target);

}  // namespace tilewright
