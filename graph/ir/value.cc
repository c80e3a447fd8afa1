#include "graph/ir/value.h"

#include "base/check.h"

namespace tilewright::graph {
namespace {

int64_t ElementsOf(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (int64_t extent : shape) elements *= extent;
  return elements;
}

NDArray CopyOf(DataType dtype, const std::vector<int64_t>& shape, const ConstantBytes& bytes) {
  NDArray array(dtype, shape);
  bytes.CopyTo(static_cast<std::byte*>(array.data()));
  return array;
}

TensorType TypeOfConstant(DataType dtype, const std::vector<int64_t>& shape, const ConstantBytes& bytes) {
  const int64_t elements = ElementsOf(shape);
  if (elements > kMaxKnownValues || !(dtype.is_integer() || dtype.is_bool())) return {dtype, Extents(shape)};
  const NDArray array = CopyOf(dtype, shape, bytes);
  std::vector<Expr> values;
  for (int64_t i = 0; i < elements; ++i) values.push_back(Extent(array.GetInt(i)));
  return TensorType::WithValues(dtype, Extents(shape), std::move(values));
}

}  // namespace

ConstantNode::ConstantNode(DataType dtype, std::vector<int64_t> shape_in, ConstantBytes bytes_in)
    : ValueNode(GraphKind::kConstant),
      dtype(dtype),
      shape(std::move(shape_in)),
      bytes(std::move(bytes_in)),
      type(TypeOfConstant(dtype, shape, bytes)) {
  TW_CHECK(bytes.size() == ElementsOf(shape) * dtype.bytes())
      << bytes.size() << " bytes for a constant of another size";
}

NDArray ConstantNode::ToNDArray() const { return CopyOf(dtype, shape, bytes); }

Constant::Constant(const NDArray& array)
    : Constant(array.dtype(), array.shape(),
               {std::make_shared<NDArray>(array), static_cast<const std::byte*>(array.data()), array.bytes()}) {}

Constant Constant::Scalar(DataType dtype, double value) {
  const NDArray array(dtype, {});
  array.Set(0, value);
  return Constant(array);
}

Constant Constant::Int64s(const std::vector<int64_t>& values) {
  const NDArray array(DataType::Int(64), {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
  return Constant(array);
}

ShapeExprNode::ShapeExprNode(std::vector<Expr> values_in)
    : ValueNode(GraphKind::kShape),
      values([&] {
        for (Expr& e : values_in) e = AsExtent(std::move(e));
        return std::move(values_in);
      }()),
      type(values) {}

FunctionNode::FunctionNode(Fields fields)
    : Node(kKind),
      name(std::move(fields.name)),
      params(std::move(fields.params)),
      body(std::move(fields.body)),
      result_type(std::move(fields.result_type)),
      attrs(std::move(fields.attrs)),
      is_private(fields.is_private) {}

FunctionNode::Fields FunctionNode::fields() const { return {name, params, body, result_type, attrs, is_private}; }

bool IsAtom(const Value& value) {
  if (!value) return true;
  switch (AsGraphKind(value->kind())) {
    case GraphKind::kVar:
    case GraphKind::kConstant:
    case GraphKind::kShape:
      return true;
    case GraphKind::kTuple:
      for (const Value& field : cast<TupleNode>(value)->fields) {
        if (!IsAtom(field)) return false;
      }
      return true;
    default:
      return false;
  }
}

Type TypeOf(const Value& atom) {
  if (!atom) return Type();
  if (const auto* var = dyn_cast<VarNode>(atom)) return var->type;
  if (const auto* constant = dyn_cast<ConstantNode>(atom)) return constant->type;
  if (const auto* shape = dyn_cast<ShapeExprNode>(atom)) return shape->type;
  const auto* tuple = dyn_cast<TupleNode>(atom);
  TW_CHECK(tuple != nullptr) << "the type of a value that is not an atom";
  std::vector<Type> fields;
  for (const Value& field : tuple->fields) fields.push_back(TypeOf(field));
  return TupleType(std::move(fields));
}

const TensorTypeNode* TensorTypeOf(const Value& atom) { return dyn_cast<TensorTypeNode>(TypeOf(atom).get()); }

}  // namespace tilewright::graph
