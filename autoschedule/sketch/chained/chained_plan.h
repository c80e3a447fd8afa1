// Chains of a product, of what is computed of its rows, and of second products perhaps: attention, and whatever else
// reduces the rows of a product.
//
//   P[i, j] = sum over d of Q[i, d] * K[j, d]         rows: i, keys: j
//   M[i] = max over j of P[i, j]                      the reduction that says which iterators are rows
//   E[i, j] = exp(P[i, j] - M[i])
//   S[i] = sum over j of E[i, j]
//   O[i, c] = sum over j of E[i, j] / S[i] * V[j, c]  a second product; there may be several
//
// No operation is named: blocks are told apart by what their iterators run along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "autoschedule/sketch/sketch.h"

namespace tilewright {

// What an iterator or a dimension runs along: the n-th iterator of the product's output, or nothing of it.
enum : int { kAlongOther = -1 };

struct ChainedBlock {
  BlockRv block;
  std::vector<int> along;  // of each iterator
  bool reduces = false;

  // The iterator that runs along the n-th of the product; -1: none.
  int IteratorAlong(int n) const;
};

// Elements of a row iterator that read the same keys, and follow each other.
struct FewRows {
  int iterator = 0;
  int64_t elements = 1;
};

struct ChainedPlan {
  BlockRv product;
  DataType type = DataType::Float(32);  // in which it is summed up: float32 or float64
  Buffer row_operand;                   // the factor that rows index and keys do not
  std::vector<int> operand_iterators;   // of the product: those that index it
  std::vector<int> rows;                // iterators of the product that first reduces keeps, the tiled one last
  // Those that read the same keys, where no row has as many elements as a vector. There may be none.
  std::vector<FewRows> few_rows;
  int64_t tiles = 0;  // of few rows; where they do not keep all cores busy, keys are divided too
  bool parts_keys = false;
  int key = 0;                             // the one that it reduces
  std::vector<ChainedBlock> blocks;        // behind the product, in the order of the program
  std::vector<size_t> seconds;             // of them, the second products
  int64_t row_extent = 0, key_extent = 0;  // of the tiled row, 0 where there are few; likely ones if they are symbolic
  int score_buffers = 0;                   // internal ones along rows and keys, the product's included
  bool narrow = false;                     // factors or weights have fewer than 32 bits
  bool gives_scores = false;               // a result has one element for each row and key
  bool whole_rows = false;                 // a block chooses keys by what it loads, or gives places of keys
  bool masked = false;  // a comparison of rows and keys decides about scores: blocks of keys may be left out

  int row() const { return rows.back(); }
  bool has_few_rows() const { return row_extent == 0; }
  // Whether blocks of keys, one after the other, cannot give the results.
  bool needs_all_keys() const { return gives_scores || whole_rows; }
};

// What the sketch of a kind of machine schedules.
struct ChainLimits {
  int64_t least_rows = 1;     // of the tiled iterator
  bool few_rows = false;      // fewer rows too, by their own kind of tiles
  bool parts_keys = false;    // of which cores share the keys, where they do not have enough rows
  bool converts = false;      // factors of narrow types, which are converted a block at a time
  bool chooses_keys = false;  // blocks that choose keys by what they load: the score of a label
  bool gives_places = false;  // reductions that give places of keys
  // Bytes of what is computed of the scores of `least_rows`, and of the keys, of a chain that needs all keys at once.
  int64_t score_bytes = 0, key_bytes = 0;
};

// The chain that begins with the block; nothing where there is none, or where its extents, types or outputs are not
// those that the sketch schedules.
std::optional<ChainedPlan> PlanChain(Schedule& sch, BlockRv product, const SketchContext& context,
                                     const ChainLimits& limits);

}  // namespace tilewright
