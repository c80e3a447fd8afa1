#include "verify/rewrite/inline_tables.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "verify/rewrite/known_contents.h"

namespace tilewright {
namespace {

// Data of the buffers of integers with known contents that one store of the function fills.
KnownContents FindCandidates(const Function& function) {
  std::unordered_map<const VarNode*, int> stores;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* store = dyn_cast<StoreNode>(s);
    const DataType type = store == nullptr ? DataType::Float(32) : store->buffer->dtype;
    if (type.is_integer() || type.is_bool()) ++stores[store->buffer->data.get()];
    return true;
  });
  const auto is_single = [](const auto& stored) { return stored.second == 1; };
  if (std::ranges::none_of(stores, is_single)) return {};
  KnownContents known = FindKnownContents(function);
  std::erase_if(known, [&](const VarNode* data) { return !stores.contains(data) || stores[data] != 1; });
  return known;
}

class Inliner : public Mutator {
 public:
  using Mutator::Mutate;
  explicit Inliner(KnownContents candidates) : candidates_(std::move(candidates)) {}
  bool found_tables() const { return !tables_.empty(); }

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const Expr load = Mutator::MutateLoad(op, self);
    const auto table = tables_.find(op->buffer->data.get());
    if (table == tables_.end() || op->predicate) return load;
    const std::vector<Expr>& indices = cast<LoadNode>(load)->indices;
    if (!IsElement(op->buffer, indices) || !IsDeclared(op->buffer, indices)) return load;
    VarMap place;
    for (size_t d = 0; d < indices.size(); ++d) {
      place[table->second.place[d]] = CastTo(table->second.place[d].dtype(), indices[d]);
    }
    return Substitute(table->second.value, place);
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    Stmt stored = Mutator::MutateStore(op, self);
    if (candidates_.contains(op->buffer->data.get())) AddTable(*cast<StoreNode>(stored));
    return stored;
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const arith::Analyzer::Scope scope(&analyzer_);
    Bind(op->var, {op->min, op->extent});
    return Mutator::MutateFor(op, self);
  }
  Expr MutateLet(const LetNode* op, const Expr& self) override {
    bound_.insert(op->var.get());
    return Mutator::MutateLet(op, self);
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self) override {
    bound_.insert(op->var.get());
    return Mutator::MutateLetStmt(op, self);
  }
  Block MutateBlock(const Block& block) override {
    const arith::Analyzer::Scope scope(&analyzer_);
    for (const IterVar& iter : block->iter_vars) Bind(iter.var, iter.domain);
    // Nobody is outside of the root block, so it need not declare anything.
    const bool declares = block_ != nullptr || !block->reads.empty() || !block->writes.empty();
    const BlockNode* outer = std::exchange(block_, declares ? block.get() : nullptr);
    Block result = Mutator::MutateBlock(block);
    block_ = outer;
    return result;
  }

 private:
  struct Table {
    std::vector<Var> place;
    Expr value;
  };

  void Bind(const Var& var, const Range& range) {
    bound_.insert(var.get());
    if (!arith::ReadsMemory(range.min) && !arith::ReadsMemory(range.extent)) analyzer_.Bind(var, range);
  }
  void AddTable(const StoreNode& store) {
    if (store.predicate || !store.value.dtype().is_scalar() || store.value.dtype() != store.buffer->dtype) return;
    Table table{{}, store.value};
    std::unordered_set<const VarNode*> place;
    for (const Expr& index : store.indices) {
      const auto* var = dyn_cast<VarNode>(index);
      if (var == nullptr || !place.insert(var).second) return;
      table.place.emplace_back(var);
    }
    const auto varies = [&](const VarNode* var) { return bound_.contains(var) && !place.contains(var); };
    if (arith::ReadsMemory(store.value) || UsesVar(store.value, varies)) return;
    tables_.emplace(store.buffer->data.get(), std::move(table));
  }
  bool IsElement(const Buffer& buffer, const std::vector<Expr>& indices) {
    return IsInside(indices, BufferRegion::Full(buffer).region);
  }
  bool IsDeclared(const Buffer& buffer, const std::vector<Expr>& indices) {
    return block_ == nullptr || std::ranges::any_of(block_->reads, [&](const BufferRegion& read) {
             return read.buffer.same_as(buffer) && IsInside(indices, read.region);
           });
  }
  bool IsInside(const std::vector<Expr>& indices, const std::vector<Range>& region) {
    for (size_t d = 0; d < indices.size(); ++d) {
      const DataType type = indices[d].dtype();
      if (!type.is_scalar() || !analyzer_.CanProveInside({indices[d], Const(type, 1)}, region[d])) return false;
    }
    return true;
  }

  const KnownContents candidates_;
  arith::Analyzer analyzer_;
  std::unordered_map<const VarNode*, Table> tables_;  // by their data; those that were filled so far
  std::unordered_set<const VarNode*> bound_;          // variables that the body defines, so far
  const BlockNode* block_ = nullptr;
};

}  // namespace

Function InlineTables(const Function& function) {
  KnownContents candidates = FindCandidates(function);
  if (candidates.empty()) return function;
  Inliner inliner(std::move(candidates));
  const Stmt body = inliner.Mutate(function->body);
  if (!inliner.found_tables()) return function;
  FunctionNode::Fields fields = function->fields();
  fields.body = body;
  return Function(std::move(fields));
}

}  // namespace tilewright
