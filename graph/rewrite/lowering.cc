#include "graph/rewrite/lowering.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "graph/ir/call_types.h"
#include "ir/functor.h"

namespace tilewright::graph {
namespace {

// The variables that a program uses and does not define.
class FreeVariables : public tilewright::Visitor {
 public:
  using tilewright::Visitor::Visit;
  void VisitFunctionBody(const PrimFunc& function) {
    for (const Param& param : function->params) {
      if (!param.buffer) defined_.insert(param.var.get());
      if (param.buffer) defined_.insert(param.buffer->data.get());
    }
    // Whole extents of parameters get their values from the arrays.
    for (const Param& param : function->params) {
      if (!param.buffer) continue;
      for (const Expr& extent : param.buffer->shape) {
        if (const auto* symbol = dyn_cast<SymbolNode>(extent)) defined_.insert(symbol);
      }
    }
    for (const Param& param : function->params) {
      if (param.buffer) VisitAll(param.buffer->shape);
    }
    Visit(function->body);
  }
  std::vector<Symbol> free() const { return free_; }

 protected:
  void VisitVar(const SymbolNode* var) override {
    if (defined_.insert(var).second) free_.push_back(Symbol(var));
  }
  void VisitFor(const ForNode* op) override {
    defined_.insert(op->var.get());
    tilewright::Visitor::VisitFor(op);
  }
  void VisitLet(const LetNode* op) override {
    defined_.insert(op->var.get());
    tilewright::Visitor::VisitLet(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    defined_.insert(op->var.get());
    tilewright::Visitor::VisitLetStmt(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const IterVar& iter : op->iter_vars) defined_.insert(iter.var.get());
    for (const Buffer& buffer : op->alloc_buffers) {
      defined_.insert(buffer->data.get());
      VisitAll(buffer->shape);
    }
    tilewright::Visitor::VisitBlock(op);
  }

 private:
  std::unordered_set<const SymbolNode*> defined_;
  std::vector<Symbol> free_;
};

}  // namespace

void LoweringTable::Add(std::string op, Lowering lowering) {
  TW_CHECK(lowerings_.emplace(op, std::move(lowering)).second) << "operator " << op << " already has a lowering";
}

const Lowering* LoweringTable::Find(std::string_view op) const {
  const auto it = lowerings_.find(op);
  return it == lowerings_.end() ? nullptr : &it->second;
}

Buffer ProgramWriter::Input(const Value& tensor) {
  for (size_t i = 0; i < args_.size(); ++i) {
    if (args_[i].same_as(tensor)) return inputs_[i];
  }
  const Type type = TypeOf(tensor);
  const auto* node = dyn_cast<TensorTypeNode>(type);
  TW_CHECK(node != nullptr && node->shape) << "an input of " << name_ << " that is not a tensor of known rank";
  std::string name(1, static_cast<char>('A' + inputs_.size() % 26));
  if (inputs_.size() >= 26) name += std::to_string(inputs_.size() / 26);
  args_.push_back(tensor);
  inputs_.push_back(f_.Input(std::move(name), *node->shape, node->dtype));
  return inputs_.back();
}

Buffer ProgramWriter::Compute(const std::string& name, const Type& type,
                              const std::function<ComputeBody(const std::vector<Expr>&)>& element) {
  const auto* tensor = dyn_cast<TensorTypeNode>(type);
  TW_CHECK(tensor != nullptr && tensor->shape) << "a result of " << name_ << " that is not a tensor of known rank";
  return f_.Compute(name, *tensor->shape, [&](const std::vector<tilewright::Var>& vars) {
    ComputeBody body = element(std::vector<Expr>(vars.begin(), vars.end()));
    body.value = CastTo(tensor->dtype, body.value);
    if (body.identity) body.identity = CastTo(tensor->dtype, body.identity);
    return body;
  });
}

PrimFunc WithSymbolParams(const PrimFunc& program, std::vector<Expr>* symbols) {
  FreeVariables variables;
  variables.VisitFunctionBody(program);
  if (variables.free().empty()) return program;
  tilewright::FunctionNode::Fields fields = program->fields();
  for (const Symbol& symbol : variables.free()) {
    fields.params.push_back({symbol, Buffer()});
    symbols->push_back(symbol);
  }
  return PrimFunc(std::move(fields));
}

absl::StatusOr<Value> ProgramWriter::Call(const std::vector<Buffer>& outputs, const Type& out) {
  std::vector<Expr> symbols;
  const PrimFunc program = WithSymbolParams(f_.Build(outputs), &symbols);
  const std::string name = b_.AddProgram(program, name_);
  return Value(CallTir(name, args_, out, std::move(symbols)));
}

Expr LoadBroadcast(const Buffer& x, const std::vector<Expr>& indices, const std::vector<Expr>& shape) {
  const size_t offset = indices.size() - x->shape.size();
  std::vector<Expr> at;
  for (size_t i = 0; i < x->shape.size(); ++i) {
    // Other extents are equal by the guards of the function, so nothing is decided when the program runs.
    const bool stretched = IsInt(x->shape[i], 1) && !IsInt(shape[offset + i], 1);
    at.push_back(stretched ? Extent(0) : indices[offset + i]);
  }
  return x.Load(std::move(at));
}

}  // namespace tilewright::graph
