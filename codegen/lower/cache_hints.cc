#include "codegen/lower/cache_hints.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

using Pointers = std::unordered_set<const VarNode*>;

// Of a store that goes past the caches: less would write a line by parts.
constexpr int kLeastStreamedBytes = 32;

// The first of the elements that a vector access takes next to each other; null for other accesses.
Expr FirstOfVector(const Expr& index) {
  const auto* ramp = dyn_cast<RampNode>(index);
  return ramp != nullptr && IsInt(ramp->stride, 1) ? ramp->base : Expr();
}

Pointers LoadedIn(const Stmt& stmt) {
  Pointers loaded;
  PreOrderExprs(stmt, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) loaded.insert(load->buffer->data.get());
    return true;
  });
  return loaded;
}

// Before each store, the vectors that it loads of the buffers, as of the next iteration.
class PrefetchInStores : public StmtMutator {
 public:
  PrefetchInStores(Var loop, const Pointers& pointers) : loop_(std::move(loop)), pointers_(pointers) {}

 protected:
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    std::vector<Stmt> stmts;
    std::vector<Expr> seen;
    PreOrder(op->value, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || !pointers_.contains(load->buffer->data.get())) return true;
      const Expr first = FirstOfVector(load->indices[0]);
      if (!first || !UsesVar(first, loop_)) return true;
      if (std::ranges::any_of(seen, [&](const Expr& other) { return StructuralEqual(other, first); })) return true;
      seen.push_back(first);
      const Expr next = load->buffer.Load({Substitute(first, {{loop_, loop_ + 1}})});
      stmts.push_back(Evaluate(
          Call(DataType::Void(), std::string(kPrefetch), {Call(DataType::Handle(), std::string(kAddressOf), {next})})));
      return true;
    });
    stmts.push_back(self);
    return Sequence(std::move(stmts));
  }

 private:
  const Var loop_;
  const Pointers& pointers_;
};

// Of a loop's body: what follows each other below the allocations.
class PrefetchSecondReads : public StmtMutator {
 public:
  PrefetchSecondReads(Var loop, const Pointers& params) : loop_(std::move(loop)), params_(params) {}

 protected:
  Stmt MutateFor(const ForNode*, const Stmt& self) override { return Visit(self); }
  Stmt MutateStore(const StoreNode*, const Stmt& self) override { return Visit(self); }

 private:
  Stmt Visit(const Stmt& stage) {
    Pointers again;
    for (const VarNode* pointer : LoadedIn(stage)) {
      if (params_.contains(pointer) && ++reads_[pointer] == 2) again.insert(pointer);
    }
    return again.empty() ? stage : PrefetchInStores(loop_, again).Mutate(stage);
  }

  const Var loop_;
  const Pointers& params_;
  std::unordered_map<const VarNode*, int> reads_;  // in how many stages
};

class StreamStores : public StmtMutator {
 public:
  StreamStores(const Pointers& params, const Pointers& loaded) : params_(params), loaded_(loaded) {}

 protected:
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const VarNode* pointer = op->buffer->data.get();
    const DataType type = op->value.dtype();
    if (!params_.contains(pointer) || loaded_.contains(pointer) || op->predicate || !FirstOfVector(op->indices[0]) ||
        type.bytes() * type.lanes() < kLeastStreamedBytes) {
      return self;
    }
    return Stmt(new AttrStmtNode(Const(DataType::Int(32), 0), kStream, Const(DataType::Int(32), 1), self));
  }

 private:
  const Pointers& params_;
  const Pointers& loaded_;
};

class CacheHints : public StmtMutator {
 public:
  explicit CacheHints(const Function& function) : loaded_(LoadedIn(function->body)) {
    for (const Param& param : function->params) {
      if (param.buffer) params_.insert(param.buffer->data.get());
    }
  }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const bool prefetch = op->annotations.contains(kPrefetchNext), stream = op->annotations.contains(kStream);
    if (!prefetch && !stream) return StmtMutator::MutateFor(op, self);
    Stmt body = op->body;
    if (prefetch) body = PrefetchSecondReads(op->var, params_).Mutate(body);
    if (stream) body = StreamStores(params_, loaded_).Mutate(body);
    ForNode::Fields fields = op->fields();
    fields.body = std::move(body);
    std::erase_if(fields.annotations,
                  [](const auto& entry) { return entry.first == kPrefetchNext || entry.first == kStream; });
    return For(std::move(fields));
  }

 private:
  Pointers params_;
  const Pointers loaded_;
};

}  // namespace

Function InsertCacheHints(const Function& function) {
  return function.WithBody(CacheHints(function).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
