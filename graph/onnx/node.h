// What a function of the operator table sees of a node.
//
//   absl::Status ImportRelu(OnnxNode& n) {
//     return n.Map("relu", [](const Exprs& e) { return Max(Const(e[0].dtype(), 0), e[0]); });
//   }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/onnx/emitter.h"
#include "graph/onnx/item.h"
#include "ir/ops/broadcast.h"
#include "onnx/onnx_pb.h"

namespace tilewright::graph {

class GraphImporter;
using Exprs = std::vector<Expr>;
using Int64s = std::vector<int64_t>;

class OnnxNode {
 public:
  OnnxNode(const onnx::NodeProto& proto, int64_t opset, Items inputs, GraphImporter* importer, Emitter* emitter)
      : proto_(proto), opset_(opset), in_(std::move(inputs)), importer_(importer), emitter_(emitter) {}

  const onnx::NodeProto& proto() const { return proto_; }
  int64_t opset() const { return opset_; }
  GraphImporter& importer() { return *importer_; }
  Emitter& emit() { return *emitter_; }

  // --- Inputs.
  const Items& in() const { return in_; }
  bool Has(size_t i) const { return i < in_.size() && in_[i].present(); }
  // The input, or an absent item.
  const Item& In(size_t i) const { return i < in_.size() ? in_[i] : absent_; }
  // An error where the input is absent or no tensor.
  absl::Status RequireTensors(size_t first, size_t count) const;
  // An error where the input, if there is one, has another rank or a constant extent that differs; the other extents
  // are assumed equal, which is checked when the model runs.
  absl::Status RequireShape(size_t i, const Exprs& shape);
  // An error where the shapes do not broadcast, or not as those of a matrix product do. Of symbolic extents that is
  // checked when the model runs.
  absl::Status RequireBroadcast(const std::vector<Exprs>& shapes);
  absl::Status RequireProduct(const Exprs& a, const Exprs& b);
  // Whether two extents may be equal: constants are, or are not; others are assumed equal, which is checked when the
  // model runs.
  bool RequireEqual(const Expr& a, const Expr& b);
  // An error where the inputs that are there have different types.
  absl::Status RequireSameType(size_t first, size_t count) const;
  // An error where the first input is not of floats, or not of booleans.
  absl::Status RequireFloat() const;
  absl::Status RequireBool() const;
  // The elements of an input as expressions (of values that are read when the model runs, where nothing else is known),
  // or as numbers; errors where they are not known.
  absl::StatusOr<Exprs> Values(size_t i);
  absl::StatusOr<Int64s> Numbers(size_t i);
  absl::StatusOr<int64_t> Number(size_t i);
  // Elements of a constant input, floats too.
  absl::StatusOr<std::vector<double>> Reals(size_t i);

  // --- Attributes. One of another type than the function asks for is an error of the node (`attribute_status`).
  const onnx::AttributeProto* Attr(const std::string& name) const;
  // A size, a place or a choice. One beyond 2^31 is an error of the node too, so that a product of two is exact.
  int64_t Int(const std::string& name, int64_t otherwise) const;
  // Any number of 64 bits: a value of the model, or a bound that stands for infinity.
  int64_t WideInt(const std::string& name, int64_t otherwise) const;
  double Float(const std::string& name, double otherwise) const;
  std::string String(const std::string& name, const std::string& otherwise) const;
  std::optional<Int64s> Ints(const std::string& name) const;
  std::optional<Int64s> WideInts(const std::string& name) const;
  std::vector<double> Floats(const std::string& name) const;
  std::vector<std::string> Strings(const std::string& name) const;
  // Integers of an input from opset `since` on, of an attribute before; nothing where neither is there.
  absl::StatusOr<std::optional<Int64s>> IntsOrInput(const std::string& name, size_t input, int64_t since);

  const absl::Status& attribute_status() const { return attribute_status_; }

  // --- Results. Fewer than the node has outputs leave the rest absent.
  size_t num_outputs() const { return static_cast<size_t>(proto_.output_size()); }
  bool Wants(size_t output) const;
  absl::Status Out(Items results) {
    out_ = std::move(results);
    return absl::OkStatus();
  }
  absl::Status Out(Item result) { return Out(Items{std::move(result)}); }
  absl::Status Out(absl::StatusOr<Items> results) {
    if (!results.ok()) return results.status();
    return Out(*std::move(results));
  }
  absl::Status Out(absl::StatusOr<Item> result) {
    if (!result.ok()) return result.status();
    return Out(*std::move(result));
  }
  Items& results() { return out_; }

  // --- Common forms.
  // What another operator gives: a node that has its name, opset and attributes.
  absl::StatusOr<Items> Call(const std::string& op, int64_t opset, Items inputs,
                             const std::vector<onnx::AttributeProto>& attributes = {}, int outputs = 1,
                             const std::string& domain = "");
  absl::StatusOr<Items> Program(const std::string& name, const Items& inputs, const ProgramBody& body) {
    return emitter_->Program(name, inputs, body);
  }
  // An elementwise program of all inputs, or of those given. They have one type (MapMixed: several).
  absl::Status Map(const std::string& name, const tilewright::ops::ScalarBody& body) { return MapOf(name, in_, body); }
  absl::Status MapOf(const std::string& name, const Items& inputs, const tilewright::ops::ScalarBody& body) {
    return Out(MapItems(name, inputs, body));
  }
  absl::StatusOr<Items> MapMixed(const std::string& name, const Items& inputs, const tilewright::ops::ScalarBody& body);
  absl::StatusOr<Items> MapItems(const std::string& name, const Items& inputs, const tilewright::ops::ScalarBody& body);
  // `axis` from 0; an error outside of [-rank, rank).
  absl::StatusOr<int> Axis(int64_t axis, size_t rank) const;
  absl::StatusOr<std::vector<int>> Axes(const Int64s& axes, size_t rank) const;  // ascending

  template <class... Parts>
  static absl::Status Error(const Parts&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  }
  template <class... Parts>
  static absl::Status Unsupported(const Parts&... parts) {
    return absl::UnimplementedError(absl::StrCat(parts...));
  }

 private:
  absl::Status NotKnown(size_t i);
  // `values` of an attribute; an error of the node where one of them is beyond 2^31.
  bool AreSizes(const std::string& name, const Int64s& values) const;
  // The attribute, or null where there is none or it has another type.
  const onnx::AttributeProto* AttrOf(const std::string& name, onnx::AttributeProto::AttributeType type) const;

  const onnx::NodeProto& proto_;
  const int64_t opset_;
  const Items in_;
  const Item absent_;
  GraphImporter* importer_;
  Emitter* emitter_;
  Items out_;
  mutable absl::Status attribute_status_;
};

// Attributes of nodes for OnnxNode::Call.
onnx::AttributeProto IntAttribute(const std::string& name, int64_t value);
onnx::AttributeProto FloatAttribute(const std::string& name, double value);
onnx::AttributeProto StringAttribute(const std::string& name, const std::string& value);

}  // namespace tilewright::graph
