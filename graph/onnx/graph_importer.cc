#include "graph/onnx/graph_importer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/onnx/declared_outputs.h"
#include "graph/onnx/empty_dimensions.h"
#include "graph/onnx/model_functions.h"
#include "graph/onnx/node_order.h"
#include "graph/onnx/operators.h"
#include "graph/onnx/signatures.h"
#include "graph/onnx/sparse_tensor.h"

namespace tilewright::graph {
namespace {

constexpr int kMaxDepth = 64;                     // of bodies and functions inside each other
constexpr int64_t kMostBytes = int64_t{1} << 40;  // of one tensor
// The first version of the format in which models name the opsets that they use.
constexpr int64_t kFirstVersionWithOpsets = 3;

std::string OpName(const onnx::NodeProto& node) {
  return node.domain().empty() || node.domain() == "ai.onnx" ? node.op_type()
                                                             : absl::StrCat(node.domain(), ":", node.op_type());
}

std::string Named(const onnx::NodeProto& node) {
  return absl::StrCat("node \"", node.name(), "\" (", OpName(node), ")");
}

std::string DomainOf(const onnx::NodeProto& node) { return node.domain() == "ai.onnx" ? "" : node.domain(); }

// Whether the extents that are numbers make more bytes than any machine has. What comes after sees no such extents, so
// that products of them do not overflow.
bool IsTooLarge(const Item& item) {
  int64_t bytes = item.is_tensor() ? item.dtype.bytes() : 0;
  for (const Expr& extent : item.shape) {
    const auto number = AsInt(extent);
    if (number == 0) return false;
    if (number && (__builtin_mul_overflow(bytes, *number, &bytes) || bytes > kMostBytes)) return true;
  }
  return std::any_of(item.elements.begin(), item.elements.end(), IsTooLarge);
}

}  // namespace

GraphImporter::GraphImporter(ModelFile* file, BlockBuilder* builder, const ImportOptions* options,
                             ImportedModel* result)
    : file_(file), builder_(builder), emitter_(builder), options_(*options), result_(result) {
  may_be_empty_ = DimensionsThatMayBeEmpty(file_->model().graph());
  opsets_.emplace_back();
  for (const auto& import : file_->model().opset_import()) {
    opsets_.back()[import.domain() == "ai.onnx" ? "" : import.domain()] = import.version();
  }
}

std::optional<int64_t> GraphImporter::OpsetOf(const std::string& domain) const {
  const auto& opsets = opsets_.back();
  auto it = opsets.find(domain == "ai.onnx" ? "" : domain);
  if (it != opsets.end()) return it->second;
  return file_->model().ir_version() < kFirstVersionWithOpsets ? std::optional<int64_t>(1) : std::nullopt;
}

const Item* GraphImporter::Find(const std::string& name) const {
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto it = scopes_[i].names.find(name);
    if (it != scopes_[i].names.end()) return &it->second;
  }
  return nullptr;
}

absl::Status GraphImporter::Define(const std::string& name, Item item) {
  if (name.empty()) return absl::OkStatus();
  if (IsTooLarge(item)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the value \"", name, "\" takes more than a tebibyte: ", Describe(item)));
  }
  if (!scopes_.back().names.emplace(name, std::move(item)).second) {
    return absl::InvalidArgumentError(absl::StrCat("the value \"", name, "\" is defined twice"));
  }
  return absl::OkStatus();
}

std::set<std::string> GraphImporter::InputsBehind(const std::string& name) const {
  std::set<std::string> seen, inputs;
  std::vector<std::string> open = {name};
  while (!open.empty()) {
    const std::string current = open.back();
    open.pop_back();
    if (!seen.insert(current).second) continue;
    if (input_names_.contains(current)) inputs.insert(current);
    for (const Scope& scope : scopes_) {
      auto it = scope.producers.find(current);
      if (it == scope.producers.end()) continue;
      // The extents of a tensor do not depend on its elements.
      const OnnxOperator* op = OperatorOf(*it->second);
      if (op != nullptr && op->operands.reads_shape_only) continue;
      open.insert(open.end(), it->second->input().begin(), it->second->input().end());
    }
  }
  return inputs;
}

