// How a reduction block combines a new value into its outputs: what may be taken apart and put together again in
// another order.
//
//   C[vi] = C[vi] + A[vi, vk]               one component: accumulator C[vi], value A[vi, vk], combined by +
//
//   v0 = T.Select(M[vi] >= A[vi, vk], I[vi], vk)               two components that are combined together: the values
//   v1 = T.Select(M[vi] >= A[vi, vk], M[vi], A[vi, vk])        are (vk, A[vi, vk]), and the greater A decides
//   I[vi] = v0
//   M[vi] = v1
//
// Known: +, *, min, max, min and max that pass NaN on, logical and bitwise and, or, xor, each by itself; any number of
// outputs combined independently; and outputs that follow the decision of another one that is a minimum or maximum
// (argmin, argmax), also with ties going to the smaller (greater) of two values. All are associative, and commutative
// but for rounding and for ties that nothing decides (`in_order`).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// An element of a buffer.
struct Element {
  Buffer buffer;
  std::vector<Expr> indices;
};

struct Reducer {
  struct Component {
    Element accumulator;
    Expr value;      // what is new in this instance; uses no accumulator
    Expr init;       // what the block's init stores
    Expr identity;   // combining with it changes nothing: 0 or 1, or the init where any value may be combined twice
    Var old, fresh;  // placeholders in `combined`
    Expr combined;   // of the `old` and `fresh` of all components
  };
  std::vector<Component> components;
  bool at_once = false;  // all are combined before one of them is stored
  // Which of two with equal keys counts depends on which came first: only neighbours may be combined, in their order.
  bool in_order = false;
};

// Why a block is not understood.
struct NoReducer {
  enum Reason { kBody, kInit, kInitElement, kReadsOthers, kUnknown };
  Reason reason;
  Expr value;          // kReadsOthers, kUnknown: what the body stores
  std::string buffer;  // kInitElement, kReadsOthers, kUnknown: where to
};
// In words: "the body of block C is not one store to each of its outputs".
std::string ToString(const NoReducer& problem, const std::string& block);

// The reducer of a block that verify/structure/block_scope.h calls a reduction.
std::variant<Reducer, NoReducer> DetectReducer(const BlockNode& block);

// Stores the combination of what `targets` hold with `values`, one of each component. Names of variables come from the
// targets' buffers.
Stmt CombineInto(const Reducer& reducer, const std::vector<Element>& targets, const std::vector<Expr>& values);
// Stores `values` into the targets.
Stmt StoreInto(const std::vector<Element>& targets, const std::vector<Expr>& values);

}  // namespace tilewright
