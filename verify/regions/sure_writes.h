// What a block surely writes of what it declares to write.
//
//   with T.block("B"):
//       vi = T.axis.spatial(4, i)
//       T.writes(B[vi, 0:8])
//       for j in range(8):
//           with T.block("row"):
//               vj = T.axis.spatial(8, j)
//               T.where(vi < j)               some of B[vi, 0:8] stays as it was: B does not write its region surely
//               B[vi, vj] = A[vi, vj]
//
// A signature says what a block may write at most. Whoever reads behind it wants all of that to be there, so that
// verify/regions/region_cover.h counts a writer only when each of its runs writes its whole region: by stores and
// nested blocks over all iterations of its loops, under conditions that hold or leave no gaps. Calls of functions
// outside are taken at the declared regions.
//
//   for k in range(n):
//       with T.block("S"): S[vi] = ...            nothing is written where n is 0
//
// Sizes and scalar parameters may be 0, but for those that whoever asks takes to be positive.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/function.h"
#include "verify/structure/given_values.h"

namespace tilewright {

class SureWrites {
 public:
  // `positive`: sizes and scalar parameters of the function that may be taken to be at least 1; nothing: all of them.
  explicit SureWrites(const Function& function, std::optional<std::vector<Var>> positive = std::nullopt)
      : function_(function), given_(function), positive_(std::move(positive)) {}

  // Sizes and scalar parameters that an answer so far took to be at least 1, each once.
  const std::vector<Var>& taken_as_positive() const { return taken_as_positive_; }

  // Whether every run of the block writes each element of `declared`, which is one of its writes. Remembers the answer.
  bool Of(const BlockNode& block, const BufferRegion& declared);

  // Whether each index of the loop has a buffer of its own (verify/structure/own_memory.h); threads also have global
  // memory that they allocate.
  bool IsOwn(const Buffer& buffer, const ForNode& loop) const;
  // The loops from position `first` on, as a domain over which what they enclose touches `buffer`. Memory of a thread
  // or of a block of them is written by it alone: its loops stay as they are.
  arith::Domain DomainOf(const std::vector<const ForNode*>& loops, size_t first, const Buffer& buffer) const;
  // Whether what the loops enclose runs at least once in each of the iterations that `region` depends on: loops from
  // `first` on that it does not depend on must not be empty. Parameters of the function are positive.
  bool Runs(const std::vector<const ForNode*>& loops, size_t first, const std::vector<Range>& region,
            arith::Analyzer* analyzer) const;
  // Whether `box`, which the loops from `first` on fill where parameters of the function are positive, has no elements
  // where a parameter that may be 0 leaves one of the loops without an iteration.
  bool IsEmptyWithTheLoops(const std::vector<Range>& box, const std::vector<const ForNode*>& loops, size_t first,
                           arith::Analyzer* analyzer) const;

 private:
  using Buffers = std::unordered_set<const BufferNode*>;

  const Function function_;
  const GivenValues given_;
  const std::optional<std::vector<Var>> positive_;
  mutable std::vector<Var> taken_as_positive_;           // in the order in which it was
  mutable std::optional<Buffers> allocated_by_threads_;  // in global memory; when somebody asked
  struct Answer {
    Block block;  // keeps the address of its region
    bool sure = false;
  };
  std::unordered_map<const BufferRegion*, Answer> known_;
};

// Assumes that places in the buffer which depend on no variable of `relaxed` lie inside of it: outside there is no
// element that is written or read. Only what is known of the variables around changes, so call it in a scope.
void AssumeInside(const std::vector<Range>& region, const Buffer& buffer, const arith::Domain& relaxed,
                  arith::Analyzer* analyzer);

// "n", "m and n": the names, in this order.
std::string NamesOf(const std::vector<Var>& vars);

// The union of two boxes is their hull: they agree in all dimensions but one, in which they meet or overlap.
bool Touching(const std::vector<Range>& a, const std::vector<Range>& b, arith::Analyzer* analyzer);

}  // namespace tilewright
