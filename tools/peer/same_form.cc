#include "tools/peer/same_form.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "schedule/program/simplify_block.h"

namespace tilewright {
namespace {

// a > b is b < a: TVM's simplifier turns comparisons around, also of elements.
Expr TurnedAround(const Expr& e) {
  const auto* compare = dyn_cast<BinaryNode>(e);
  if (compare == nullptr || (compare->op != BinaryOp::kGT && compare->op != BinaryOp::kGE)) return e;
  return compare->op == BinaryOp::kGT ? compare->b < compare->a : compare->b <= compare->a;
}

// The number of values of each iterator that counts from 0.
class IteratorExtents : public Visitor {
 public:
  std::unordered_map<const VarNode*, int64_t> extents;

 protected:
  void VisitBlock(const BlockNode* op) override {
    for (const IterVar& iter : op->iter_vars) {
      const std::optional<int64_t> extent = AsInt(iter.domain.extent);
      if (extent && IsInt(iter.domain.min, 0)) extents[iter.var.get()] = *extent;
    }
    Visitor::VisitBlock(op);
  }
};

// v == 3 and 2 <= w, where v has 4 values and w has 5, says that v * 5 + w is one of the last: 17 <= v * 5 + w.
class LastTiles {
 public:
  explicit LastTiles(const Stmt& body) { iterators_.Visit(body); }

  Expr operator()(const Expr& e) const {
    const auto* both = dyn_cast<BinaryNode>(e);
    if (both == nullptr || both->op != BinaryOp::kAnd) return e;
    const auto *last = dyn_cast<BinaryNode>(both->a), *inside = dyn_cast<BinaryNode>(both->b);
    if (last == nullptr || inside == nullptr || last->op != BinaryOp::kEQ) return e;
    const bool one = inside->op == BinaryOp::kEQ;
    if (!one && inside->op != BinaryOp::kLE) return e;
    const Expr &v = last->a, &w = one ? inside->a : inside->b;
    const std::optional<int64_t> k = AsInt(last->b), least = AsInt(one ? inside->b : inside->a);
    const std::optional<int64_t> tiles = Extent(v), size = Extent(w);
    if (!k || !least || !tiles || !size || *k != *tiles - 1 || (one && *least != *size - 1)) return e;
    return Const(v.dtype(), *k * *size + *least) <= v * Const(v.dtype(), *size) + w;
  }

 private:
  std::optional<int64_t> Extent(const Expr& e) const {
    const auto found = iterators_.extents.find(dyn_cast<VarNode>(e));
    if (found == iterators_.extents.end()) return std::nullopt;
    return found->second;
  }

  IteratorExtents iterators_;
};

struct Term {
  Expr value;
  bool negative;
};

// The terms of a sum of integers.
void Terms(const Expr& e, bool negative, std::vector<Term>* terms) {
  const auto* sum = dyn_cast<BinaryNode>(e);
  if (sum == nullptr || (sum->op != BinaryOp::kAdd && sum->op != BinaryOp::kSub)) {
    terms->push_back({e, negative});
    return;
  }
  Terms(sum->a, negative, terms);
  Terms(sum->b, sum->op == BinaryOp::kSub ? !negative : negative, terms);
}

// x // c or x % c, with a positive constant c.
struct Division {
  explicit Division(const Expr& e) {
    const auto* binary = dyn_cast<BinaryNode>(e);
    if (binary == nullptr || (binary->op != BinaryOp::kFloorDiv && binary->op != BinaryOp::kFloorMod)) return;
    const std::optional<int64_t> constant = AsInt(binary->b);
    if (constant && *constant > 0) node = binary, by = *constant;
  }
  bool IsQuotient() const { return node != nullptr && node->op == BinaryOp::kFloorDiv; }

