// Broadcasting as NumPy does it, and what computes an element of the output from one element of each input.
//
//   Buffer sum = Map(f, "add", {a, b}, [](const std::vector<Expr>& x) { return x[0] + x[1]; });
//
// Extents are aligned at the last dimension; an extent of one is repeated. Two different symbolic extents may
// broadcast: the program decides when it runs, by `Select(extent == 1, ...)`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace tilewright::ops {

// Indices of an element, one per dimension.
using Indices = std::vector<Expr>;
// An element of the output from elements of the inputs.
using ScalarBody = std::function<Expr(const std::vector<Expr>&)>;

// Whether two extents are the same for all values of their variables, as far as simplification tells.
bool SameExtent(const Expr& a, const Expr& b);
// The extent of the broadcast dimension; null where two constants differ and neither is one.
Expr BroadcastExtent(const Expr& a, const Expr& b);
// The shape that all of `shapes` broadcast to; nothing where they do not.
std::optional<std::vector<Expr>> BroadcastShape(const std::vector<std::vector<Expr>>& shapes);
// What must hold of symbolic extents so that `shapes` broadcast: of two that meet, both are equal or one of them is 1.
std::vector<Expr> BroadcastConditions(const std::vector<std::vector<Expr>>& shapes);
// The indices at which an input of extents `shape` is read for the element `at` of the output of extents `output`.
Indices BroadcastAt(const std::vector<Expr>& shape, const std::vector<Expr>& output, const Indices& at);
// The element of `buffer` for the element `at` of an output of extents `output`.
Expr LoadBroadcast(const Buffer& buffer, const std::vector<Expr>& output, const Indices& at);

// output[i...] = body(inputs[i...]...). The shapes broadcast (CHECK).
Buffer Map(FunctionBuilder& f, const std::string& name, const std::vector<Buffer>& inputs, const ScalarBody& body);
// The same where the output also has to have (broadcast to) the extents `shape`.
Buffer MapTo(FunctionBuilder& f, const std::string& name, std::vector<Expr> shape, const std::vector<Buffer>& inputs,
             const ScalarBody& body);

}  // namespace tilewright::ops
