// The order of the loops around a contraction's tile.
//
//   for batch, columns, rows:          rows may be blocked: [row block, rows of a block];
//       for inner:              ->     the loops over the batch go between any of those over rows, those over columns
//           tile                       between these or inside
//
// Choices: NAME.row_block, NAME.batch_after and NAME.columns_after (so many of the loops over rows),
// NAME.rows_per_core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "autoschedule/program/choices.h"
#include "autoschedule/tensorize/contraction_form.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// The loops by what they run over, nested in this order. The last one over rows is that over tiles.
struct ContractionLoops {
  std::vector<LoopRv> batch, columns, rows, inner, tile;
};

// The sizes that decide the order.
struct ContractionSizes {
  // Bytes of rows that a tile reads, and bytes of the columns of one element of the batch.
  int64_t tile_bytes = 0, column_bytes = 0;
  int64_t column_tiles = 1, batches = 1;  // tiles of the columns; elements of the batch
  double products = 1;                    // that are added up, in all
  bool constant_columns = false;          // packed ahead of time
  bool cut_output = false;                // a consumer takes a part of the output only
};

struct LoopNest {
  std::vector<LoopRv> outer;                  // those over the batch, columns and rows in their order
  std::vector<LoopRv> rows;                   // those over rows alone, blocks included
  int64_t batch_place = 0, column_place = 0;  // how many of the loops over rows are outside of these
  // The number of outermost loops around the packing of rows; threads share only these. They are the loops outside of
  // those over columns if they keep all cores busy, the loops over the batch for copies of windows, or one loop over
  // cores if each core copies its own rows. 0: rows are packed ahead of all loops, or not at all.
  size_t loops_of_rows = 0;
};

// `copies_rows`: a stage copies the rows that tiles read from memory.
Outcome<LoopNest> NestLoops(Schedule& sch, const std::string& name, const ContractionPlan& plan,
                            const ContractionLoops& loops, const ContractionSizes& sizes, bool copies_rows,
                            const Target& target, Choices& choices);

// The loops that threads share.
struct SharedLoops {
  size_t alone = 0;  // how many of the first ones run one after the other, those that are shared in each iteration
  size_t count = 1;  // how many after them, made one, keep all cores busy
};
// A symbolic batch may be 1. Its elements are computed one after the other if each pays for a fork of threads,
// `may_be_alone` holds and each keeps all cores busy. Otherwise the batch is fused with as many other loops as keep the
// cores busy for a batch of one. `products`: of all iterations.
SharedLoops ShareLoops(const Schedule& sch, const std::vector<LoopRv>& loops, double products, bool may_be_alone,
                       const Target& target);

}  // namespace tilewright
