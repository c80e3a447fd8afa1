// Sums of products, statement by statement.
#pragma once

#include <optional>

#include "ir/stmt.h"

namespace tilewright {

struct Term {
  Expr a, b;  // factors, without casts and broadcasts around them
};

// What a store adds to the element that it overwrites: C[i] = C[i] + a * b, or C[i] = dot_add(C[i], a, b).
std::optional<Term> TermOf(const StoreNode& store);

// A value of which all lanes are one, or the value itself.
const Expr& WithoutBroadcast(const Expr& e);

}  // namespace tilewright