  const BinaryNode* node = nullptr;
  int64_t by = 0;
};

Expr Joined(const Expr& sum, const Expr& term, bool negative) {
  if (!sum) return negative ? Const(term.dtype(), 0) - term : term;
  return negative ? sum - term : sum + term;
}

// (x // 2 + y) // 4 is (x + y * 2) // 8, and (x // 2 + y) % 4 is (x + y * 2) % 8 // 2.
Expr OneDivision(const Expr& e) {
  const Division outer(e);
  if (outer.node == nullptr || !e.dtype().is_int()) return e;
  std::vector<Term> terms;
  Terms(outer.node->a, false, &terms);
  for (size_t i = 0; i < terms.size(); ++i) {
    const Division inner(terms[i].value);
    if (!inner.IsQuotient() || terms[i].negative) continue;
    Expr moved = inner.node->a;
    for (size_t k = 0; k < terms.size(); ++k) {
      if (k != i) moved = Joined(moved, terms[k].value * Const(e.dtype(), inner.by), terms[k].negative);
    }
    const Expr whole = Const(e.dtype(), inner.by * outer.by);
    return outer.IsQuotient() ? FloorDiv(moved, whole) : FloorDiv(FloorMod(moved, whole), inner.node->b);
  }
  return e;
}

// (x + 3) // 4 - x // 4 is (x % 4 + 3) // 4.
Expr DifferenceOfQuotients(const Expr& e) {
  const auto* sum = dyn_cast<BinaryNode>(e);
  if (sum == nullptr || !e.dtype().is_int() || (sum->op != BinaryOp::kAdd && sum->op != BinaryOp::kSub)) return e;
  std::vector<Term> terms;
  Terms(e, false, &terms);
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = 0; j < terms.size(); ++j) {
      const Division above(terms[i].value), below(terms[j].value);
      if (terms[i].negative || !terms[j].negative || !above.IsQuotient() || !below.IsQuotient()) continue;
      if (above.by != below.by) continue;
      const Expr rest = arith::Simplify(above.node->a - below.node->a);
      if (!AsInt(rest)) continue;
      Expr joined = FloorDiv(FloorMod(below.node->a, below.node->b) + rest, below.node->b);
      // x % 2 + 1 is 2 where x % 2 is 1.
      if (below.by == 2 && *AsInt(rest) == 1) joined = FloorMod(below.node->a, below.node->b);
      for (size_t k = 0; k < terms.size(); ++k) {
        if (k != i && k != j) joined = Joined(joined, terms[k].value, terms[k].negative);
      }
      return joined;
    }
  }
  return e;
}

// Shapes of the buffers that blocks allocate.
class SimpleShapes : public Mutator {
 public:
  Buffer MutateBuffer(const Buffer& buffer) override {
    const auto [known, is_new] = buffers_.emplace(buffer, buffer);
    if (!is_new) return known->second;
    BufferNode::Fields fields = buffer->fields();
    bool changed = false;
    for (Expr& extent : fields.shape) {
      const Expr simple = arith::Simplify(extent);
      changed |= simple.get() != extent.get();
      extent = simple;
    }
    if (changed && allocated_.contains(buffer)) known->second = Buffer(std::move(fields));
    return known->second;
  }

 protected:
  Block MutateBlock(const Block& block) override {
    for (const Buffer& buffer : block->alloc_buffers) allocated_.insert(buffer);
    return Mutator::MutateBlock(block);
  }

 private:
  std::unordered_map<Buffer, Buffer, IdentityHash, IdentityEqual> buffers_;
  std::unordered_set<Buffer, IdentityHash, IdentityEqual> allocated_;
};

// Iterators and loops of one value stand for it.
class UnitIterators : public Mutator {
 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Stmt mutated = Mutator::MutateFor(op, self);
    if (!IsInt(op->extent, 1)) return mutated;
    ForNode::Fields fields = cast<ForNode>(mutated)->fields();
    fields.body = Substitute(fields.body, {{op->var, op->min}});
    return For(std::move(fields));
  }
  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
    VarMap values;
    for (const IterVar& iter : fields.iter_vars) {
      if (IsInt(iter.domain.extent, 1)) values[iter.var] = iter.domain.min;
    }
    for (BufferRegion& read : fields.reads) read = Substitute(read, values);
    for (BufferRegion& write : fields.writes) write = Substitute(write, values);
    for (MatchBuffer& match : fields.match_buffers) match.source = Substitute(match.source, values);
    if (fields.init) fields.init = Substitute(fields.init, values);
    fields.body = Substitute(fields.body, values);
    return Block(std::move(fields));
  }
};

