#include "codegen/lower/common/unroll.h"

#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Statements that one loop is written out to at most: code beyond leaves the caches, and takes minutes to compile.
constexpr int64_t kMostStatements = 4096;

int64_t StatementsOf(const Stmt& body) {
  int64_t count = 0;
  PreOrder(body, [&](const Stmt& s) {
    count += isa<StoreNode>(s) || isa<EvaluateNode>(s);
    return true;
  });
  return count;
}

class Unroller : public Mutator {
 public:
  explicit Unroller(uint32_t next_id) : next_id_(next_id) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Stmt mutated = Mutator::MutateFor(op, self);
    const auto* loop = cast<ForNode>(mutated);
    if (loop->kind != ForKind::kUnrolled) return mutated;
    const std::optional<int64_t> min = AsInt(loop->min), extent = AsInt(loop->extent);
    if (!min || !extent || *extent * StatementsOf(loop->body) > kMostStatements) {
      ForNode::Fields fields = loop->fields();
      fields.kind = ForKind::kSerial;
      return For(std::move(fields));
    }
    std::vector<Stmt> copies;
    for (int64_t i = 0; i < *extent; ++i) {
      Stmt body = i == 0 ? loop->body : CopyWithFreshNames(loop->body, &next_id_);
      copies.push_back(Substitute(body, {{loop->var, Const(loop->var.dtype(), *min + i)}}));
    }
    return Sequence(std::move(copies));
  }

 private:
  uint32_t next_id_;
};

}  // namespace

Function UnrollLoops(const Function& function) {
  Unroller unroller(function->next_id);
  Stmt body = unroller.Mutate(function->body);
  return function.WithBody(std::move(body), unroller.next_id());
}

}  // namespace tilewright
