// Index maps: from a tuple of indices to another, as expressions of fresh variables.
//
//   lambda i, j: (i // 16, j, i % 16)
//
// They describe layouts (ir/buffer.h) and the arguments of layout transforms (schedule/).
#pragma once

#include <vector>

#include "ir/expr.h"

namespace tilewright {

class IndexMapNode : public Node {
 public:
  static constexpr Kind kKind = Kind::kIndexMap;
  IndexMapNode(std::vector<Var> inputs, std::vector<Expr> outputs)
      : Node(kKind), inputs(std::move(inputs)), outputs(std::move(outputs)) {}
  const std::vector<Var> inputs;
  const std::vector<Expr> outputs;
};

class IndexMap : public Ref<IndexMapNode> {
 public:
  IndexMap() = default;
  IndexMap(std::vector<Var> inputs, std::vector<Expr> outputs)
      : Ref<IndexMapNode>(new IndexMapNode(std::move(inputs), std::move(outputs))) {}

  // The outputs with the inputs replaced; `indices` has as many entries as `inputs`. Not simplified.
  std::vector<Expr> Apply(const std::vector<Expr>& indices) const;
};

}  // namespace tilewright
