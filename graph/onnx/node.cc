#include "graph/onnx/node.h"

#include <algorithm>

#include "base/status_macros.h"
#include "graph/onnx/graph_importer.h"
#include "graph/onnx/operators.h"
#include "ir/ops/broadcast.h"
#include "ir/ops/product.h"

namespace tilewright::graph {

absl::Status OnnxNode::RequireTensors(size_t first, size_t count) const {
  for (size_t i = first; i < first + count; ++i) {
    if (!Has(i)) return Error("input ", i, " is missing");
    if (!in_[i].is_tensor()) return Error("input ", i, " is not a tensor");
  }
  return absl::OkStatus();
}

absl::Status OnnxNode::RequireShape(size_t i, const Exprs& shape) {
  if (!Has(i)) return absl::OkStatus();
  TW_RETURN_IF_ERROR(RequireTensors(i, 1));
  if (in_[i].rank() != shape.size())
    return Error("input ", i, " has rank ", in_[i].rank(), ", expected ", shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const Expr &given = in_[i].shape[d], &wanted = shape[d];
    if (RequireEqual(given, wanted)) continue;
    return Error("extent ", d, " of input ", i, " is ", *AsInt(given), ", expected ", *AsInt(wanted));
  }
  return absl::OkStatus();
}

bool OnnxNode::RequireEqual(const Expr& a, const Expr& b) {
  if (tilewright::ops::SameExtent(a, b)) return true;
  if (AsInt(a) && AsInt(b)) return false;
  emitter_->builder().Assume(AsExtent(a) == AsExtent(b));
  return true;
}

absl::Status OnnxNode::RequireBroadcast(const std::vector<Exprs>& shapes) {
  if (!tilewright::ops::BroadcastShape(shapes)) return Error("the shapes of its inputs do not broadcast");
  for (const Expr& condition : tilewright::ops::BroadcastConditions(shapes)) emitter_->builder().Assume(condition);
  return absl::OkStatus();
}

absl::Status OnnxNode::RequireProduct(const Exprs& a, const Exprs& b) {
  if (!tilewright::ops::ProductShape(a, b)) return Error("the extents of its operands do not fit");
  const size_t rank = b.size();
  RequireEqual(a.back(), rank == 1 ? b[0] : b[rank - 2]);
  if (a.size() < 3 || rank < 3) return absl::OkStatus();
  return RequireBroadcast({Exprs(a.begin(), a.end() - 2), Exprs(b.begin(), b.end() - 2)});
}

absl::Status OnnxNode::NotKnown(size_t i) {
  const std::string& name = proto_.input(static_cast<int>(i));
  const bool bound_helps = importer_->NeedsValues(name);
  const std::string text =
      absl::StrCat("the elements of input ", i, " (\"", name, "\") decide shapes and are not known");
  return bound_helps ? absl::FailedPreconditionError(text) : absl::UnimplementedError(text);
}

absl::StatusOr<Exprs> OnnxNode::Values(size_t i) {
  TW_RETURN_IF_ERROR(RequireTensors(i, 1));
  if (in_[i].values) return *in_[i].values;
  if (auto array = ArrayOf(in_[i]); array && !array->dtype().is_float()) {
    Exprs values;
    for (int64_t at = 0; at < array->size(); ++at) values.push_back(Extent(array->GetInt(at)));
    return values;
  }
  const auto shape = ConstantExtents(in_[i].shape);
  const int64_t count = shape && shape->size() <= 1 ? (shape->empty() ? 1 : (*shape)[0]) : kMaxKnownValues + 1;
  if (in_[i].dtype.is_float() || count > kMaxKnownValues) return NotKnown(i);
  if (importer_->CanBind(proto_.input(static_cast<int>(i)))) return NotKnown(i);
  // They are read when the model runs.
  TW_ASSIGN_OR_RETURN(const Var read,
                      emitter_->builder().Emit(emitter_->builder().CallOp("host.read_values", {in_[i].value})));
  return *cast<TensorTypeNode>(read->type)->values;
}

absl::StatusOr<Int64s> OnnxNode::Numbers(size_t i) {
  TW_RETURN_IF_ERROR(RequireTensors(i, 1));
  if (!in_[i].values && in_[i].constant() == nullptr) return NotKnown(i);
  TW_ASSIGN_OR_RETURN(const Exprs values, Values(i));
  auto numbers = ConstantExtents(values);
  if (!numbers) return NotKnown(i);
  return *std::move(numbers);
}

absl::StatusOr<int64_t> OnnxNode::Number(size_t i) {
  TW_ASSIGN_OR_RETURN(const Int64s numbers, Numbers(i));
  if (numbers.size() != 1) return Error("input ", i, " has ", numbers.size(), " elements instead of one");
  return numbers[0];
}

absl::StatusOr<std::vector<double>> OnnxNode::Reals(size_t i) {
  TW_RETURN_IF_ERROR(RequireTensors(i, 1));
  const auto array = ArrayOf(in_[i]);
  if (!array) return NotKnown(i);
  std::vector<double> values;
  for (int64_t at = 0; at < array->size(); ++at) values.push_back(array->Get(at));
  return values;
}

const onnx::AttributeProto* OnnxNode::Attr(const std::string& name) const {
  for (const onnx::AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}
const onnx::AttributeProto* OnnxNode::AttrOf(const std::string& name, onnx::AttributeProto::AttributeType type) const {
  using onnx::AttributeProto;
  const AttributeProto* attribute = Attr(name);
  if (attribute == nullptr) return nullptr;
  bool fits = attribute->type() == type;
  if (attribute->type() == AttributeProto::UNDEFINED) {
    // Old files do not say the type: the fields that are there do.
    const bool has_other = (type != AttributeProto::INT && attribute->has_i()) ||
                           (type != AttributeProto::FLOAT && attribute->has_f()) ||
                           (type != AttributeProto::STRING && attribute->has_s());
    fits = !has_other;
  }
  if (fits) return attribute;
  if (attribute_status_.ok()) {
    attribute_status_ =
        Error("the attribute ", name, " has the type ", AttributeProto::AttributeType_Name(attribute->type()),
              ", expected ", AttributeProto::AttributeType_Name(type));
  }
  return nullptr;
}
bool OnnxNode::AreSizes(const std::string& name, const Int64s& values) const {
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const int64_t value : values) {
    if (value >= -kMost && value <= kMost) continue;
    if (attribute_status_.ok()) {
      attribute_status_ = Error("the attribute ", name, " is ", value, ", beyond the sizes that are supported (2^31)");
    }
    return false;
  }
  return true;
}
int64_t OnnxNode::Int(const std::string& name, int64_t otherwise) const {
  const auto* attribute = AttrOf(name, onnx::AttributeProto::INT);
  return attribute != nullptr && AreSizes(name, {attribute->i()}) ? attribute->i() : otherwise;
}
int64_t OnnxNode::WideInt(const std::string& name, int64_t otherwise) const {
  const auto* attribute = AttrOf(name, onnx::AttributeProto::INT);
  return attribute == nullptr ? otherwise : attribute->i();
}
double OnnxNode::Float(const std::string& name, double otherwise) const {
  const auto* attribute = AttrOf(name, onnx::AttributeProto::FLOAT);
  return attribute == nullptr ? otherwise : static_cast<double>(attribute->f());
}
std::string OnnxNode::String(const std::string& name, const std::string& otherwise) const {
  const auto* attribute = AttrOf(name, onnx::AttributeProto::STRING);
  return attribute == nullptr ? otherwise : attribute->s();
}
std::optional<Int64s> OnnxNode::Ints(const std::string& name) const {
  std::optional<Int64s> values = WideInts(name);
  return values && AreSizes(name, *values) ? values : std::nullopt;
}
std::optional<Int64s> OnnxNode::WideInts(const std::string& name) const {
  const auto* attribute = AttrOf(name, onnx::AttributeProto::INTS);
  if (attribute == nullptr) return std::nullopt;
  return Int64s(attribute->ints().begin(), attribute->ints().end());
}
std::vector<double> OnnxNode::Floats(const std::string& name) const {
  const auto* attribute = AttrOf(name, onnx::AttributeProto::FLOATS);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}
std::vector<std::string> OnnxNode::Strings(const std::string& name) const {
  const auto* attribute = AttrOf(name, onnx::AttributeProto::STRINGS);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

onnx::AttributeProto IntAttribute(const std::string& name, int64_t value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}
onnx::AttributeProto FloatAttribute(const std::string& name, double value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
  return attribute;
}
onnx::AttributeProto StringAttribute(const std::string& name, const std::string& value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
  return attribute;
}

absl::StatusOr<Items> OnnxNode::Call(const std::string& op, int64_t opset, Items inputs,
                                     const std::vector<onnx::AttributeProto>& attributes, int outputs,
                                     const std::string& domain) {
  const OnnxOperator* row = FindOperator(domain, op, opset);
  if (row == nullptr) return Unsupported("the operator ", op, " of opset ", opset);
  onnx::NodeProto proto;
  proto.set_name(proto_.name());
  proto.set_op_type(op);
  proto.set_domain(domain);
  // The names of inputs say which of them the caller can bind.
  for (const Item& input : inputs) {
    std::string* name = proto.add_input();
    for (size_t i = 0; i < in_.size(); ++i) {
      if (input.value && in_[i].value && in_[i].value.same_as(input.value)) *name = proto_.input(static_cast<int>(i));
    }
  }
  for (int i = 0; i < outputs; ++i) proto.add_output(absl::StrCat("output", i));
  for (const onnx::AttributeProto& attribute : attributes) *proto.add_attribute() = attribute;
  OnnxNode node(proto, opset, std::move(inputs), importer_, emitter_);
  TW_RETURN_IF_ERROR(CheckOperands(row->operands, node));
  const absl::Status imported = row->import(node);
  TW_RETURN_IF_ERROR(node.attribute_status());
  TW_RETURN_IF_ERROR(imported);
  return std::move(node.results());
}

absl::StatusOr<std::optional<Int64s>> OnnxNode::IntsOrInput(const std::string& name, size_t input, int64_t since) {
  if (opset_ < since) return Ints(name);
  if (!Has(input)) return std::optional<Int64s>();
  TW_ASSIGN_OR_RETURN(Int64s numbers, Numbers(input));
  return std::optional<Int64s>(std::move(numbers));
}

bool OnnxNode::Wants(size_t output) const {
  return output < num_outputs() && !proto_.output(static_cast<int>(output)).empty();
}

absl::Status OnnxNode::RequireSameType(size_t first, size_t count) const {
  const DataType type = In(first).dtype;
  for (size_t i = first; i < first + count; ++i) {
    if (Has(i) && In(i).dtype != type) {
      return Error("input ", i, " is ", In(i).dtype.ToString(), ", expected ", type.ToString());
    }
  }
  return absl::OkStatus();
}
absl::Status OnnxNode::RequireFloat() const {
  TW_RETURN_IF_ERROR(RequireTensors(0, 1));
  return In(0).dtype.is_float() ? absl::OkStatus() : Error("its input is ", In(0).dtype.ToString(), ", not of floats");
}
absl::Status OnnxNode::RequireBool() const {
  TW_RETURN_IF_ERROR(RequireTensors(0, 1));
  return In(0).dtype.is_bool() ? absl::OkStatus() : Error("its input is ", In(0).dtype.ToString(), ", not bool");
}

absl::StatusOr<Items> OnnxNode::MapItems(const std::string& name, const Items& inputs,
                                         const tilewright::ops::ScalarBody& body) {
  for (const Item& input : inputs) {
    if (input.dtype != inputs[0].dtype) {
      return Error("its inputs are ", inputs[0].dtype.ToString(), " and ", input.dtype.ToString());
    }
  }
  return MapMixed(name, inputs, body);
}

absl::StatusOr<Items> OnnxNode::MapMixed(const std::string& name, const Items& inputs,
                                         const tilewright::ops::ScalarBody& body) {
  std::vector<Exprs> shapes;
  for (const Item& input : inputs) {
    if (!input.is_tensor()) return Error("an input is not a tensor");
    shapes.push_back(input.shape);
  }
  if (inputs.empty()) return Error("it has no inputs");
  TW_RETURN_IF_ERROR(RequireBroadcast(shapes));
  return Program(name, inputs, [&](ProgramParts& p) { return Buffers{tilewright::ops::Map(p.f, name, p.in, body)}; });
}

absl::StatusOr<int> OnnxNode::Axis(int64_t axis, size_t rank) const {
  const auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) return Error("axis ", axis, " of a tensor of rank ", n);
  return static_cast<int>(axis < 0 ? axis + n : axis);
}

absl::StatusOr<std::vector<int>> OnnxNode::Axes(const Int64s& axes, size_t rank) const {
  std::vector<int> result;
  for (int64_t axis : axes) {
    TW_ASSIGN_OR_RETURN(int one, Axis(axis, rank));
    result.push_back(one);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) return Error("an axis occurs twice");
  return result;
}

}  // namespace tilewright::graph
