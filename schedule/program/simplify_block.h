// Putting expressions in the place of a block's iterators, simplified.
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "ir/index_map.h"
#include "ir/substitute.h"

namespace tilewright {

// Tells the analyzer the domains of iterators, but of those with a single value: they stay in expressions, so that
// later steps find each iterator's dimension.
void BindIterators(const std::vector<IterVar>& iters, arith::Analyzer* analyzer);

// The index expressions and conditions in `s` simplified, with what `analyzer` knows and the ranges of the loops and
// block iterators inside of `s`. Values of other types stay as they are.
Stmt SimplifyIndices(const Stmt& s, arith::Analyzer* analyzer);
Expr SimplifyIndices(const Expr& e, arith::Analyzer* analyzer);
BufferRegion SimplifyIndices(const BufferRegion& region, arith::Analyzer* analyzer);

// The map for inputs of the types of the iterators, one each: maps are written for 32 bits.
IndexMap WithTypesOf(const IndexMap& map, const std::vector<IterVar>& iters);

// Replaces variables (a block's former iterators) in the block's regions, init and body, simplified; `fields` has the
// new iterators already.
void ReplaceInBlock(BlockNode::Fields* fields, const VarMap& values, arith::Analyzer* analyzer);

}  // namespace tilewright