bool GraphImporter::CanBind(const std::string& name) const {
  bool any = false;
  for (const std::string& input : InputsBehind(name)) {
    if (!options_.bindable.contains(input)) return false;
    any |= !options_.values.contains(input);
  }
  return any;
}

bool GraphImporter::NeedsValues(const std::string& name) {
  const std::set<std::string> inputs = InputsBehind(name);
  result_->needed_values.insert(inputs.begin(), inputs.end());
  return !inputs.empty();
}

absl::StatusOr<Item> GraphImporter::ConstantOf(const onnx::TensorProto& tensor) {
  TW_ASSIGN_OR_RETURN(TensorView view, file_->Tensor(tensor));
  ConstantBytes bytes(view.owner, view.bytes.data(), static_cast<int64_t>(view.bytes.size()));
  Item item = emitter_.FromConstant(Constant(view.dtype, view.shape, std::move(bytes)));
  item.bits = NarrowBits(tensor.data_type());
  return item;
}

absl::StatusOr<Item> GraphImporter::ConstantOf(const onnx::SparseTensorProto& sparse) {
  TW_ASSIGN_OR_RETURN(const NDArray array, DenseArray(*file_, sparse));
  return emitter_.FromArray(array);
}

Exprs GraphImporter::InputShape(const onnx::ValueInfoProto& input) {
  Exprs shape;
  for (const auto& dim : input.type().tensor_type().shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      shape.push_back(Extent(dim.dim_value()));
      continue;
    }
    const std::string name = DimensionName(input, static_cast<int>(shape.size()));
    if (auto bound = options_.dims.find(name); bound != options_.dims.end()) {
      shape.push_back(Extent(bound->second));
      continue;
    }
    auto [it, is_new] = symbols_.try_emplace(name);
    if (is_new) {
      it->second = Symbol(name, DataType::Int(64));
      if (!may_be_empty_.contains(name)) guards_.push_back(it->second >= Extent(1));
    }
    shape.push_back(it->second);
  }
  return shape;
}

absl::StatusOr<Item> GraphImporter::InputItem(const onnx::ValueInfoProto& input, std::vector<Var>* params,
                                              ModelValue* value) {
  const auto add = [&](const std::string& name, DataType dtype, Exprs shape) {
    Var var(name, TensorType(dtype, shape));
    params->push_back(var);
    return Item::Tensor(var, dtype, std::move(shape));
  };
  value->first = params->size();
  if (auto bound = options_.values.find(input.name()); bound != options_.values.end()) {
    value->bound = true;
    value->count = 0;
    return emitter_.FromArray(bound->second);
  }
  if (input.type().has_tensor_type()) {
    const auto& type = input.type().tensor_type();
    TW_ASSIGN_OR_RETURN(const DataType dtype, ElementType(type.elem_type()));
    if (type.has_shape()) {
      Item item = add(input.name(), dtype, InputShape(input));
      item.bits = NarrowBits(type.elem_type());
      return item;
    }
    // A tensor of any rank: that of the array that the caller gives.
    const auto rank = options_.ranks.find(input.name());
    if (rank == options_.ranks.end()) {
      return absl::UnimplementedError("its rank is not known, and no array is given that says it");
    }
    onnx::ValueInfoProto ranked = input;
    auto* shape = ranked.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (size_t i = 0; i < rank->second; ++i) shape->add_dim();
    return add(input.name(), dtype, InputShape(ranked));
  }
  auto given = options_.given.find(input.name());
  if (given == options_.given.end()) {
    return absl::UnimplementedError("a sequence or optional whose elements are not given");
  }
  Items elements;
  for (const auto& tensor : given->second.tensors) {
    elements.push_back(add(absl::StrCat(input.name(), "_", elements.size()), tensor.dtype, Extents(tensor.shape)));
  }
  value->count = elements.size();
  if (input.type().has_sequence_type()) {
    value->kind = Item::Kind::kSequence;
    return Item::Sequence(std::move(elements));
  }
  value->kind = Item::Kind::kOptional;
  value->of_sequence = input.type().optional_type().elem_type().has_sequence_type();
  if (value->of_sequence) return Item::Optional({Item::Sequence(std::move(elements))});
  return Item::Optional(std::move(elements));
}

