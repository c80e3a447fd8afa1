#include "schedule/movement/cache_index.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/storage_scope.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "cache_index";

// An index, and the table that holds its values.
struct Table {
  Expr index;
  int64_t count = 0;
  std::vector<IterVar> iters;  // that it depends on, in the block's order
  Buffer buffer;

  BufferRegion At() const {
    std::vector<Expr> at;
    for (const IterVar& iter : iters) at.push_back(iter.var);
    return BufferRegion::Point(buffer, at);
  }
  Expr Load() const {
    std::vector<Expr> at;
    for (const IterVar& iter : iters) at.push_back(iter.var);
    return buffer.Load(std::move(at));
  }
};

// Whether an expression has a value whatever those of its operands are, and nothing else comes of it: tables hold
// values for all iterations, those too in which a condition stands before the index.
bool HasValue(const Expr& e) {
  if (const auto* call = dyn_cast<CallNode>(e)) return EffectOf(call->op) == CallEffect::kPure;
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || !op->dtype().is_integer()) return true;
  const bool divides = op->op == BinaryOp::kDiv || op->op == BinaryOp::kMod || op->op == BinaryOp::kFloorDiv ||
                       op->op == BinaryOp::kFloorMod;
  const auto divisor = AsInt(op->b);
  return !divides || (divisor && *divisor != 0);
}

class Collector : public Visitor {
 public:
  explicit Collector(const BlockNode& block) : block_(block) {}
  std::vector<Table> tables;
  bool has_blocks = false;

 protected:
  void VisitBlockRealize(const BlockRealizeNode*) override { has_blocks = true; }
  void VisitLoad(const LoadNode* op) override {
    for (const Expr& index : op->indices) {
      if (index.dtype().is_index()) Add(index);
    }
    Visitor::VisitLoad(op);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op == kIfThenElse) Add(op->args[0]);
    Visitor::VisitCall(op);
  }

 private:
  void Add(const Expr& index) {
    if (isa<VarNode>(index) || isa<IntImmNode>(index)) return;
    Table table{index, 1, {}, {}};
    for (const IterVar& iter : block_.iter_vars) {
      if (UsesVar(index, iter.var)) table.iters.push_back(iter);
    }
    bool follows = !table.iters.empty();
    PreOrder(index, [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      follows &= !isa<LoadNode>(e) && HasValue(e);
      follows &= var == nullptr || std::any_of(table.iters.begin(), table.iters.end(),
                                               [&](const IterVar& iter) { return iter.var.get() == var; });
      return true;
    });
    if (!follows) return;
    const auto known = std::find_if(tables.begin(), tables.end(),
                                    [&](const Table& other) { return StructuralEqual(other.index, index); });
    if (known != tables.end()) {
      ++known->count;
    } else {
      tables.push_back(std::move(table));
    }
  }
  const BlockNode& block_;
};

class TableUser : public Mutator {
 public:
  explicit TableUser(const std::vector<Table>& tables) : tables_(tables) {}

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    std::vector<Expr> indices;
    bool changed = false;
    for (const Expr& index : op->indices) {
      const auto table = std::find_if(tables_.begin(), tables_.end(),
                                      [&](const Table& other) { return StructuralEqual(other.index, index); });
      indices.push_back(table == tables_.end() ? Mutate(index) : table->Load());
      changed |= !indices.back().same_as(index);
    }
    return changed ? Expr(new LoadNode(op->buffer, std::move(indices), op->predicate)) : self;
  }
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    if (op->op != kIfThenElse) return Mutator::MutateCall(op, self);
    const auto table = std::find_if(tables_.begin(), tables_.end(),
                                    [&](const Table& other) { return StructuralEqual(other.index, op->args[0]); });
    const Expr condition = table == tables_.end() ? Mutate(op->args[0]) : table->Load();
    return IfThenElse(condition, Mutate(op->args[1]), Mutate(op->args[2]));
  }

 private:
  const std::vector<Table>& tables_;
};

Stmt MakeTable(const Table& table, const std::string& name, uint32_t* next_id, uint32_t* block_id) {
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings, at;
  BlockNode::Fields block;
  VarMap iters;
  for (size_t d = 0; d < table.iters.size(); ++d) {
    const IterVar& iter = table.iters[d];
    const Var loop("ax" + std::to_string(d), iter.var.dtype()), v("v" + std::to_string(d), iter.var.dtype());
    loops.push_back({.id = (*next_id)++, .var = loop, .extent = iter.domain.extent});
    block.iter_vars.push_back({v, iter.domain, IterKind::kSpatial});
    bindings.push_back(loop);
    at.push_back(v);
    iters[iter.var] = v;
  }
  block.id = *block_id = (*next_id)++;
  block.name = name;
  block.writes = {BufferRegion::Point(table.buffer, at)};
  block.body = Store(table.buffer, Substitute(table.index, iters), at);
  return Nest(std::move(loops), Realize(std::move(bindings), True(), Block(std::move(block))));
}

}  // namespace

Outcome<CacheIndexResult> CacheIndex(const Function& function, uint32_t block_id, std::string_view scope_text,
                                     int64_t cse_threshold) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  TW_ASSIGN_OR_RETURN(Scope named, ReadScope(kName, block_id, scope_text));
  Collector collector(*realize->block);
  collector.Visit(realize->block->init);
  collector.Visit(realize->block->body);
  if (collector.has_blocks) return Refusal{kName, "{block0} contains blocks", {block_id}};
  std::vector<Table>& tables = collector.tables;
  std::erase_if(tables, [&](const Table& table) { return table.count < cse_threshold; });
  if (tables.empty()) {
    return Refusal{kName, "{block0} loads at no index that takes computing", {block_id}};
  }
  for (const Table& table : tables) {
    for (const IterVar& iter : table.iters) {
      if (IsInt(iter.domain.min, 0)) continue;
      return Refusal{kName, "the iterator {text0} of {block0} does not start at 0", {block_id}, {}, {iter.var.name()}};
    }
  }

  CacheIndexResult result;
  uint32_t next_id = function->next_id;
  std::vector<Stmt> stmts;
  std::vector<Buffer> buffers;
  BlockNode::Fields block = realize->block->fields();
  for (size_t i = 0; i < tables.size(); ++i) {
    std::vector<Expr> shape;
    for (const IterVar& iter : tables[i].iters) shape.push_back(iter.domain.extent);
    tables[i].buffer = Buffer("index_var_" + std::to_string(i), std::move(shape), tables[i].index.dtype(), named);
    buffers.push_back(tables[i].buffer);
    result.blocks.emplace_back();
    stmts.push_back(MakeTable(tables[i], "index_" + std::to_string(i), &next_id, &result.blocks.back()));
    block.reads.push_back(tables[i].At());
  }
  TableUser user(tables);
  block.init = user.Mutate(block.init);
  block.body = user.Mutate(block.body);
  const BlockScope scope = BlockScope::Around(function, block_id);
  stmts.push_back(ReplaceStmt(scope.block()->body, realize,
                              Realize(realize->bindings, realize->predicate, Block(std::move(block)))));
  result.function = WithScopeBody(function, *scope.block(), Sequence(std::move(stmts)), std::move(buffers), next_id);
  return result;
}

}  // namespace tilewright
