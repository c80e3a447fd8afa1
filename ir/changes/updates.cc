#include "ir/changes/updates.h"

#include <optional>
#include <utility>

#include "ir/builtin.h"

namespace tilewright {
namespace {

// Sums and differences, or products: what a value is made of by one kind of operation, through choices.
class Family {
 public:
  explicit Family(bool products) : products_(products) {}

  bool Has(const BinaryNode& op) const {
    return products_ ? op.op == BinaryOp::kMul : op.op == BinaryOp::kAdd || op.op == BinaryOp::kSub;
  }
  // Whether an element of the array is among the operands, and not taken away from them.
  bool Updates(const Expr& e, const StoreNode& store) const {
    if (const auto* load = dyn_cast<LoadNode>(e)) {
      return load->buffer->data.same_as(store.buffer->data);
    }
    if (const auto* conversion = dyn_cast<CastNode>(e)) return Updates(conversion->value, store);
    if (const auto choice = AsChoice(e)) return Updates(choice->first, store) || Updates(choice->second, store);
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op == nullptr || !Has(*op)) return false;
    return Updates(op->a, store) || (op->op != BinaryOp::kSub && Updates(op->b, store));
  }
  void Collect(const Expr& e, std::vector<const BinaryNode*>* found) const {
    if (const auto* conversion = dyn_cast<CastNode>(e)) return Collect(conversion->value, found);
    if (const auto choice = AsChoice(e)) {
      Collect(choice->first, found);
      return Collect(choice->second, found);
    }
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op == nullptr || !(Has(*op) || IsMultiple(*op))) return;
    Collect(op->a, found);
    Collect(op->b, found);
    if (op->dtype().is_int()) found->push_back(op);
  }

 private:
  // Simplifying gives each term of a sum the constant that it is multiplied by.
  static bool IsMultiple(const BinaryNode& op) { return op.op == BinaryOp::kMul && (AsInt(op.a) || AsInt(op.b)); }
  static std::optional<std::pair<Expr, Expr>> AsChoice(const Expr& e) {
    if (const auto* select = dyn_cast<SelectNode>(e)) return std::pair(select->true_value, select->false_value);
    const auto* call = dyn_cast<CallNode>(e);
    if (call == nullptr || call->op != kIfThenElse || call->args.size() != 3) return std::nullopt;
    return std::pair(call->args[1], call->args[2]);
  }
  const bool products_;
};

void AddUpdates(const Expr& value, const StoreNode& store, std::vector<const BinaryNode*>* found) {
  for (const bool products : {false, true}) {
    const Family family(products);
    if (family.Updates(value, store)) family.Collect(value, found);
  }
}

// The stores below variables and in a list.
void FindStores(const Stmt& s, std::vector<const StoreNode*>* stores) {
  if (const auto* let = dyn_cast<LetStmtNode>(s)) return FindStores(let->body, stores);
  if (const auto* store = dyn_cast<StoreNode>(s)) return stores->push_back(store);
  if (const auto* seq = dyn_cast<SeqNode>(s)) {
    for (const Stmt& stmt : seq->stmts) FindStores(stmt, stores);
  }
}

}  // namespace

std::vector<const BinaryNode*> WrappingUpdates(const Stmt& s) {
  std::vector<const BinaryNode*> found;
  if (const auto* store = dyn_cast<StoreNode>(s)) {
    AddUpdates(store->value, *store, &found);
    return found;
  }
  const auto* let = dyn_cast<LetStmtNode>(s);
  if (let == nullptr) return found;
  std::vector<const StoreNode*> stores;
  FindStores(let->body, &stores);
  for (const StoreNode* store : stores) {
    if (store->value.same_as(let->var) && found.empty()) AddUpdates(let->value, *store, &found);
  }
  return found;
}

}  // namespace tilewright
