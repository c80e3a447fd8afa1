// What both directions of inlining need of a block: that it is one store, and its regions after its body changed.
#pragma once

#include <optional>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// The block's body when it is one store (under no loop) of a value without effects, and there is no init.
const StoreNode* AsSingleStore(const BlockNode& block);
// The value has no effects and may be computed any number of times.
bool IsPure(const Expr& value);

// The iterators that make `indices` equal to `values`, wherever some do; nothing when the indices are not known to be
// different for different iterators.
std::optional<std::vector<Expr>> SolveIterators(const std::vector<IterVar>& iters, const std::vector<Expr>& indices,
                                                const std::vector<Expr>& values, arith::Analyzer* analyzer);

// Whether any block below the statement matches a part of the buffer or takes its address.
bool UsedOtherThanByLoads(const Stmt& s, const Buffer& buffer);

// `after`, which has the value of `inlined` in its body, with the regions that it reads and writes: detected anew where
// those of `before` were what detection gives; else `removed` is taken out of them, and what the body newly touches or
// touches by `inlined` too is added.
Block WithNewRegions(const Block& before, BlockNode::Fields after, const BlockNode& inlined, const Buffer& removed);

// `function` without the block at the path's end and without the buffer, which the block's scope allocates; the other
// blocks of the scope as in `scope_body`, where the block is still there.
Function RemoveInlined(const Function& function, const BlockNode& scope, const Stmt& scope_body, uint32_t block,
                       const Buffer& buffer);

}  // namespace tilewright
