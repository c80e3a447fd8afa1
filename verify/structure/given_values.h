// What callers give a function beside the elements of its buffers: scalar parameters, and sizes, which are the
// variables in shapes, strides and offsets of buffer parameters. They do not change while the function runs.
//
//   def main(a: T.handle, k: T.int32):
//       n = T.int64()
//       A = T.match_buffer(a, (n, 8))            n is a size, k a scalar; n >= 0, since no buffer has a negative extent
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"

namespace tilewright {

class GivenValues {
 public:
  explicit GivenValues(const Function& function);

  bool IsScalar(const VarNode* var) const { return scalars_.contains(var); }
  bool IsGiven(const VarNode* var) const { return scalars_.contains(var) || sizes_.contains(var); }

  // Tells the analyzer that no extent is negative.
  void AssumeSizes(arith::Analyzer* analyzer) const;
  // Tells the analyzer that no extent is zero: every buffer has elements.
  void AssumeElements(arith::Analyzer* analyzer) const;

 private:
  std::unordered_set<const VarNode*> scalars_, sizes_;
  std::vector<Expr> extents_;  // those that are not constants
};

}  // namespace tilewright
