// Which instances of a block touch a given box of a buffer, as ranges of the block's iterators.
//
//   block writes B[v0 * 64 + v1]             touching B[i * 32:i * 32 + 32]:   v0 in [i // 2, i // 2]
//   with v0 in [0, 64), v1 in [0, 64)                                          v1 in [i % 2 * 32, i % 2 * 32 + 31]
//
// The inverse question to "what does an instance touch": compute_at asks it to run the producer's instances that a tile
// of the consumer needs, reverse_compute_at to run the consumer's instances that a tile of the producer feeds.
#pragma once

#include <optional>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"

namespace tilewright {

enum class BoxRelation {
  kTouches,  // the instance touches at least one element of the box
  kInside,   // all elements that the instance touches are in the box
};

struct BoxAccess {
  BufferRegion region;     // what an instance touches, in terms of the iterators
  std::vector<Range> box;  // in terms of variables outside of the block
};

// A closed interval; null ends: the iterator's whole domain.
struct Interval {
  Expr min, max;
  bool IsWhole() const { return !min; }
};

// One interval per iterator of the block. With kTouches the result holds every instance that touches one of the boxes
// (and maybe others); with kInside it is what follows from all of them, and the caller must check it.
std::vector<Interval> SolveInstances(const BlockNode& block, const std::vector<BoxAccess>& accesses,
                                     BoxRelation relation, arith::Analyzer* analyzer);

// The hull of two boxes.
std::vector<Range> Hull(const std::vector<Range>& a, const std::vector<Range>& b, arith::Analyzer* analyzer);

}  // namespace tilewright
