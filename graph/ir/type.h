// Types of graph values.
//
//   Type t = TensorType(DataType::Float(32), {n, Extent(64)});     // R.Tensor((n, 64), dtype="float32")
//   Type unknown = TensorType::OfUnknownRank(DataType::Int(64));   // R.Tensor(dtype="int64")
//   Type pair = TupleType({t, t});                                 // R.Tuple(...)
//   Type shape = ShapeType(std::vector<Expr>{n, Extent(4)});       // R.Shape([n, 4])
//
// Extents are int64 index expressions over symbols (ir variables). An extent that depends on data is a symbol of its
// own, which the binding of the value defines; so every tensor of known rank has a shape.
//
// A small tensor of integers or booleans (at most kMaxKnownValues elements, constant shape) may have known *values*:
// one index expression per element, row-major, of type int64. Shape arithmetic of imported models becomes such
// expressions, so that a Reshape or Slice knows its result's extents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/kinds.h"
#include "ir/data_type.h"
#include "ir/expr.h"

namespace tilewright::graph {

inline constexpr int64_t kMaxKnownValues = 64;

class TypeNode : public Node {
 public:
  static bool ClassOf(Kind kind) {
    return kind >= AsKind(GraphKind::kTensorType) && kind <= AsKind(GraphKind::kShapeType);
  }

 protected:
  using Node::Node;
};

class Type : public Ref<TypeNode> {
 public:
  Type() = default;
  template <class T, class = std::enable_if_t<std::is_base_of_v<TypeNode, T>>>
  Type(const Ref<T>& other) : Ref<TypeNode>(other) {}
  explicit Type(const TypeNode* node) : Ref<TypeNode>(node) {}
};

class TensorTypeNode : public TypeNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kTensorType);
  TensorTypeNode(DataType dtype, std::optional<std::vector<Expr>> shape, std::optional<std::vector<Expr>> values);
  const DataType dtype;
  const std::optional<std::vector<Expr>> shape;   // nothing: the rank is unknown
  const std::optional<std::vector<Expr>> values;  // nothing: unknown

  // -1 when it is unknown.
  int rank() const { return shape ? static_cast<int>(shape->size()) : -1; }
};

class TensorType : public Ref<TensorTypeNode> {
 public:
  TensorType() = default;
  explicit TensorType(const TensorTypeNode* node) : Ref<TensorTypeNode>(node) {}
  TensorType(DataType dtype, std::vector<Expr> shape)
      : Ref<TensorTypeNode>(new TensorTypeNode(dtype, std::move(shape), std::nullopt)) {}
  static TensorType OfUnknownRank(DataType dtype) {
    return TensorType(new TensorTypeNode(dtype, std::nullopt, std::nullopt));
  }
  // Values that are not as many as the elements of the shape (or more than kMaxKnownValues) are dropped: they are known
  // for a constant shape only.
  static TensorType WithValues(DataType dtype, std::vector<Expr> shape, std::vector<Expr> values);
};

class TupleTypeNode : public TypeNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kTupleType);
  explicit TupleTypeNode(std::vector<Type> fields) : TypeNode(kKind), fields(std::move(fields)) {}
  const std::vector<Type> fields;
};

class TupleType : public Ref<TupleTypeNode> {
 public:
  explicit TupleType(std::vector<Type> fields) : Ref<TupleTypeNode>(new TupleTypeNode(std::move(fields))) {}
};

// The type of a shape as a value (the argument of reshape): a list of extents.
class ShapeTypeNode : public TypeNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kShapeType);
  explicit ShapeTypeNode(std::vector<Expr> values);
  const std::vector<Expr> values;
};

class ShapeType : public Ref<ShapeTypeNode> {
 public:
  explicit ShapeType(std::vector<Expr> values) : Ref<ShapeTypeNode>(new ShapeTypeNode(std::move(values))) {}
};

// An int64 constant.
Expr Extent(int64_t value);
// `e` as int64: immediates are converted, other types are cast.
Expr AsExtent(Expr e);
std::vector<Expr> Extents(const std::vector<int64_t>& values);
// The numbers, when all are constant.
std::optional<std::vector<int64_t>> ConstantExtents(const std::vector<Expr>& extents);
// The number of elements (an expression; 1 for no extents).
Expr NumElements(const std::vector<Expr>& extents);

// The text of the peer's dialect, with symbols by their names: R.Tensor((n, 64), dtype="float32"). Known values follow
// as a comment would: they are not part of the dialect and are left out.
std::string ToString(const Type& type);

// All symbols of the type's extents and values, in order of first occurrence.
std::vector<Symbol> FreeSymbols(const Type& type);
std::vector<Symbol> FreeSymbols(const std::vector<Expr>& exprs);
// Those that are whole extents of tensors, which are not negative. Elements, and terms of an extent, may be.
std::vector<Symbol> ExtentSymbols(const Type& type);

// Equal structure; symbols are compared by identity. `values` count unless told otherwise.
bool SameType(const Type& a, const Type& b, bool compare_values = true);

}  // namespace tilewright::graph
