// From an ONNX model to a graph.
//
//   TW_ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> file, ModelFile::Open("model.onnx"));
//   TW_ASSIGN_OR_RETURN(ImportedModel model, ImportModel(*file, {.dims = {{"batch", 1}}}));
//
// Each node becomes calls of programs (graph/ir, CallTir) and a few operators that have none
// (graph/host/host_ops.h), by a function of the table in operators.h. Functions of the model are inlined. Symbolic
// dimensions are symbols, equal names are one symbol, at least 1; `dims` binds them.
//
// Some operands decide shapes (axes, pads, the shape of Reshape). Where such a one is not known from constants and
// extents, and the inputs that it is computed from can be bound, the import says so: `values` binds them. Where they
// cannot, sizes are read when the model runs (host.read_values); what decides ranks has to be known.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/op.h"
#include "graph/onnx/item.h"
#include "graph/onnx/model_file.h"

namespace tilewright::graph {

// What is given for an input that is not a tensor: the tensors of a sequence, or of an optional (at most one).
struct GivenTensors {
  struct Tensor {
    DataType dtype;
    std::vector<int64_t> shape;
  };
  std::vector<Tensor> tensors;
};

struct ImportOptions {
  std::map<std::string, int64_t> dims;        // by the name of a symbolic dimension
  std::map<std::string, NDArray> values;      // inputs that are constants
  std::map<std::string, GivenTensors> given;  // sequences and optionals
  std::set<std::string> bindable;             // inputs that the caller can bind, if they are needed
  std::set<std::string> replaced;             // inputs with a default that the caller gives another value
  std::map<std::string, size_t> ranks;        // of inputs whose type does not say it
  bool unroll = false;                        // nothing runs the bodies of loops: each iteration is imported
};

// An input or output of the model: `count` consecutive parameters of main, or fields of its result.
struct ModelValue {
  std::string name;
  Item::Kind kind = Item::Kind::kTensor;
  bool of_sequence = false;  // an optional of a sequence
  size_t first = 0, count = 1;
  bool bound = false;  // an input that `values` binds; it is not a parameter
};

// A node that cannot be imported.
struct UnsupportedNode {
  std::string name, op;  // `op` with its domain
  int64_t opset = 0;
  std::string inputs;  // types and shapes
  std::string reason;
  bool needs_values = false;  // of an input that decides shapes
  std::string ToString() const;
};

struct ImportedModel {
  GraphModule module;  // "main" returns a tuple
  std::vector<ModelValue> inputs, outputs;
  std::map<std::string, int64_t> op_counts;  // with the bodies of control flow and functions
  // What keeps the model from being imported; the module has no main then.
  std::vector<UnsupportedNode> unsupported;
  // Inputs whose elements decide shapes and that were not bound.
  std::set<std::string> needed_values;
};

// `ops` outlives the result (OnnxOps below). Errors: what is wrong with the file as a whole.
absl::StatusOr<ImportedModel> ImportModel(ModelFile& file, const OpTable& ops, const ImportOptions& options = {});

// An error that lists all unsupported nodes; OK where there are none.
absl::Status UnsupportedError(const ImportedModel& model);

}  // namespace tilewright::graph
