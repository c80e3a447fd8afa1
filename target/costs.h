// What operations cost beside what a target's units and levels say: the figures of the cost models
// (autoschedule/cost). They were measured on a Sapphire Rapids and a Zen 4, and for GPUs on an H200, and stand for all
// targets until somebody measures them elsewhere.
//
//   const double cycles = CpuCostsOf(target).divide_cycles;
#pragma once

#include <cstdint>

#include "target/target.h"

namespace tilewright {

// Cycles are those of one core.
struct CpuCosts {
  // Threads. The first two in parallel loops without work: a stage of its own, for which threads wait and then read
  // what others wrote; results of threads that are combined.
  double stage_forks = 5, combine_forks = 4;
  double element_cycles = 1.5;  // an operation on an element, what it waits for included
  // Bytes that a core copies in a cycle to where others may read: as they follow each other, and to or from more bytes
  // than its second cache level holds; and bytes of sums that it writes out.
  double copy_bytes_per_cycle = 8, scatter_bytes_per_cycle = 2, stage_bytes_per_cycle = 16;

  // Units of a core. The first three for one vector: a division or root, a function by its polynomial, a call.
  double divide_cycles = 8, function_cycles = 20, call_cycles = 40;
  double least_function_instructions = 8;  // of any function: part of lower bounds
  double narrow_loads_per_cycle = 2;       // of scalars, also where a core starts only one wide load
  double loop_entry_cycles = 20;  // of an innermost loop: a mispredicted branch, the first loads that are waited for
  double short_body_cycles = 40;  // of a loop's body, below which the loop's own instructions are seen
  int64_t mask_vectors = 2;       // that could be read in the time in which a mask for the last one is made
  // Accumulators at which the stores at a tile's end serialize; fewer serialize in proportion.
  double serialized_sums = 24;

  // Caches. A cache keeps all of a working set up to the first of these multiples of its capacity, and nothing from the
  // second on.
  double keeps_all_below = 0.75, keeps_none_from = 1.5;
  int64_t pages_in_turn = 512;   // that a core reads without asking for their addresses again
  double written_rows = 16;      // that are continued in turn; with more, each starts anew
  double long_run_lines = 4;     // of a written row, from which on its start does not matter
  double run_start_lines = 0.4;  // what the start of a run costs, where prefetchers have to find out that there is one
  double waiting_lines = 64;     // of stores that a core holds while they wait for the caches
  double scattered_line_cycles = 25;  // for a line that the second cache level gives back out of order
  // Instructions and traffic overlap: together they take the norm of this order of both times. This part of the time of
  // farther levels adds to that of nearer ones.
  double overlap_order = 4, farther_levels = 0.5;

  // The part of a contraction's time that is lost by other forms of it: results of joined phases are stored in smaller
  // pieces; borders of a convolution whose windows are one with its channels are more expensive.
  double joined_phases = 0.15, fused_depth = 0.1;
};

// Register tiles of contractions.
struct TileCosts {
  // Tiles of vectors.
  int64_t most_rows = 16;               // of a tile: each is a stream of its own to the prefetcher
  double chain_cycles = 4.5;            // between two FMAs of a chain, with what tiles of just as many chains lose
  double loads_per_fma = 0.8;           // that are sustained; the rest is lost to conflicts in the first level
  double l2_vector = 2, l3_vector = 6;  // what a vector from there counts, where one from L1 counts 1
  double overhead_cycles = 12.0 / 256;  // of a tile's begin and end, for each step of a K loop of typical length
  double odd_tile = 1.05;               // the time of a tile of another height, over that of one among its like
  double spilling_speed = 0.6;          // where the inner loop moves vectors to the stack and back

  // Flipping the sign bits of rows ahead takes as long as in so many tiles of so many columns, which read them.
  int64_t flip_tiles = 4, flip_columns = 12;

  // Tiles over windows. The first two: parts of the vector registers that sums may take; that sums, what was loaded and
  // what was picked of it may take together.
  double window_sums = 0.6, window_picked = 0.65;
  double window_cycles = 10;  // of a tile's begin and end
  double stream_part = 0.02;  // of a tile's time, that a stream adds which shares nothing with the others
  double cut_tile = 1.15;     // the time of tiles that are cut at edges

  // Winograd: the part of the peak that products reach; vector instructions for each vector of a transformed operand.
  double winograd_efficiency = 0.9, winograd_instructions = 5;

  // Tiles of AMX. Cycles of the instructions of one step: the larger of the least, and a base with as much for each
  // row of A.
  double amx_least_cycles = 9.4, amx_cycles = 5.6, amx_row_cycles = 0.65;
  double amx_typical_steps = 16;           // of a K loop of typical length
  double amx_overhead_cycles = 12.0 / 16;  // of a tile's begin and end, for each step of such a loop
  // What a line takes to load, where one from L2 takes 1: a row that begins inside of a line; columns from beyond L2,
  // loaded once for all rows, and again for each block of rows.
  double unaligned_row = 1.3, far_column = 2, far_panel = 4;
  // The part of the time of a block of rows that is lost where cores share it: rows in place, and a copy, parts of
  // which come from the other core's caches.
  double shared_rows = 0.25, shared_copies = 0.6;
  // The time where rows come from L2 again: for each window along the row, and for each window.
  double row_windows = 1.15, all_windows = 1.25;
};

struct GpuCosts {
  // Arithmetic instructions of a quotient or a root, and of another function.
  double divide_instructions = 8, function_instructions = 10;
  double unrolled_loads = 4;     // iterations of a loop whose loads compilers start before the first is used
  double thread_registers = 40;  // of a thread beside those that the program names
  double tile_registers = 48;    // of a lane beside sums and fragments
  int64_t tile_bytes = 2048;     // of shared memory beside a tile's stages: barriers, and what keeps buffers aligned
  int64_t busy_threads = 512;    // of a core that is busy
  int64_t hiding_stages = 3;     // of a pipeline of threads that copy, which hide the latency of memory
  int64_t divided_terms = 8192;  // of a reduction's part that is worth a kernel of its own
  int64_t least_terms = 4;       // of a reduction that each thread of a column adds up
  int64_t sums = 4;              // of a thread whose registers serve loads, too
  // Threads of a block that are preferred: each computes elements of its own; some share a row.
  int64_t block_threads = 256, row_block_threads = 128;
  int64_t row_loads = 16;  // of a thread from a row, above which more threads share the row
  // Columns of a tile of one warpgroup up to which registers are left for a second block.
  int64_t columns_of_two_blocks = 128;
  double overlap_order = 8;  // units overlap: together they take the norm of this order of their times
};

const CpuCosts& CpuCostsOf(const Target& target);
const TileCosts& TileCostsOf(const Target& target);
const GpuCosts& GpuCostsOf(const Target& target);

}  // namespace tilewright
