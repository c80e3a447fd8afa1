#include "verify/threads/memory_values.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "verify/structure/own_memory.h"

namespace tilewright {
namespace {

// Whether memory decides a place or a condition, or a name stands for a value.
class UsesMemory : public Visitor {
 public:
  using Visitor::Visit;
  bool found = false;
  void Visit(const Stmt& s) override {
    if (!found) Visitor::Visit(s);
  }

 protected:
  void VisitLoad(const LoadNode* op) override {
    NoteAll(op->indices);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    NoteAll(op->indices);
    Visitor::VisitStore(op);
  }
  void VisitFor(const ForNode* op) override {
    Note(op->min);
    Note(op->extent);
    Visitor::VisitFor(op);
  }
  void VisitIf(const IfNode* op) override {
    Note(op->condition);
    Visitor::VisitIf(op);
  }
  void VisitWhile(const WhileNode*) override { found = true; }
  void VisitLetStmt(const LetStmtNode*) override { found = true; }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    NoteAll(op->bindings);
    Note(op->predicate);
    for (const auto* regions : {&op->block->reads, &op->block->writes}) {
      for (const BufferRegion& region : *regions) {
        for (const Range& range : region.region) {
          Note(range.min);
          Note(range.extent);
        }
      }
    }
    Visitor::VisitBlockRealize(op);
  }

 private:
  void Note(const Expr& e) { found = found || (e && arith::ReadsMemory(e)); }
  void NoteAll(const std::vector<Expr>& list) {
    for (const Expr& e : list) Note(e);
  }
};

void Merge(LoopSet* into, const LoopSet& more) { into->insert(more.begin(), more.end()); }

}  // namespace

// What memory of each buffer may depend on, whenever it is read: grows until nothing is new.
class FindContents : public Visitor {
 public:
  using Visitor::Visit;
  explicit FindContents(MemoryValues* values) : values_(*values) {}
  void Run(const Function& function) {
    do {
      grew_ = false;
      Visit(function->body);
    } while (grew_);
  }

 protected:
  void VisitFor(const ForNode* op) override {
    MemoryValues::Contents values = ContentsOf(op->min);
    const auto same = std::ranges::find_if(loops_, [&](const ForNode* outer) {
      return op->thread_tag.starts_with("threadIdx") && outer->thread_tag == op->thread_tag;
    });
    values.loops.insert(same == loops_.end() ? op : *same);
    Grow(&values_.variables_[op->var.get()], values);
    Under(op->extent, [&] {
      loops_.push_back(op);
      Visit(op->body);
      loops_.pop_back();
    });
    Visit(op->min);
    Visit(op->extent);
  }
  void VisitWhile(const WhileNode* op) override {
    Visit(op->condition);
    Under(op->condition, [&] { Visit(op->body); });
  }
  void VisitIf(const IfNode* op) override {
    Visit(op->condition);
    Under(op->condition, [&] {
      Visit(op->then_case);
      if (op->else_case) Visit(op->else_case);
    });
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    Grow(&values_.variables_[op->var.get()], ContentsOf(op->value));
    Visitor::VisitLetStmt(op);
  }
  void VisitLet(const LetNode* op) override {
    Grow(&values_.variables_[op->var.get()], ContentsOf(op->value));
    Visitor::VisitLet(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    const BlockNode& block = *op->block;
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      Grow(&values_.variables_[block.iter_vars[i].var.get()], ContentsOf(op->bindings[i]));
    }
    for (const MatchBuffer& match : block.match_buffers) {
      values_.source_of_[match.buffer->data.get()] = match.source.buffer->data.get();
    }
    Under(op->predicate, [&] {
      Visit(block.init);
      Visit(block.body);
    });
  }
  void VisitStore(const StoreNode* op) override {
    Visitor::VisitStore(op);
    MemoryValues::Contents stored = control_;
    Merge(&stored, ContentsOf(op->value));
    for (const Expr& index : op->indices) Merge(&stored, ContentsOf(index));
    Write(values_.RootOf(op->buffer), stored);
  }
  void VisitCall(const CallNode* op) override {
    Visitor::VisitCall(op);
    MemoryValues::Contents unknown;
    unknown.loops.insert(loops_.begin(), loops_.end());
    for (const VarNode* data : values_.ReachedBy(*op)) Write(data, unknown);
  }