absl::Status GraphImporter::ImportInitializers(const onnx::GraphProto& graph) {
  std::set<std::string> inputs, initialized;
  for (const onnx::ValueInfoProto& input : graph.input()) inputs.insert(input.name());
  const auto define = [&](const std::string& name, Item item) {
    if (!initialized.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two initializers have the name \"", name, "\""));
    }
    // An initializer is the default of an input of the same name, and its value where the caller gives no other.
    if (inputs.contains(name) && scopes_.back().names.contains(name)) return absl::OkStatus();
    return Define(name, std::move(item));
  };
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    TW_ASSIGN_OR_RETURN(Item item, ConstantOf(tensor));
    TW_RETURN_IF_ERROR(define(tensor.name(), std::move(item)));
  }
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
    TW_ASSIGN_OR_RETURN(Item item, ConstantOf(sparse));
    TW_RETURN_IF_ERROR(define(sparse.values().name(), std::move(item)));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportMain() {
  const onnx::GraphProto& graph = file_->model().graph();
  scopes_.emplace_back();
  std::set<std::string> initialized;
  for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  std::vector<Var> params;
  std::map<std::string, Item> items;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (initialized.contains(input.name()) && !options_.replaced.contains(input.name())) continue;
    ModelValue value{.name = input.name()};
    auto item = InputItem(input, &params, &value);
    if (!item.ok()) {
      return absl::Status(item.status().code(),
                          absl::StrCat("input \"", input.name(), "\": ", item.status().message()));
    }
    TW_RETURN_IF_ERROR(Define(input.name(), *std::move(item)));
    input_names_.insert(input.name());
    result_->inputs.push_back(std::move(value));
  }
  builder_->BeginFunction("main", params, guards_);
  TW_RETURN_IF_ERROR(ImportInitializers(graph));
  TW_RETURN_IF_ERROR(ImportNodes(NodesOf(graph)));
  if (!result_->unsupported.empty()) {
    builder_->AbandonFunction();
    return absl::OkStatus();
  }
  std::vector<Value> results;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const Item* item = Find(output.name());
    if (item == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("output \"", output.name(), "\" is not defined"));
    }
    const auto producer = scopes_.back().producers.find(output.name());
    const std::string from =
        producer == scopes_.back().producers.end() ? "it is" : absl::StrCat(Named(*producer->second), " gives");
    TW_RETURN_IF_ERROR(CheckDeclared(output, *item, from));
    ModelValue value{.name = output.name(), .kind = item->kind, .first = results.size()};
    const Items* fields = &item->elements;
    if (item->kind == Item::Kind::kOptional && !fields->empty() && (*fields)[0].kind == Item::Kind::kSequence) {
      value.of_sequence = true;
      fields = &(*fields)[0].elements;
    }
    if (item->is_tensor()) results.push_back(item->value);
    for (const Item& field : *fields) results.push_back(field.value);
    value.count = results.size() - value.first;
    result_->outputs.push_back(std::move(value));
  }
  return builder_->EndFunction(Tuple(std::move(results))).status();
}

