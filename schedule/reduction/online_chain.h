// What rescale_reduction (schedule/reduction/rescale_reduction.h) has to know of a reduction and of the blocks that
// read its final value: what they compute in terms of that value, and that they may run in one loop with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "ir/reducer.h"
#include "schedule/algebra/value_factors.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct OnlineBlock {
  uint32_t loop = 0;  // that all blocks will share
  const BlockRealizeNode* realize = nullptr;
  std::vector<const ForNode*> loops;  // around the block, outermost first
  size_t outer = 0;                   // how many of them are shared: `loop` is the last one
  bool reduces = false;
  Reducer reducer;            // where it reduces
  Expr value;                 // of a term or an element, in terms of inputs and of m
  std::vector<Expr> indices;  // at which m is read; empty where it is not
  size_t factor = 0;          // the one of the chain's factors that its terms have

  uint32_t id() const { return realize->block->id; }
  const BlockNode& block() const { return *realize->block; }
  std::vector<const ForNode*> inner_loops() const {
    return {loops.begin() + static_cast<std::ptrdiff_t>(outer), loops.end()};
  }
  const Reducer::Component& component() const { return reducer.components[0]; }
  const Buffer& output() const { return block().writes[0].buffer; }
};

struct OnlineChain {
  uint32_t scope = 0;
  OnlineBlock first;
  std::vector<OnlineBlock> others;   // in the order of the program
  Var m;                             // the final value of `first`, in values of others
  std::vector<ValueFactor> factors;  // the different ones
};

// Refusals are in the name of `primitive`. The function must outlive the chain.
Outcome<OnlineChain> FindOnlineChain(const char* primitive, const Function& function, uint32_t loop,
                                     const std::vector<uint32_t>& loops);

}  // namespace tilewright
