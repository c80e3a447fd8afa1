// What a graph function means: its programs run by the interpreter of ir/interp, binding after binding.
//
//   Interpreter interpreter(&module, host);                       // module after LegalizeOps
//   absl::StatusOr<RuntimeValue> out = interpreter.Run("main", {x, w});
//
// Slow and exact: an oracle for tests, and what constant folding computes with. Symbols get their values from the
// shapes of the arguments; guards, match_cast and the shapes of results are checked.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/symbols.h"
#include "graph/rewrite/lowering.h"
#include "ir/interp/interp.h"

namespace tilewright::graph {

// A tensor, a tuple, or a shape.
struct RuntimeValue {
  enum class Kind { kTensor, kTuple, kShape, kAbsent };
  RuntimeValue() = default;
  RuntimeValue(NDArray tensor_in) : kind(Kind::kTensor), tensor(std::move(tensor_in)) {}
  static RuntimeValue Tuple(std::vector<RuntimeValue> fields);
  static RuntimeValue Shape(std::vector<int64_t> extents);

  Kind kind = Kind::kAbsent;
  NDArray tensor;
  std::vector<RuntimeValue> fields;
  std::vector<int64_t> shape;
};

// The tensors of a value, tuples flattened.
std::vector<NDArray> TensorsOf(const RuntimeValue& value);

// Computes calls of operators that have no program: those whose result's extents depend on data.
using HostOperator =
    std::function<absl::StatusOr<RuntimeValue>(const CallNode& call, const std::vector<RuntimeValue>& args)>;

class Interpreter {
 public:
  // `module` must outlive the interpreter. `host` may be null. Programs end with an error after `max_steps` iterations.
  explicit Interpreter(const GraphModule* module, HostOperator host = nullptr, uint64_t max_steps = uint64_t{1} << 40)
      : module_(*module), host_(std::move(host)), max_steps_(max_steps) {}

  absl::StatusOr<RuntimeValue> Run(std::string_view function, const std::vector<RuntimeValue>& args);

 private:
  struct Frame {
    std::unordered_map<const VarNode*, RuntimeValue> values;
    SymbolValues symbols;
    std::vector<Expr> pending_guards;
  };

  absl::Status Bind(Frame& frame, const Var& var, RuntimeValue value);
  absl::Status MatchType(Frame& frame, const Type& type, const RuntimeValue& value, const std::string& what);
  absl::StatusOr<RuntimeValue> RunSeq(Frame& frame, const SeqNode& seq);
  absl::StatusOr<RuntimeValue> Evaluate(Frame& frame, const Value& value);
  absl::StatusOr<std::vector<RuntimeValue>> EvaluateAll(Frame& frame, const std::vector<Value>& values);
  absl::StatusOr<RuntimeValue> RunProgram(Frame& frame, const CallTirNode& call);
  absl::StatusOr<RuntimeValue> RunBranch(Frame& frame, const IfNode& branch);
  absl::StatusOr<const interp::Program*> Compiled(const std::string& name);

  const GraphModule& module_;
  const HostOperator host_;
  const uint64_t max_steps_;
  std::map<std::string, interp::Program, std::less<>> programs_;
  std::unordered_map<const ConstantNode*, NDArray> constants_;
  int depth_ = 0;
};

// Legalizes the module and runs one of its functions.
absl::StatusOr<RuntimeValue> LegalizeAndRun(const GraphModule& module, const OpTable& ops,
                                            const LoweringTable& lowerings, std::string_view function,
                                            const std::vector<RuntimeValue>& args, const HostOperator& host = nullptr);

}  // namespace tilewright::graph
