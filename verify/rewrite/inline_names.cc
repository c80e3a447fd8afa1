#include "verify/rewrite/inline_names.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

constexpr int kMaxSize = 200;  // nodes of a value

// Variables in the descriptions of buffers, and whether there is a name at all.
class Buffers : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}
  std::unordered_set<const VarNode*> mentioned;
  bool has_names = false;

 protected:
  void VisitLetStmt(const LetStmtNode* op) override {
    has_names = true;
    Visitor::VisitLetStmt(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    Note(op->buffer);
    Visitor::VisitAllocate(op);
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    Note(op->buffer);
    Visitor::VisitDeclBuffer(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) Note(buffer);
    for (const MatchBuffer& match : op->match_buffers) Note(match.buffer);
    Visitor::VisitBlock(op);
  }

 private:
  void Note(const Buffer& buffer) {
    const auto note = [&](const Expr& e) {
      if (!e) return;
      PreOrder(e, [&](const Expr& part) {
        if (const auto* var = dyn_cast<VarNode>(part)) mentioned.insert(var);
        return true;
      });
    };
    for (const Expr& extent : buffer->shape) note(extent);
    for (const Expr& stride : buffer->strides) note(stride);
    note(buffer->elem_offset);
  }
};

// Whether the memory that the value is read from may change in the statement.
bool MayChange(const Expr& value, const Stmt& body) {
  std::unordered_set<const VarNode*> read;
  PreOrder(value, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) read.insert(load->buffer->data.get());
    return true;
  });
  if (read.empty()) return false;
  bool changes = false;
  PreOrder(body, [&](const Stmt& s) {
    const auto* store = dyn_cast<StoreNode>(s);
    changes = changes || (store != nullptr && read.contains(store->buffer->data.get()));
    return !changes;
  });
  PreOrderExprs(body, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    changes = changes || (call != nullptr && EffectOf(call->op) == CallEffect::kOpaque);
    return !changes;
  });
  return changes;
}

class Inliner : public Mutator {
 public:
  using Mutator::Mutate;
  explicit Inliner(const std::unordered_set<const VarNode*>& kept) : kept_(kept) {}

 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    const auto value = values_.find(Var(op));
    if (value == values_.end()) return self;
    if (std::ranges::find(used_, op) == used_.end()) used_.push_back(op);
    return value->second;
  }
  // What is read for a name outside of the block is not read by the block: its declaration has it too.
  Block MutateBlock(const Block& block) override {
    const VarMap outside = values_;
    const std::vector<const VarNode*> used = std::exchange(used_, {});
    Block result = Mutator::MutateBlock(block);
    BlockNode::Fields fields = result->fields();
    for (const VarNode* name : used_) {
      if (const auto value = outside.find(Var(name)); value != outside.end()) AddReads(value->second, &fields.reads);
    }
    if (fields.reads.size() != result->reads.size()) result = Block(std::move(fields));
    for (const VarNode* name : used) {
      if (std::ranges::find(used_, name) == used_.end()) used_.push_back(name);
    }
    return result;
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self) override {
    Expr value = Mutate(op->value);
    int size = 0;
    bool simple = op->var.dtype().is_integer() && !kept_.contains(op->var.get());
    PreOrder(value, [&](const Expr& e) {
      const auto* call = dyn_cast<CallNode>(e);
      simple = simple && ++size <= kMaxSize && (call == nullptr || EffectOf(call->op) == CallEffect::kPure);
      return simple;
    });
    if (!simple || MayChange(value, op->body)) return Mutator::MutateLetStmt(op, self);
    values_[op->var] = std::move(value);
    return Mutate(op->body);
  }

 private:
  static void AddReads(const Expr& value, std::vector<BufferRegion>* reads) {
    PreOrder(value, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr) return true;
      BufferRegion element{load->buffer, {}};
      for (const Expr& index : load->indices) element.region.push_back({index, Const(index.dtype(), 1)});
      reads->push_back(std::move(element));
      return true;
    });
  }

  const std::unordered_set<const VarNode*>& kept_;
  VarMap values_;
  std::vector<const VarNode*> used_;  // names in the block so far
};

}  // namespace

Function InlineNames(const Function& function) {
  Buffers buffers;
  buffers.Visit(function->body);
  if (!buffers.has_names) return function;
  FunctionNode::Fields fields = function->fields();
  fields.body = Inliner(buffers.mentioned).Mutate(function->body);
  return Function(std::move(fields));
}

}  // namespace tilewright
