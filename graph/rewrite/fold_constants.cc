#include <functional>
#include <numeric>
#include <optional>

#include "base/status_macros.h"
#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"
#include "graph/rewrite/interpreter.h"
#include "graph/rewrite/legalize.h"
#include "graph/rewrite/passes.h"

namespace tilewright::graph {
namespace {

// Bytes of the constants among the arguments; nothing when an argument is not constant.
std::optional<int64_t> ConstantBytesOf(const std::vector<Value>& args) {
  int64_t bytes = 0;
  for (const Value& arg : args) {
    if (!arg) continue;
    if (const auto* constant = dyn_cast<ConstantNode>(arg)) {
      bytes += constant->bytes.size();
    } else if (const auto* tuple = dyn_cast<TupleNode>(arg)) {
      const std::optional<int64_t> inner = ConstantBytesOf(tuple->fields);
      if (!inner) return std::nullopt;
      bytes += *inner;
    } else if (const auto* shape = dyn_cast<ShapeExprNode>(arg)) {
      if (!ConstantExtents(shape->values)) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

// Whether the result is small enough to be a constant. Its extents must be constant.
bool MayFold(const Type& type, int64_t argument_bytes) {
  int64_t bytes = 0, elements = 0;
  const std::vector<const TensorTypeNode*> tensors = TensorsOf(type);
  for (const TensorTypeNode* tensor : tensors) {
    if (!tensor->shape) return false;
    const std::optional<std::vector<int64_t>> extents = ConstantExtents(*tensor->shape);
    if (!extents) return false;
    int64_t count = 1;
    for (int64_t extent : *extents) count *= extent;
    elements += count;
    bytes += count * tensor->dtype.bytes();
  }
  return !tensors.empty() && (bytes <= argument_bytes || elements <= kMaxKnownValues);
}

std::optional<Constant> KnownConstant(const Type& type) {
  const auto* tensor = dyn_cast<TensorTypeNode>(type);
  if (tensor == nullptr || !tensor->values) return std::nullopt;
  const std::optional<std::vector<int64_t>> values = ConstantExtents(*tensor->values);
  const std::optional<std::vector<int64_t>> shape = ConstantExtents(*tensor->shape);
  if (!values || !shape) return std::nullopt;
  const NDArray array(tensor->dtype, *shape);
  for (size_t i = 0; i < values->size(); ++i) array.SetInt(static_cast<int64_t>(i), (*values)[i]);
  return Constant(array);
}

class Folder : public Mutator {
 public:
  Folder(BlockBuilder* builder, const ConstantFolder* folder) : Mutator(builder), folder_(*folder) {}

 protected:
  absl::StatusOr<Value> MutateCall(const CallNode* call, const Value& self) override {
    if (!call->op->pure) return self;
    if (call->op->name == "reshape") return View(*call, self);
    return Fold(call->args, self);
  }
  absl::StatusOr<Value> MutateCallTir(const CallTirNode* call, const Value& self) override {
    return Fold(call->args, self);
  }

 private:
  // The same bytes under another shape: nothing is computed, however large the constant is.
  absl::StatusOr<Value> View(const CallNode& call, const Value& self) {
    const auto* constant = dyn_cast<ConstantNode>(call.args[0]);
    if (constant == nullptr) return Fold(call.args, self);
    TW_ASSIGN_OR_RETURN(const Type type, builder().Infer(self));
    const auto extents = ConstantExtents(*cast<TensorTypeNode>(type)->shape);
    if (!extents ||
        std::accumulate(extents->begin(), extents->end(), int64_t{1}, std::multiplies<>()) !=
            std::accumulate(constant->shape.begin(), constant->shape.end(), int64_t{1}, std::multiplies<>()))
      return self;
    return Value(Constant(constant->dtype, *extents, constant->bytes));
  }

  absl::StatusOr<Value> Fold(const std::vector<Value>& args, const Value& self) {
    TW_ASSIGN_OR_RETURN(const Type type, builder().Infer(self));
    if (const std::optional<Constant> known = KnownConstant(type)) return Value(*known);
    const std::optional<int64_t> bytes = ConstantBytesOf(args);
    if (folder_ == nullptr || !bytes || !MayFold(type, *bytes)) return self;
    TW_ASSIGN_OR_RETURN(const std::optional<std::vector<NDArray>> arrays, folder_(builder().module(), self));
    if (!arrays) return self;
    std::vector<Value> constants;
    for (const NDArray& array : *arrays) constants.push_back(Constant(array));
    return isa<TupleTypeNode>(type) ? Value(Tuple(std::move(constants))) : constants[0];
  }

  const ConstantFolder& folder_;
};

}  // namespace

absl::StatusOr<GraphModule> FoldConstants(const GraphModule& module, const OpTable& ops, const ConstantFolder& folder) {
  BlockBuilder builder(&ops, module);
  Folder fold(&builder, &folder);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(fold.MutateFunction(entry.function).status());
  }
  return builder.module();
}

ConstantFolder InterpreterFolder(const OpTable* ops, const LoweringTable* lowerings, uint64_t max_steps) {
  return [=](const GraphModule& module, const Value& value) -> absl::StatusOr<std::optional<std::vector<NDArray>>> {
    const auto* call = dyn_cast<CallNode>(value);
    const auto* tir = dyn_cast<CallTirNode>(value);
    if (call != nullptr && (lowerings == nullptr || lowerings->Find(call->op->name) == nullptr)) return std::nullopt;
    if (call == nullptr && tir == nullptr) return std::nullopt;
    BlockBuilder builder(ops);
    if (tir != nullptr) builder.SetProgram(module.FindProgram(tir->function));
    builder.BeginFunction("main", {});
    TW_ASSIGN_OR_RETURN(const Var result, builder.Emit(value));
    TW_RETURN_IF_ERROR(builder.EndFunction(result).status());
    GraphModule legal = builder.module();
    if (call != nullptr) {
      TW_ASSIGN_OR_RETURN(legal, LegalizeOps(builder.module(), *ops, *lowerings));
    }
    absl::StatusOr<RuntimeValue> folded = Interpreter(&legal, nullptr, max_steps).Run("main", {});
    // A call that is an error (or takes too long) stays: it may stand in a branch that is never taken.
    if (!folded.ok()) return std::nullopt;
    return TensorsOf(*folded);
  };
}

}  // namespace tilewright::graph
