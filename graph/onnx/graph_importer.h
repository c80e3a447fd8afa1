// Walks the graphs of a model and builds the graph IR.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/block_builder.h"
#include "graph/onnx/emitter.h"
#include "graph/onnx/import.h"
#include "graph/onnx/node.h"
#include "graph/onnx/node_order.h"
#include "graph/onnx/operators.h"

namespace tilewright::graph {

class GraphImporter {
 public:
  GraphImporter(ModelFile* file, BlockBuilder* builder, const ImportOptions* options, ImportedModel* result);

  // Builds "main".
  absl::Status ImportMain();

  // --- For operators with bodies.
  // Imports a body; its inputs have the names of the graph's. The items are its outputs.
  absl::StatusOr<Items> ImportBody(const onnx::GraphProto& graph, const Items& inputs);
  // The item that a name stands for, in the innermost scope that has it.
  const Item* Find(const std::string& name) const;
  // Names for a while: bodies that become functions see their parameters in place of the values around them.
  void PushScope(std::map<std::string, Item> names) { scopes_.push_back({.names = std::move(names)}); }
  void PopScope() { scopes_.pop_back(); }
  // Whether a node that could not be imported was met since `before` were.
  size_t num_unsupported() const { return result_->unsupported.size(); }

  absl::StatusOr<Item> ConstantOf(const onnx::TensorProto& tensor);
  absl::StatusOr<Item> ConstantOf(const onnx::SparseTensorProto& sparse);
  // The inputs of the model that `name` is computed from have to be bound; false where some cannot be, or there are
  // none.
  bool NeedsValues(const std::string& name);
  // Whether the values of `name` depend on inputs that can be bound, and on no others.
  bool CanBind(const std::string& name) const;
  // Whether bodies are imported once for each iteration.
  bool unrolls() const { return options_.unroll; }
  Emitter& emitter() { return emitter_; }
  BlockBuilder& builder() { return *builder_; }

 private:
  struct Scope {
    std::map<std::string, Item> names;
    std::map<std::string, const onnx::NodeProto*> producers;
    std::set<std::string> failed;  // outputs of nodes that could not be imported
  };

  absl::StatusOr<Item> InputItem(const onnx::ValueInfoProto& input, std::vector<Var>* params, ModelValue* value);
  Exprs InputShape(const onnx::ValueInfoProto& input);
  absl::Status ImportInitializers(const onnx::GraphProto& graph);
  absl::Status ImportNodes(const Nodes& nodes);
  // Null items where the name is empty or its node failed, which `failed` says.
  absl::StatusOr<Items> InputsOf(const onnx::NodeProto& node, bool* failed);
  absl::Status ImportNode(const onnx::NodeProto& node);
  absl::StatusOr<Items> ImportFunction(const onnx::FunctionProto& function, const onnx::NodeProto& node,
                                       const Items& inputs);
  absl::Status Define(const std::string& name, Item item);
  std::set<std::string> InputsBehind(const std::string& name) const;
  void Fail(const onnx::NodeProto& node, int64_t opset, const Items& inputs, const absl::Status& status);
  // The row of the table that imports a node; null where there is none, or a function of the model.
  const OnnxOperator* OperatorOf(const onnx::NodeProto& node) const;
  // An error where the node does not have the form of its operator or function.
  absl::Status CheckForm(const onnx::NodeProto& node, const onnx::FunctionProto* function,
                         const OnnxOperator* op) const;
  // Nothing where neither the model nor the function around says it.
  std::optional<int64_t> OpsetOf(const std::string& domain) const;

  ModelFile* file_;
  BlockBuilder* builder_;
  Emitter emitter_;
  const ImportOptions& options_;
  ImportedModel* result_;
  std::vector<Scope> scopes_;
  std::map<std::string, Symbol> symbols_;
  std::vector<Expr> guards_;
  std::set<std::string> input_names_, may_be_empty_;    // the latter: symbolic dimensions
  std::vector<std::map<std::string, int64_t>> opsets_;  // of the model, and of the functions that are being inlined
  int depth_ = 0;
};

}  // namespace tilewright::graph
