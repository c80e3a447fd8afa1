#include "graph/fusion/likely_sizes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"

namespace tilewright::graph {
namespace {

constexpr int64_t kTypicalSize = 512;
// Bytes of the largest tensor at typical sizes.
constexpr double kTypicalBytes = 64e6;

// All tensors with symbolic extents that a function's calls take and give, and its calls of programs.
class Calls : public Visitor {
 public:
  std::vector<const TensorTypeNode*> tensors;
  std::vector<const CallTirNode*> of_programs;

 protected:
  void VisitVarDefinition(const Var& var) override {
    if (!var->type) return;
    for (const TensorTypeNode* tensor : TensorsOf(var->type)) {
      if (tensor != nullptr && tensor->shape && !ConstantExtents(*tensor->shape)) tensors.push_back(tensor);
    }
  }
  void VisitCallTir(const CallTirNode* call) override { of_programs.push_back(call); }
};

// The most bytes that a tensor takes.
double MostBytes(const std::vector<const TensorTypeNode*>& tensors, const LikelySizes& sizes) {
  double most = 0;
  for (const TensorTypeNode* tensor : tensors) {
    double bytes = tensor->dtype.bytes();
    for (const Expr& extent : *tensor->shape) bytes *= static_cast<double>(sizes.Likely(extent));
    most = std::max(most, bytes);
  }
  return most;
}

void AddLikely(const Expr& extent, const LikelySizes& likely, std::vector<int64_t>* known) {
  known->insert(known->end(), {likely.Least(extent), likely.Likely(extent)});
  const auto [least, most] = std::ranges::minmax(*known);
  *known = least == most ? std::vector<int64_t>{most} : std::vector<int64_t>{least, most};
}

// The least and the largest likely values of the extents of a program that is called with tensors of these types.
void AddSizes(const CallTirNode& call, const PrimFunc& program, const LikelySizes& likely, SizesByName* sizes) {
  const auto add = [&](const Expr& own, const Expr& actual) {
    const auto* symbol = dyn_cast<SymbolNode>(own);
    if (symbol == nullptr) return;
    AddLikely(actual, likely, &(*sizes)[symbol->name]);
  };
  std::vector<const TensorTypeNode*> types;
  for (const Value& arg : call.args) types.push_back(TensorTypeOf(arg));
  for (const TensorTypeNode* type : TensorsOf(call.out)) types.push_back(type);
  for (size_t i = 0; i < program->params.size(); ++i) {
    const Param& param = program->params[i];
    if (i >= types.size()) {
      if (i - types.size() < call.symbols.size()) add(param.var, call.symbols[i - types.size()]);
      continue;
    }
    if (!param.buffer || types[i] == nullptr || !types[i]->shape) continue;
    for (size_t d = 0; d < param.buffer->shape.size() && d < types[i]->shape->size(); ++d) {
      add(param.buffer->shape[d], (*types[i]->shape)[d]);
    }
  }
}

}  // namespace

LikelySizes SizesNamed(const SizesByName& sizes) {
  return LikelySizes::Of(WithLikelySizes(PrimFunc(tilewright::FunctionNode::Fields{}), sizes));
}

SizesByName TypicalSizes(const Function& function, SizesByName given) {
  std::vector<std::string> missing;
  for (const Var& param : function->params) {
    for (const Symbol& symbol : ExtentSymbols(param->type)) {
      if (!given.contains(symbol->name)) missing.push_back(symbol->name);
    }
  }
  if (missing.empty()) return given;
  Calls calls;
  calls.VisitFunction(function);
  for (int64_t size = kTypicalSize;; size /= 2) {
    for (const std::string& name : missing) {
      given[name] = size == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, size};
    }
    if (size == 1 || MostBytes(calls.tensors, SizesNamed(given)) <= kTypicalBytes) return given;
  }
}

SizesByName SizesWith(const std::vector<std::pair<Symbol, Expr>>& names, SizesByName sizes) {
  const LikelySizes likely = SizesNamed(sizes);
  for (const auto& [name, extent] : names) {
    sizes.erase(name->name);
    AddLikely(extent, likely, &sizes[name->name]);
  }
  return sizes;
}

PrimFunc WithSizes(const PrimFunc& program, const SizesByName& sizes) {
  if (sizes.empty()) return program;
  SizesByName own;
  for (const std::string& name : SymbolicExtents(program)) {
    if (const auto size = sizes.find(name); size != sizes.end()) own.insert(*size);
  }
  return WithLikelySizes(program, own);
}

GraphModule NameLikelySizes(const GraphModule& module, const SizesByName& given) {
  std::map<std::string, SizesByName> sizes;  // by program
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    const LikelySizes likely = SizesNamed(TypicalSizes(entry.function, given));
    Calls calls;
    calls.VisitFunction(entry.function);
    for (const CallTirNode* call : calls.of_programs) {
      AddSizes(*call, module.FindProgram(call->function), likely, &sizes[call->function]);
    }
  }
  GraphModule named = module;
  for (const auto& [name, own] : sizes) {
    if (!own.empty()) named.Set(WithSizes(module.FindProgram(name), own));
  }
  return named;
}

}  // namespace tilewright::graph
