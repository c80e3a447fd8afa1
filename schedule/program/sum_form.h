// Blocks that add something to what they store to, and products of several factors.
//
//   C[vi] = C[vi] + A[vi, vk] * B[vk] * T.float32(2)      term: A * B * 2, its factors: A[vi, vk], B[vk] and 2
#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct SumForm {
  const StoreNode* store;
  Expr term;  // what is added; either side of the addition
};

// Nothing when the body is not a single store of that form. Whether there is an init does not matter.
std::optional<SumForm> AsSum(const BlockNode& block);

// What is multiplied, in the order of the text; `term` itself when it is not a product.
std::vector<Expr> FactorsOf(const Expr& term);

// The block's iterators that the store is indexed by, in that order; nothing unless these are all its spatial ones,
// each one index and from 0, and its others, of which there is one, are reduce ones. `fixed`: further indices may be
// constants.
std::optional<std::vector<IterVar>> StoredAt(const BlockNode& block, const StoreNode& store, bool fixed = false);

// Whether `e` loads from `buffer`.
bool Reads(const Expr& e, const Buffer& buffer);

}  // namespace tilewright