absl::StatusOr<Items> GraphImporter::ImportBody(const onnx::GraphProto& graph, const Items& inputs) {
  if (depth_ >= kMaxDepth) return absl::InvalidArgumentError("bodies are nested too deeply");
  if (inputs.size() != static_cast<size_t>(graph.input_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("its body takes ", graph.input_size(), " inputs, not ", inputs.size()));
  }
  ++depth_;
  scopes_.emplace_back();
  const auto import = [&]() -> absl::StatusOr<Items> {
    for (size_t i = 0; i < inputs.size(); ++i) {
      TW_RETURN_IF_ERROR(Define(graph.input(static_cast<int>(i)).name(), inputs[i]));
    }
    TW_RETURN_IF_ERROR(ImportInitializers(graph));
    TW_RETURN_IF_ERROR(ImportNodes(NodesOf(graph)));
    Items outputs;
    for (const auto& output : graph.output()) {
      const Item* item = Find(output.name());
      if (item == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("the body's output \"", output.name(), "\" is not defined"));
      }
      outputs.push_back(*item);
    }
    return outputs;
  };
  auto outputs = import();
  scopes_.pop_back();
  --depth_;
  return outputs;
}

absl::Status GraphImporter::ImportNodes(const Nodes& nodes) {
  for (const onnx::NodeProto* node : Sorted(nodes)) {
    for (const std::string& output : node->output()) scopes_.back().producers[output] = node;
    TW_RETURN_IF_ERROR(ImportNode(*node));
  }
  return absl::OkStatus();
}

const OnnxOperator* GraphImporter::OperatorOf(const onnx::NodeProto& node) const {
  if (FindFunction(file_->model(), node) != nullptr) return nullptr;
  return FindOperator(DomainOf(node), node.op_type(), OpsetOf(node.domain()).value_or(0));
}

absl::Status GraphImporter::CheckForm(const onnx::NodeProto& node, const onnx::FunctionProto* function,
                                      const OnnxOperator* op) const {
  TW_RETURN_IF_ERROR(CheckAttributesAreUnique(node));
  if (function != nullptr) {
    if (node.input_size() > function->input_size() || node.output_size() > function->output_size()) {
      return absl::InvalidArgumentError("it has more inputs or outputs than the function of the model that it calls");
    }
    return absl::OkStatus();
  }
  const auto opset = OpsetOf(node.domain());
  if (!opset) {
    return absl::InvalidArgumentError(absl::StrCat("the ", opsets_.size() > 1 ? "function of the model" : "model",
                                                   " does not import the domain \"", DomainOf(node),
                                                   "\" (opset_import)"));
  }
  if (op == nullptr) {
    return absl::UnimplementedError(IsKnownOperator(DomainOf(node), node.op_type()) ? "this opset is not supported"
                                                                                    : "the operator is not supported");
  }
  return CheckNodeForm(DomainOf(node), node, *opset);
}

void GraphImporter::Fail(const onnx::NodeProto& node, int64_t opset, const Items& inputs, const absl::Status& status) {
  std::vector<std::string> shapes;
  for (const Item& input : inputs) shapes.push_back(Describe(input));
  result_->unsupported.push_back({.name = node.name(),
                                  .op = OpName(node),
                                  .opset = opset,
                                  .inputs = absl::StrJoin(shapes, ", "),
                                  .reason = std::string(status.message()),
                                  .needs_values = absl::IsFailedPrecondition(status)});
  for (const std::string& output : node.output()) scopes_.back().failed.insert(output);
}

absl::StatusOr<Items> GraphImporter::InputsOf(const onnx::NodeProto& node, bool* failed) {
  Items inputs;
  for (const std::string& name : node.input()) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    const Item* item = Find(name);
    bool input_failed = false;
    for (const Scope& scope : scopes_) input_failed |= scope.failed.contains(name);
    if (item == nullptr && !input_failed) {
      return absl::InvalidArgumentError(
          absl::StrCat(Named(node), " reads \"", name, "\", which no node before it gives"));
    }
    *failed |= item == nullptr;
    inputs.push_back(item == nullptr ? Item() : *item);
  }
  return inputs;
}