 private:
  MemoryValues::Contents ContentsOf(const Expr& e) const { return {values_.DependsOn(e), values_.LookedUpBy(e)}; }
  static void Merge(MemoryValues::Contents* into, const MemoryValues::Contents& more) {
    into->loops.insert(more.loops.begin(), more.loops.end());
    into->looked_up.insert(more.looked_up.begin(), more.looked_up.end());
  }
  void Grow(MemoryValues::Contents* known, const MemoryValues::Contents& more) {
    const MemoryValues::Contents before = *known;
    Merge(known, more);
    grew_ |= !(*known == before);
  }
  void Write(const VarNode* data, const MemoryValues::Contents& stored) {
    values_.written_.insert(data);
    Grow(&values_.contents_[data], stored);
  }
  template <class Visits>
  void Under(const Expr& condition, Visits visits) {
    const MemoryValues::Contents outer = control_;
    Merge(&control_, ContentsOf(condition));
    visits();
    control_ = outer;
  }

  MemoryValues& values_;
  std::vector<const ForNode*> loops_;
  MemoryValues::Contents control_;  // what decides whether a thread comes here
  bool grew_ = false;
};

MemoryValues::MemoryValues(const Function& function) {
  UsesMemory uses;
  uses.Visit(function->body);
  any_ = uses.found;
  if (any_) FindContents(this).Run(function);
}

const VarNode* MemoryValues::RootOf(const VarNode* data) const {
  for (auto source = source_of_.find(data); source != source_of_.end(); source = source_of_.find(data)) {
    data = source->second;
  }
  return data;
}

// Values of memory that is shared are the same for all that share it.
void MemoryValues::AddLoops(const Buffer& buffer, const LoopSet& loops, LoopSet* found) const {
  const bool by_all = buffer->scope.owner() == OwnerLevel::kDevice;
  for (const ForNode* loop : loops) {
    const bool is_shared = loop->thread_tag.starts_with("threadIdx") && !HasOwnMemory(buffer, *loop);
    if (by_all || !is_shared) found->insert(loop);
  }
}

LoopSet MemoryValues::DependsOn(const Expr& e) const {
  LoopSet loops;
  if (!e) return loops;
  PreOrder(e, [&](const Expr& part) {
    if (const auto* var = dyn_cast<VarNode>(part)) {
      if (const auto known = variables_.find(var); known != variables_.end()) Merge(&loops, known->second.loops);
      if (const auto value = values_.find(var); value != values_.end()) Merge(&loops, value->second.loops);
    }
    if (const auto* load = dyn_cast<LoadNode>(part)) {
      const auto contents = contents_.find(RootOf(load->buffer));
      if (contents != contents_.end()) AddLoops(load->buffer, contents->second.loops, &loops);
    }
    return true;
  });
  return loops;
}

LoopSet MemoryValues::LookedUpBy(const Expr& e) const {
  LoopSet loops;
  if (!e) return loops;
  PreOrder(e, [&](const Expr& part) {
    if (const auto* var = dyn_cast<VarNode>(part)) {
      if (const auto known = variables_.find(var); known != variables_.end()) Merge(&loops, known->second.looked_up);
    }
    const auto* load = dyn_cast<LoadNode>(part);
    if (load == nullptr) return true;
    const VarNode* root = RootOf(load->buffer);
    if (!written_.contains(root)) {
      for (const Expr& index : load->indices) Merge(&loops, DependsOn(index));
    } else if (const auto contents = contents_.find(root); contents != contents_.end()) {
      AddLoops(load->buffer, contents->second.looked_up, &loops);
    }
    return true;
  });
  return loops;
}

bool MemoryValues::HasNames(const Expr& e) const {
  return !values_.empty() && UsesVar(e, [&](const VarNode* var) { return values_.contains(var); });
}