// v1 * 2 + v0 is v0 + v1 * 2, and p and q is q and p: the terms of sums of indices and of conditions in the order of
// their text.
class SortedTerms : public Mutator {
 protected:
  Expr MutateBinary(const BinaryNode* op, const Expr& self) override {
    const bool sum = op->op == BinaryOp::kAdd && self.dtype().is_int();
    if (!sum && op->op != BinaryOp::kAnd) return Mutator::MutateBinary(op, self);
    std::vector<std::pair<std::string, Expr>> terms;
    Collect(op->op, self, &terms);
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Expr all;
    for (const auto& [text, term] : terms) all = !all ? term : sum ? all + term : And(all, term);
    return all;
  }

 private:
  void Collect(BinaryOp op, const Expr& e, std::vector<std::pair<std::string, Expr>>* terms) {
    const auto* both = dyn_cast<BinaryNode>(e);
    if (both != nullptr && both->op == op) {
      Collect(op, both->a, terms);
      Collect(op, both->b, terms);
      return;
    }
    const Expr term = Mutate(e);
    terms->emplace_back(Print(term), term);
  }
};

// What loop_partition leaves in TVM: blocks around the parts of a loop, and loops that begin where their part does.
class PartsInPlace : public Mutator {
 protected:
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    const BlockNode& block = *op->block;
    const bool around_parts = block.name.ends_with("_common") || block.name.ends_with("_partition");
    if (around_parts && block.iter_vars.empty() && block.alloc_buffers.empty()) return Mutate(block.body);
    return Mutator::MutateBlockRealize(op, self);
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const Stmt mutated = Mutator::MutateFor(op, self);
    if (IsInt(op->min, 0)) return mutated;
    ForNode::Fields fields = cast<ForNode>(mutated)->fields();
    fields.body = Substitute(fields.body, {{op->var, op->var + op->min}});
    fields.min = Const(op->var.dtype(), 0);
    return For(std::move(fields));
  }
  Stmt MutateSeq(const SeqNode* op, const Stmt&) override {
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : op->stmts) stmts.push_back(Mutate(stmt));
    return Sequence(std::move(stmts));
  }
};

class TouchedRegions : public Mutator {
 protected:
  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
    AccessRegions touched = DetectRegions(*Block(fields));
    fields.reads = std::move(touched.reads);
    fields.writes = std::move(touched.writes);
    fields.annotations.erase(kExplicitReads);
    fields.annotations.erase(kExplicitWrites);
    return Block(std::move(fields));
  }
};

template <class Rewrite>
Module WithBodies(Module module, const Rewrite& rewrite) {
  for (const Function& function : std::vector<Function>(module.functions())) {
    module.Set(function.WithBody(rewrite(function->body), function->next_id));
  }
  return module;
}

}  // namespace

Module Sorted(Module module) {
  return WithBodies(std::move(module), [](const Stmt& body) { return SortedTerms().Mutate(body); });
}

Module Declared(Module module) {
  return WithBodies(std::move(module),
                    [](const Stmt& body) { return TouchedRegions().Mutate(PartsInPlace().Mutate(body)); });
}

Module Simplified(Module module) {
  return WithBodies(std::move(module), [](const Stmt& original) {
    arith::Analyzer analyzer;
    Stmt body = SimplifyIndices(SimpleShapes().Mutate(UnitIterators().Mutate(original)), &analyzer);
    const LastTiles last_tiles(body);
    body = RewriteExprs(body, [&](const Expr& e) { return DifferenceOfQuotients(OneDivision(last_tiles(e))); });
    return RewriteExprs(SimplifyIndices(body, &analyzer), TurnedAround);
  });
}

}  // namespace tilewright
