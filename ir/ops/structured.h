// Structured operators: a loop nest as data.
//
// A StructuredOp says how each element of its outputs is computed: iterators with kinds and extents, which element of
// each operand an iteration reads (affine maps of the iterators), and a scalar body over these elements. A matrix
// multiplication is
//
//   iterators  i: m spatial, j: n spatial, k: depth reduce
//   inputs     A at (i, k), B at (k, j)
//   outputs    C at (i, j), beginning at 0
//   body       c + a * b
//
// It is a view of a block, not a second form of programs: `AddStructured` writes the block (into buffers that the
// caller names: destination passing), `MatchStructured` reads one back. What is asked of an operator in general (its
// tiles, which operand an iterator reads contiguously, whether two operators fuse) is asked of this view, never of a
// name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace tilewright::ops {

struct StructuredOp {
  struct Iterator {
    Var var;
    Expr extent;
    IterKind kind = IterKind::kSpatial;  // or kReduce
  };
  struct Operand {
    Buffer buffer;
    std::vector<Expr> at;  // affine in the iterators
    Var element;           // what the body calls it
  };
  // An output's element is the accumulated value in the body of a reduction.
  struct Output : Operand {
    Expr value;
    Expr init;  // where something is reduced; else null
  };

  std::string name;
  std::vector<Iterator> iterators;
  std::vector<Operand> inputs;
  std::vector<Output> outputs;

  bool is_reduction() const;
};

// Adds the loops and the block, which stores into the outputs' buffers.
void AddStructured(FunctionBuilder& f, const StructuredOp& op);

// The operator that a block computes; nothing where its iterators do not begin at 0, an access is not affine in them,
// an element is read by data, or its body is more than a store for each output.
std::optional<StructuredOp> MatchStructured(const BlockNode& block);

// Whether `e` is a sum of the variables times numbers or expressions without them.
bool IsAffine(const Expr& e, const std::vector<Var>& variables);

}  // namespace tilewright::ops
