#include "verify/regions/joined_dimensions.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// The dimensions of a quotient and of the remainder by the same divisor, the extent of the latter.
struct Digits {
  size_t quotient = 0, remainder = 0;
  int64_t divisor = 0;
};

// The number whose quotient and remainder these are; null for others.
Expr NumberOf(const Expr& quotient, const Expr& remainder, int64_t divisor) {
  const auto *a = dyn_cast<BinaryNode>(quotient), *b = dyn_cast<BinaryNode>(remainder);
  const bool digits = a != nullptr && b != nullptr && a->op == BinaryOp::kFloorDiv && b->op == BinaryOp::kFloorMod &&
                      IsInt(a->b, divisor) && IsInt(b->b, divisor) && arith::SameExpr(a->a, b->a);
  return digits ? a->a : Expr();
}

// Which dimensions of buffers are digits, by the buffers' data.
class Finder : public Visitor {
 public:
  using Visitor::Visit;
  explicit Finder(std::unordered_set<const VarNode*> buffers) : buffers_(std::move(buffers)) {}
  std::unordered_map<const VarNode*, Digits> found;

 protected:
  void VisitVar(const VarNode* op) override { Forget(op); }
  void VisitLoad(const LoadNode* op) override {
    Look(op->buffer, op->indices);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Look(op->buffer, op->indices);
    Visitor::VisitStore(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    Forget(op->buffer->data.get());
    Visitor::VisitAllocate(op);
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    Forget(op->buffer->data.get());
    Visitor::VisitDeclBuffer(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const MatchBuffer& match : op->match_buffers) Forget(match.source.buffer->data.get());
    Visitor::VisitBlock(op);
  }

 private:
  void Forget(const VarNode* data) {
    buffers_.erase(data);
    found.erase(data);
  }
  void Look(const Buffer& buffer, const std::vector<Expr>& indices) {
    const VarNode* data = buffer->data.get();
    if (!buffers_.contains(data) || found.contains(data)) return;
    if (!buffer->strides.empty() || buffer->elem_offset || buffer->layout) return;
    for (size_t q = 0; q < indices.size(); ++q) {
      for (size_t r = 0; r < indices.size(); ++r) {
        const auto divisor = AsInt(buffer->shape[r]);
        if (q == r || !divisor || !NumberOf(indices[q], indices[r], *divisor)) continue;
        found[data] = {q, r, *divisor};
        return;
      }
    }
  }
  std::unordered_set<const VarNode*> buffers_;
};

class Joiner : public Mutator {
 public:
  using Mutator::Mutate;
  explicit Joiner(const std::unordered_map<const VarNode*, Digits>& digits) : digits_(digits) {}
  bool failed = false;

  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = block->fields();
    for (Buffer& buffer : fields.alloc_buffers) buffer = Joined(buffer);
    for (auto* regions : {&fields.reads, &fields.writes}) {
      for (BufferRegion& region : *regions) {
        const Digits* digits = DigitsOf(region.buffer);
        if (digits == nullptr) continue;
        Join(*digits, &region.region);
        if (failed) return block;
        region.buffer = Joined(region.buffer);
      }
    }
    return Mutator::MutateBlock(Block(std::move(fields)));
  }

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const Digits* digits = DigitsOf(op->buffer);
    if (digits == nullptr) return Mutator::MutateLoad(op, self);
    std::vector<Expr> indices = MutateAll(op->indices);
    Join(*digits, &indices);
    if (failed) return self;
    return Joined(op->buffer).Load(std::move(indices), Mutate(op->predicate));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const Digits* digits = DigitsOf(op->buffer);
    if (digits == nullptr) return Mutator::MutateStore(op, self);
    std::vector<Expr> indices = MutateAll(op->indices);
    Join(*digits, &indices);
    if (failed) return self;
    return Stmt(new StoreNode(Joined(op->buffer), Mutate(op->value), std::move(indices), Mutate(op->predicate)));
  }

 private:
  const Digits* DigitsOf(const Buffer& buffer) const {
    const auto found = digits_.find(buffer->data.get());
    return found == digits_.end() ? nullptr : &found->second;
  }
  Buffer Joined(const Buffer& buffer) {
    const Digits* digits = DigitsOf(buffer);
    if (digits == nullptr) return buffer;
    Buffer& joined = buffers_[buffer.get()];
    if (joined) return joined;
    BufferNode::Fields fields = buffer->fields();
    Expr& extent = fields.shape[digits->quotient];
    extent = arith::Simplify(extent * Const(extent.dtype(), digits->divisor));
    fields.shape.erase(fields.shape.begin() + static_cast<ptrdiff_t>(digits->remainder));
    joined = Buffer(std::move(fields));
    kept_.push_back(buffer);
    return joined;
  }
  void Join(const Digits& digits, std::vector<Expr>* indices) {
    Expr &quotient = (*indices)[digits.quotient], &remainder = (*indices)[digits.remainder];
    failed |= !quotient.dtype().is_scalar() || !remainder.dtype().is_scalar();
    if (failed) return;
    quotient = Number(digits, quotient, remainder);
    indices->erase(indices->begin() + static_cast<ptrdiff_t>(digits.remainder));
  }
  void Join(const Digits& digits, std::vector<Range>* region) {
    Range &quotient = (*region)[digits.quotient], &remainder = (*region)[digits.remainder];
    const DataType type = quotient.min.dtype();
    const Expr divisor = Const(type, digits.divisor);
    if (IsInt(quotient.extent, 1)) {
      quotient = {Number(digits, quotient.min, remainder.min), CastTo(type, remainder.extent)};
    } else if (IsInt(remainder.min, 0) && IsInt(remainder.extent, digits.divisor)) {
      quotient = {arith::Simplify(quotient.min * divisor), arith::Simplify(CastTo(type, quotient.extent) * divisor)};
    } else {
      failed = true;
      return;
    }
    region->erase(region->begin() + static_cast<ptrdiff_t>(digits.remainder));
  }
  static Expr Number(const Digits& digits, const Expr& quotient, const Expr& remainder) {
    if (const Expr number = NumberOf(quotient, remainder, digits.divisor)) return number;
    const DataType type = quotient.dtype();
    return arith::Simplify(quotient * Const(type, digits.divisor) + CastTo(type, remainder));
  }

  const std::unordered_map<const VarNode*, Digits>& digits_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  std::vector<Buffer> kept_;  // whose addresses are known
};

}  // namespace

std::optional<JoinedDimensions> JoinDimensions(const Function& function, std::unordered_set<const VarNode*> buffers) {
  Finder finder(std::move(buffers));
  finder.Visit(function->body);
  if (finder.found.empty()) return std::nullopt;
  Joiner joiner(finder.found);
  const Stmt body = joiner.Mutate(function->body);
  if (joiner.failed) return std::nullopt;
  JoinedDimensions result{function.WithBody(body, function->next_id), {}};
  for (const auto& [data, digits] : finder.found) result.joined.insert(data);
  return result;
}

}  // namespace tilewright
