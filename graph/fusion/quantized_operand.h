// Operands of sums of products whose elements are `(int32(byte) - zero) * scale`, or zero outside of an image.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/ir/value.h"
#include "ir/function.h"
#include "ir/ops/structured.h"

namespace tilewright::graph {

// The blocks of a regular program, each with its statement: loops around the block.
struct ProgramBlocks {
  struct Nest {
    Stmt stmt;
    const BlockNode* block = nullptr;
    const StoreNode* store = nullptr;  // the only one; null where there are several
  };
  std::vector<Nest> nests;
  // The nest that writes a buffer, where one alone does and stores at its iterators: each once, or 0. Else null.
  const Nest* DefinitionOf(const Buffer& buffer) const;
};
// Nothing where something else than a nest of loops around one block stands in the program.
std::optional<ProgramBlocks> BlocksOfProgram(const PrimFunc& program);

// A load whose indices are iterators, each at most once, or numbers.
struct PlainLoad {
  Buffer buffer;
  std::vector<int> dims;  // for each dimension, the position of its iterator; -1: the index is 0
};

struct QuantizedOperand {
  // Elements lie in an array of extents `shape`, which the sum reads at `at`; its iterators are `v`.
  std::vector<Expr> shape, at;
  std::vector<tilewright::Var> v;
  Expr byte;         // a load of 8 bits
  Expr zero, scale;  // int32, float32; null: there is none
  Expr inside;       // where the element is not 0; null: everywhere
  bool is_float = false;

  DataType type() const { return byte.dtype(); }
  // Whether `byte` is the element of a buffer at `v`.
  bool IsPlainBuffer() const;
};

// `factor`: in the iterators of the sum. Nothing where it is not quantized.
std::optional<QuantizedOperand> QuantizedOperandOf(const Expr& factor, const ProgramBlocks& blocks);

// `e` as a plain load in the iterators `v`, casts between integers aside.
std::optional<PlainLoad> PlainLoadOf(const Expr& e, const std::vector<tilewright::Var>& v);

}  // namespace tilewright::graph