absl::Status GraphImporter::ImportNode(const onnx::NodeProto& node) {
  ++result_->op_counts[OpName(node)];
  const int64_t opset = OpsetOf(node.domain()).value_or(0);
  const onnx::FunctionProto* function = FindFunction(file_->model(), node);
  const OnnxOperator* op = OperatorOf(node);
  bool failed = false;
  TW_ASSIGN_OR_RETURN(const Items inputs, InputsOf(node, &failed));
  absl::Status status = CheckForm(node, function, op);
  if (!status.ok()) {
    Fail(node, opset, inputs, status);
    return absl::OkStatus();
  }
  if (failed) {
    for (const std::string& output : node.output()) scopes_.back().failed.insert(output);
    return absl::OkStatus();
  }
  OnnxNode view(node, opset, inputs, this, &emitter_);
  // Plans and profiles name their calls as the model does. Nodes of a function that is inlined have names of their own.
  emitter_.set_value_name(node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name());
  if (op != nullptr) status = CheckOperands(op->operands, view);
  if (!status.ok()) {
    Fail(node, opset, inputs, status);
    return absl::OkStatus();
  }
  if (function != nullptr) {
    auto results = ImportFunction(*function, node, inputs);
    status = results.status();
    if (results.ok()) view.results() = *std::move(results);
  } else {
    const size_t before = num_unsupported();
    status = op->import(view);
    // What is wrong with an attribute is the cause of what else is.
    if (!view.attribute_status().ok()) status = view.attribute_status();
    if (status.ok() && num_unsupported() > before) {
      // A body could not be imported; its nodes are listed.
      for (const std::string& output : node.output()) scopes_.back().failed.insert(output);
      return absl::OkStatus();
    }
  }
  if (!status.ok()) {
    Fail(node, opset, inputs, status);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < view.num_outputs() && i < view.results().size(); ++i) {
    if (!view.results()[i].present()) continue;
    const absl::Status defined = Define(node.output(static_cast<int>(i)), view.results()[i]);
    if (!defined.ok()) {
      return absl::Status(defined.code(), absl::StrCat(Named(node), ": ", defined.message()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Items> GraphImporter::ImportFunction(const onnx::FunctionProto& function, const onnx::NodeProto& node,
                                                    const Items& inputs) {
  if (depth_ >= kMaxDepth) return absl::InvalidArgumentError("functions are nested too deeply");
  ++depth_;
  opsets_.emplace_back();
  for (const auto& import : function.opset_import()) {
    opsets_.back()[import.domain() == "ai.onnx" ? "" : import.domain()] = import.version();
  }
  // The body sees its inputs only.
  std::vector<Scope> outer;
  std::swap(outer, scopes_);
  scopes_.emplace_back();
  const std::vector<onnx::NodeProto> nodes = InstantiateNodes(function, node);
  Nodes places;
  for (const onnx::NodeProto& inner : nodes) places.push_back(&inner);
  const auto import = [&]() -> absl::StatusOr<Items> {
    for (int i = 0; i < function.input_size(); ++i) {
      Item item = static_cast<size_t>(i) < inputs.size() ? inputs[static_cast<size_t>(i)] : Item();
      TW_RETURN_IF_ERROR(Define(function.input(i), std::move(item)));
    }
    TW_RETURN_IF_ERROR(ImportNodes(places));
    Items outputs;
    for (const std::string& name : function.output()) {
      const Item* item = Find(name);
      if (item == nullptr && !scopes_.back().failed.contains(name)) {
        return absl::InvalidArgumentError(absl::StrCat("the function's output \"", name, "\" is not defined"));
      }
      outputs.push_back(item == nullptr ? Item() : *item);
    }
    return outputs;
  };
  auto outputs = import();
  std::swap(outer, scopes_);
  opsets_.pop_back();
  --depth_;
  return outputs;
}

}  // namespace tilewright::graph
