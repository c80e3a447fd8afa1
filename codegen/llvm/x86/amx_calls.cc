#include "codegen/llvm/x86/amx_calls.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "target/amx_registers.h"

namespace tilewright::codegen {
namespace {

// Whether two calls use the registers in the same way, on the same C.
bool SameSums(const CallNode* a, const CallNode* b) {
  for (const Arg arg : {kC, kTileStrideC, kStrideC, kTiles, kRows, kColumns, kDepth}) {
    if (!StructuralEqual(a->args[arg], b->args[arg])) return false;
  }
  return PointedType(a->args[kA]) == PointedType(b->args[kA]) && PointedType(a->args[kB]) == PointedType(b->args[kB]);
}

// Finds the sums that stay where they are while a statement runs.
class SumsFinder : public Visitor {
 public:
  using Visitor::Visit;

  // A call that makes them, or null when there are none, or several.
  const CallNode* Find(const Stmt& s) {
    Visit(s);
    if (call_ == nullptr || !stay_) return nullptr;
    const auto* pointer = cast<CallNode>(call_->args[kC]);
    const auto* data = dyn_cast<VarNode>(pointer->args[1]);
    if (data == nullptr || touched_.contains(data)) return nullptr;
    const auto is_bound = [&](const VarNode* var) { return bound_.contains(var); };
    const bool moves = UsesVar(call_->args[kC], is_bound) || UsesVar(call_->args[kTileStrideC], is_bound) ||
                       UsesVar(call_->args[kStrideC], is_bound);
    return moves ? nullptr : call_;
  }

 protected:
  void VisitFor(const ForNode* op) override {
    stay_ = stay_ && op->kind == ForKind::kSerial;
    bound_.insert(op->var.get());
    Visitor::VisitFor(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    bound_.insert(op->var.get());
    Visitor::VisitLetStmt(op);
  }
  // What is computed under a condition may not be there otherwise.
  void VisitIf(const IfNode*) override { stay_ = false; }
  void VisitWhile(const WhileNode*) override { stay_ = false; }
  void VisitCall(const CallNode* op) override {
    if (op->op != "amx_dot_add") {
      stay_ = stay_ && EffectOf(op->op) != CallEffect::kOpaque;
      return Visitor::VisitCall(op);
    }
    stay_ = stay_ && PointedType(op->args[kC]) != DataType::Void() && (call_ == nullptr || SameSums(call_, op));
    call_ = op;
    for (const Arg arg : {kTileStrideC, kStrideC, kA, kTileStrideA, kStrideA, kB, kStrideB}) Visit(op->args[arg]);
  }
  void VisitLoad(const LoadNode* op) override {
    touched_.insert(op->buffer->data.get());
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    touched_.insert(op->buffer->data.get());
    Visitor::VisitStore(op);
  }
  void VisitVar(const VarNode* op) override { touched_.insert(op); }

 private:
  const CallNode* call_ = nullptr;
  bool stay_ = true;
  std::unordered_set<const VarNode*> bound_, touched_;
};

class ProductCounter : public Visitor {
 public:
  explicit ProductCounter(const Stmt& s) { Visit(s); }
  int64_t count() const { return count_; }

 protected:
  void VisitFor(const ForNode* op) override {
    const int64_t before = std::exchange(count_, 0);
    Visitor::VisitFor(op);
    Set(before + count_ * std::min(AsInt(op->extent).value_or(kMostProducts + 1), kMostProducts + 1));
  }
  void VisitCall(const CallNode* op) override {
    Visitor::VisitCall(op);
    if (op->op != "amx_dot_add") return;
    const auto size = [&](Arg arg) { return AsInt(op->args[arg]).value_or(0); };
    const std::optional<AmxTiles> tiles = AmxTilesOf(size(kTiles), size(kRows), size(kColumns));
    if (tiles) Set(count_ + tiles->row_tiles * tiles->column_tiles);
  }

 private:
  void Set(int64_t count) { count_ = std::min(count, kMostProducts + 1); }

  int64_t count_ = 0;
};

class TileUsesFinder : public Visitor {
 public:
  using Visitor::Visit;
  explicit TileUsesFinder(bool inside_parallel) : inside_parallel_(inside_parallel) {}

  TileUses uses;

 protected:
  void VisitFor(const ForNode* op) override {
    uses.others = uses.others || (op->kind == ForKind::kParallel && !inside_parallel_);
    Visitor::VisitFor(op);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op == "amx_dot_add" || op->op == "amx_zero") {
      uses.calls.push_back(op);
    } else {
      uses.others = uses.others || EffectOf(op->op) == CallEffect::kOpaque;
    }
    Visitor::VisitCall(op);
  }

 private:
  const bool inside_parallel_;
};

}  // namespace

DataType PointedType(const Expr& pointer) {
  const auto* call = dyn_cast<CallNode>(pointer);
  return call != nullptr && call->op == kAccessPtr ? call->args[0].dtype() : DataType::Void();
}

bool ZeroesSums(const CallNode* zero, const CallNode* dot) {
  const auto *a = dyn_cast<CallNode>(zero->args[kC]), *b = dyn_cast<CallNode>(dot->args[kC]);
  const bool same_start = a != nullptr && b != nullptr && a->op == kAccessPtr && b->op == kAccessPtr &&
                          a->args[0].dtype() == b->args[0].dtype() && StructuralEqual(a->args[1], b->args[1]) &&
                          StructuralEqual(a->args[2], b->args[2]);
  bool same = same_start && StructuralEqual(zero->args[kTileStrideC], dot->args[kTileStrideC]) &&
              StructuralEqual(zero->args[kStrideC], dot->args[kStrideC]);
  for (size_t i = 0; i < 3; ++i) same = same && StructuralEqual(zero->args[kZeroTiles + i], dot->args[kTiles + i]);
  return same;
}

const CallNode* CallOf(const Stmt& s, std::string_view name) {
  const auto* evaluate = dyn_cast<EvaluateNode>(s);
  const auto* call = evaluate == nullptr ? nullptr : dyn_cast<CallNode>(evaluate->value);
  return call != nullptr && call->op == name ? call : nullptr;
}

const CallNode* SumsThatStay(const Stmt& s) { return SumsFinder().Find(s); }

int64_t ProductsOfTiles(const Stmt& s) { return ProductCounter(s).count(); }

TileUses TileUsesOf(const Stmt& s, bool inside_parallel) {
  TileUsesFinder finder(inside_parallel);
  finder.Visit(s);
  return finder.uses;
}

}  // namespace tilewright::codegen
