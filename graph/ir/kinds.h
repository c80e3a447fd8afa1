// The kinds of the nodes of the graph IR. They use the reference counting and the casts of ir/node.h (`isa`,
// `dyn_cast`, `Ref`), whose kind tag is one byte: programs use the numbers below kFirstGraphKind, graphs those from
// there on.
//
// Names that a graph and a program both need mean the graph's in namespace tilewright::graph: `Var`, `Function`,
// `Call`, `If`, `BlockBuilder`. The program's are `Symbol` (a variable of extents and other index expressions), `Expr`
// (an index expression) and `PrimFunc` (a function over buffers).
#pragma once

#include "ir/function.h"
#include "ir/node.h"

namespace tilewright::graph {

using Symbol = tilewright::Var;
using SymbolNode = tilewright::VarNode;
using PrimFunc = tilewright::Function;

inline constexpr uint8_t kFirstGraphKind = 128;

enum class GraphKind : uint8_t {
  kTensorType = kFirstGraphKind,
  kTupleType,
  kShapeType,
  kOp,
  // Values.
  kVar,
  kConstant,
  kTuple,
  kShape,
  kTupleGetItem,
  kCall,
  kCallTir,
  kCallFunction,
  kMatchCast,
  kIf,
  kSeq,
  // A whole function.
  kFunction,
};

constexpr Kind AsKind(GraphKind kind) { return static_cast<Kind>(kind); }
constexpr GraphKind AsGraphKind(Kind kind) { return static_cast<GraphKind>(kind); }

}  // namespace tilewright::graph
