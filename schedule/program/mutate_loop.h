// What mutators that follow the ranges of loops do with a loop.
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/functor.h"

namespace tilewright {

// The loop with its ends and its body mutated; inside of the body the analyzer knows the range of its variable.
// `self` where nothing changes.
Stmt MutateLoop(const ForNode* loop, const Stmt& self, Mutator* mutator, arith::Analyzer* analyzer);

}  // namespace tilewright
