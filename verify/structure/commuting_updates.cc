#include "verify/structure/commuting_updates.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "intrin/instructions.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

enum class Update : uint8_t {
  kNone,  // does not use the element
  kKeep,  // the element as it was
  kSum,
  kProduct,
  kMin,
  kMax,
  kMinOrNan,  // that passes NaN on
  kMaxOrNan,
  kAnd,
  kOr,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  kOther,  // in a way that is not known to commute
};

class Checker : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  explicit Checker(const BlockNode& block) {
    for (const BufferRegion& write : block.writes) outputs_.insert(write.buffer->data.get());
    AddParts(block);
  }
  bool commutes = true;

 protected:
  void VisitStore(const StoreNode* op) override {
    if (Uses(op->predicate) || std::ranges::any_of(op->indices, [&](const Expr& e) { return Uses(e); })) {
      commutes = false;
      return;
    }
    const Expr value = Now(op->value);
    if (!outputs_.contains(op->buffer->data.get())) {
      // Memory of the block's own: what it holds may not come from the outputs.
      commutes &= !Uses(value);
      return;
    }
    const Update update = UpdateOf(value, *op);
    Update& known = updates_.try_emplace(op->buffer->data.get(), update).first->second;
    if (known == Update::kKeep) known = update;
    commutes &= update == Update::kKeep || (update == known && update != Update::kNone && update != Update::kOther);
  }
  void VisitIf(const IfNode* op) override {
    commutes &= !Uses(op->condition);
    StmtVisitor::VisitIf(op);
  }
  void VisitFor(const ForNode* op) override {
    commutes &= !Uses(op->min) && !Uses(op->extent);
    StmtVisitor::VisitFor(op);
  }
  void VisitWhile(const WhileNode*) override { commutes = false; }
  void VisitLetStmt(const LetStmtNode* op) override {
    values_[op->var] = Now(op->value);
    Visit(op->body);
    values_.erase(op->var);
  }
  void VisitEvaluate(const EvaluateNode* op) override { commutes &= !Uses(op->value) || CallsOutside(op->value); }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    commutes &= !Uses(op->predicate) && std::ranges::none_of(op->bindings, [&](const Expr& e) { return Uses(e); });
    // An init inside sets what instances of the block around have made.
    commutes &= !op->block->init;
    AddParts(*op->block);
    Visit(op->block->body);
  }

 private:
  void AddParts(const BlockNode& block) {
    for (const MatchBuffer& match : block.match_buffers) {
      if (outputs_.contains(match.source.buffer->data.get())) outputs_.insert(match.buffer->data.get());
    }
  }
  Expr Now(const Expr& e) const { return values_.empty() ? e : Substitute(e, values_); }

  static bool CallsOutside(const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    return call != nullptr && EffectOf(call->op) != CallEffect::kPure;
  }

  bool Uses(const Expr& value) const {
    if (!value) return false;
    bool uses = false;
    PreOrder(Now(value), [&](const Expr& part) {
      const auto* load = dyn_cast<LoadNode>(part);
      uses |= load != nullptr && outputs_.contains(load->buffer->data.get());
      return !uses;
    });
    return uses;
  }

  // How `e` is made of the element that `store` stores to.
  Update UpdateOf(const Expr& e, const StoreNode& store) const {
    if (!Uses(e)) return Update::kNone;
    if (const auto* load = dyn_cast<LoadNode>(e)) {
      const bool same = load->buffer.same_as(store.buffer) && !load->predicate &&
                        std::ranges::equal(load->indices, store.indices, arith::SameExpr);
      return same ? Update::kKeep : Update::kOther;
    }
    if (const auto* cast_node = dyn_cast<CastNode>(e)) {
      const Update update = UpdateOf(cast_node->value, store);
      const bool alike = e.dtype().is_float() == cast_node->value.dtype().is_float();
      return alike && (update == Update::kKeep || update == Update::kSum) ? update : Update::kOther;
    }
    if (const auto* op = dyn_cast<BinaryNode>(e)) return UpdateOfBinary(*op, store);
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      if (Uses(select->condition)) return OrNan(select->condition, select->true_value, select->false_value, store);
      return EitherOf(select->true_value, select->false_value, store);
    }
    const auto* call = dyn_cast<CallNode>(e);
    if (call == nullptr) return Update::kOther;
    if (call->op == kIfThenElse) {
      if (Uses(call->args[0])) return OrNan(call->args[0], call->args[1], call->args[2], store);
      return EitherOf(call->args[1], call->args[2], store);
    }
    if (const Update bits = BitwiseOf(*call); bits != Update::kOther) {
      const Update a = UpdateOf(call->args[0], store), b = UpdateOf(call->args[1], store);
      return a != Update::kNone && b != Update::kNone ? Update::kOther : Combine(bits, a == Update::kNone ? b : a);
    }
    if (call->op == kDotAdd && !Uses(call->args[1]) && !Uses(call->args[2])) {
      return Combine(Update::kSum, UpdateOf(call->args[0], store));
    }
    if (call->op == "fma" && !Uses(call->args[0]) && !Uses(call->args[1])) {
      return Combine(Update::kSum, UpdateOf(call->args[2], store));
    }
    return call->op == "call_llvm_pure_intrin" ? UpdateOfLlvm(*call, store) : Update::kOther;
  }
  // The operand to which LLVM's intrinsic adds products of the others is the first one of an instruction of the table,
  // and the last one of a fused multiply-add. What others do to the element is not known.
  Update UpdateOfLlvm(const CallNode& call, const StoreNode& store) const {
    const auto* name = dyn_cast<StringImmNode>(call.args[0]);
    if (name == nullptr || call.args.size() != 4) return Update::kOther;
    const bool fuses = name->value.starts_with("llvm.fma.") || name->value.starts_with("llvm.fmuladd.");
    const bool adds = std::ranges::any_of(Instructions(), [&](const MachineInstruction& row) {
      return row.llvm == name->value && !row.ByParts() && !row.moves() && row.family != "lookup";
    });
    const size_t sum = fuses ? 3 : 1;
    for (size_t i = 1; i < call.args.size(); ++i) {
      if (i != sum && Uses(call.args[i])) return Update::kOther;
    }
    return fuses || adds ? Combine(Update::kSum, UpdateOf(call.args[sum], store)) : Update::kOther;
  }
  static Update BitwiseOf(const CallNode& call) {
    if (call.op == "bitwise_and") return Update::kBitwiseAnd;
    if (call.op == "bitwise_or") return Update::kBitwiseOr;
    return call.op == "bitwise_xor" ? Update::kBitwiseXor : Update::kOther;
  }
  Update UpdateOfBinary(const BinaryNode& op, const StoreNode& store) const {
    const Update a = UpdateOf(op.a, store), b = UpdateOf(op.b, store);
    if (op.op == BinaryOp::kSub) return b == Update::kNone ? Combine(Update::kSum, a) : Update::kOther;
    if (a != Update::kNone && b != Update::kNone) return Update::kOther;
    const Update of = a == Update::kNone ? b : a;
    switch (op.op) {
      case BinaryOp::kAdd:
        return Combine(Update::kSum, of);
      case BinaryOp::kMul:
        return Combine(Update::kProduct, of);
      case BinaryOp::kMin:
        return Combine(Update::kMin, of);
      case BinaryOp::kMax:
        return Combine(Update::kMax, of);
      case BinaryOp::kAnd:
        return Combine(Update::kAnd, of);
      case BinaryOp::kOr:
        return Combine(Update::kOr, of);
      default:
        return Update::kOther;
    }
  }
  // T.Select(T.isnan(C[i]), C[i], T.max(C[i], value)): T.max gives its second operand where one of both is NaN.
  Update OrNan(const Expr& condition, const Expr& kept, const Expr& otherwise, const StoreNode& store) const {
    const auto* asks = dyn_cast<CallNode>(condition);
    const auto* extreme = dyn_cast<BinaryNode>(otherwise);
    if (asks == nullptr || asks->op != "isnan" || extreme == nullptr || Uses(extreme->b)) return Update::kOther;
    const Expr* const same[] = {&asks->args[0], &kept, &extreme->a};
    const bool keeps = std::ranges::all_of(same, [&](const Expr* e) { return UpdateOf(*e, store) == Update::kKeep; });
    if (!keeps || (extreme->op != BinaryOp::kMin && extreme->op != BinaryOp::kMax)) return Update::kOther;
    return extreme->op == BinaryOp::kMin ? Update::kMinOrNan : Update::kMaxOrNan;
  }
  static Update Combine(Update by, Update inner) { return inner == Update::kKeep || inner == by ? by : Update::kOther; }
  Update EitherOf(const Expr& x, const Expr& y, const StoreNode& store) const {
    const Update a = UpdateOf(x, store), b = UpdateOf(y, store);
    if (a == Update::kKeep) return b == Update::kNone ? Update::kOther : b;
    if (b == Update::kKeep) return a == Update::kNone ? Update::kOther : a;
    return a == b ? a : Update::kOther;
  }

  std::unordered_set<const VarNode*> outputs_;  // data of the buffers that the block writes
  std::unordered_map<const VarNode*, Update> updates_;
  VarMap values_;  // of lets
};

}  // namespace

bool UpdatesCommute(const BlockNode& block) {
  Checker checker(block);
  checker.Visit(block.body);
  return checker.commutes;
}

}  // namespace tilewright
