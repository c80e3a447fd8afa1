// What a name of an ONNX graph stands for while the graph is imported.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/ir/value.h"

namespace tilewright::graph {

// A tensor of the graph with what is known of it, a sequence or an optional of such (which exist during import only),
// or nothing.
struct Item {
  enum class Kind { kAbsent, kTensor, kSequence, kOptional };
  Kind kind = Kind::kAbsent;
  Value value;  // of a tensor: an atom
  DataType dtype;
  std::vector<Expr> shape;
  // The elements of a small integer tensor, as far as known: one expression (int64) each.
  std::optional<std::vector<Expr>> values;
  // How many bits of its bytes a tensor of integers uses, where ONNX's type has less than eight; else 0.
  int bits = 0;
  // Elements of a sequence; the element of an optional, if it has one.
  std::vector<Item> elements;

  bool present() const { return kind != Kind::kAbsent; }
  bool is_tensor() const { return kind == Kind::kTensor; }
  size_t rank() const { return shape.size(); }
  // The constant that the tensor is, or null.
  const ConstantNode* constant() const { return value ? dyn_cast<ConstantNode>(value) : nullptr; }
  TensorType type() const { return values ? TensorType::WithValues(dtype, shape, *values) : TensorType(dtype, shape); }

  static Item Tensor(Value value, DataType dtype, std::vector<Expr> shape) {
    Item item;
    item.kind = Kind::kTensor;
    item.value = std::move(value);
    item.dtype = dtype;
    item.shape = std::move(shape);
    return item;
  }
  static Item Sequence(std::vector<Item> elements) {
    Item item;
    item.kind = Kind::kSequence;
    item.elements = std::move(elements);
    return item;
  }
  static Item Optional(std::vector<Item> element) {
    Item item;
    item.kind = Kind::kOptional;
    item.elements = std::move(element);
    return item;
  }
};
using Items = std::vector<Item>;

}  // namespace tilewright::graph