Expr MemoryValues::Named(const Expr& e) {
  if (!e || !arith::ReadsMemory(e)) return e;
  return RewriteExpr(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    if (load == nullptr || load->predicate || !part.dtype().is_scalar()) return part;
    const VarNode* root = RootOf(load->buffer);
    const int version = version_[root];
    for (const Known& known : known_) {
      if (known.version == version && arith::SameExpr(known.load, part)) return Expr(known.name);
    }
    MemoryValue value;
    value.loops = DependsOn(part);
    const bool is_table = !written_.contains(root);
    const OwnerLevel owner = load->buffer->scope.owner();
    value.lasts = is_table;
    value.is_steady = is_table || (!unsteady_.contains(root) && owner != OwnerLevel::kDevice);
    for (const Expr& index : load->indices) {
      PreOrder(index, [&](const Expr& inner) {
        const auto name = values_.find(dyn_cast<VarNode>(inner));
        if (name == values_.end()) return true;
        value.lasts &= name->second.lasts;
        value.is_steady &= name->second.is_steady;
        return true;
      });
    }
    if (is_table) {
      for (const Expr& index : load->indices) {
        for (Expr& by : DecidedBy(index, values_)) value.decided_by.push_back(std::move(by));
      }
    } else {
      for (const ForNode* loop : LookedUpBy(part)) value.decided_by.emplace_back(loop->var);
    }
    Var name("m" + std::to_string(known_.size()), part.dtype());
    values_[name.get()] = std::move(value);
    known_.push_back({part, version, name});
    return Expr(name);
  });
}

std::vector<Expr> DecidedBy(const Expr& e, const ValuesByName& values) {
  std::vector<Expr> found;
  VarMap none;
  const auto add = [&](const Expr& part) {
    const auto same = [&](const Expr& other) { return arith::SameExpr(other, part); };
    if (std::ranges::none_of(found, same)) found.push_back(part);
  };
  PreOrder(e, [&](const Expr& part) {
    const auto* var = dyn_cast<VarNode>(part);
    const auto value = values.find(var);
    if (value == values.end()) return true;
    none[Var(var)] = Const(part.dtype(), 0);
    for (const Expr& by : value->second.decided_by) add(by);
    return true;
  });
  const Expr rest = none.empty() ? e : arith::Analyzer().Simplify(Substitute(e, none));
  if (!isa<IntImmNode>(rest)) add(rest);
  return found;
}

// Whoever gets a pointer may write anything there.
std::vector<const VarNode*> MemoryValues::ReachedBy(const CallNode& call) const {
  std::vector<const VarNode*> reached;
  if (EffectOf(call.op) == CallEffect::kPure && call.op != kAddressOf) return reached;
  for (const Expr& arg : call.args) {
    if (const auto* load = dyn_cast<LoadNode>(arg)) reached.push_back(RootOf(load->buffer));
    PreOrder(arg, [&](const Expr& part) {
      if (const auto* var = dyn_cast<VarNode>(part)) reached.push_back(RootOf(var));
      return !isa<LoadNode>(part);
    });
  }
  return reached;
}

const std::vector<const VarNode*>& MemoryValues::StoredIn(const Stmt& s) {
  const auto [known, is_new] = stored_in_.try_emplace(s.get());
  if (!is_new) return known->second;
  std::unordered_set<const VarNode*> found;
  PreOrder(s, [&](const Stmt& part) {
    if (const auto* store = dyn_cast<StoreNode>(part)) found.insert(RootOf(store->buffer));
    return true;
  });
  PreOrderExprs(s, [&](const Expr& e) {
    if (const auto* call = dyn_cast<CallNode>(e)) {
      for (const VarNode* data : ReachedBy(*call)) found.insert(data);
    }
    return true;
  });
  known->second.assign(found.begin(), found.end());
  return known->second;
}

void MemoryValues::Change(const Stmt& s) {
  for (const VarNode* data : StoredIn(s)) ++version_[data];
}
void MemoryValues::EnterUnsteady(const Stmt& body) {
  for (const VarNode* data : StoredIn(body)) ++unsteady_[data];
}
void MemoryValues::LeaveUnsteady(const Stmt& body) {
  for (const VarNode* data : StoredIn(body)) {
    if (--unsteady_[data] == 0) unsteady_.erase(data);
  }
}

}  // namespace tilewright
