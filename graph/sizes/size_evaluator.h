// The numbers of a size program, computed in this process: what a library computes by compiled code.
//
//   SizeEvaluator evaluator(extents, sizes);          // SizedSequence::extents and sizes
//   const int slot = evaluator.Add(number);           // expressions that are asked for, once
//   evaluator.Evaluate({2, 128});                     // values of the extents; allocates nothing
//   ... evaluator.value(slot), evaluator.known(slot) ...
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/sized_sequence.h"
#include "graph/ir/type.h"
#include "ir/expr.h"

namespace tilewright::graph {

class SizeEvaluator {
 public:
  // Values of the extents and of everything that was added, in a caller's memory.
  struct Values {
    std::vector<int64_t> numbers;
    std::vector<char> known;  // false: an overflow, or a division by zero
  };

  // An error names what is not arithmetic of the extents.
  static absl::StatusOr<SizeEvaluator> Make(const std::vector<Symbol>& extents,
                                            const std::vector<SizedSequence::Size>& sizes);
  // The slot of an expression of extents and sizes.
  absl::StatusOr<int> Add(const Expr& e);

  // Memory for Evaluate, with all constants; made once nothing more is added.
  Values MakeValues() const { return {constants_, std::vector<char>(constants_.size(), 1)}; }
  // Computes every slot from the extents, in the order of Make.
  void Evaluate(absl::Span<const int64_t> extents, Values* values) const;

 private:
  struct Step {
    enum class Kind { kBinary, kNot, kSelect } kind = Kind::kBinary;
    BinaryOp op = BinaryOp::kAdd;
    int a = 0, b = 0, c = 0;  // slots of operands; kSelect: a condition, b where it holds, c where it does not
    int to = 0;
  };
  int NewSlot(int64_t constant = 0);
  int AddStep(Step step);

  std::vector<int64_t> constants_;  // by slot; 0 where it is computed
  std::vector<Step> steps_;
  std::unordered_map<const ExprNode*, int> slots_;
  std::unordered_map<int64_t, int> of_constant_;
  std::vector<Expr> kept_;  // so that no other node gets the address of one that has a slot
};

}  // namespace tilewright::graph
