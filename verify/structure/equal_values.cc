#include "verify/structure/equal_values.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/bounds.h"
#include "ir/arith/domain.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// What indices in certain variables tell: parts of theirs that have places of their own. Quotients and remainders count
// as variables.
//
//   2 * v + 2 * x + y, y below 2               v + x and y
//   (v + x) // 4, (v + x) % 4                  these two, and v + x
class ToldByIndices {
 public:
  ToldByIndices(const std::vector<Expr>& indices, const arith::Domain& own) : own_(own) {
    for (const auto& [var, range] : own) {
      if (AsInt(range.min) && AsInt(range.extent)) analyzer_.Bind(var, range);
    }
    for (const Expr& index : indices) {
      Add(index);
      const auto* op = dyn_cast<BinaryNode>(index);
      if (op == nullptr || op->op != BinaryOp::kFloorDiv) continue;
      const Expr remainder = FloorMod(op->a, op->b);
      if (std::ranges::any_of(indices, [&](const Expr& other) { return arith::SameExpr(other, remainder); })) {
        Add(op->a);
      }
    }
  }
  // Whether it is a sum of multiples of such parts.
  bool Tell(const Expr& e) {
    if (!e.dtype().is_index()) return false;
    std::optional<Form> form = FormOf(e);
    if (form) form = Reduced(std::move(*form));
    return form && form->empty();
  }

 private:
  using Form = std::map<size_t, int64_t>;  // coefficients of atoms that are not 0
  static constexpr int64_t kMost = int64_t{1} << 20;

  struct Atom {
    Expr value;
    int64_t steps;  // greatest less least value
  };

  bool UsesOwn(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) {
      return std::ranges::any_of(own_, [&](const auto& own) { return own.first.get() == var; });
    });
  }
  size_t AtomOf(const Expr& e) {
    for (size_t i = 0; i < atoms_.size(); ++i) {
      if (arith::SameExpr(atoms_[i].value, e)) return i;
    }
    const arith::Bounds bounds = analyzer_.ConstBounds(e);
    const bool small = bounds.Within(-kMost, kMost);
    atoms_.push_back({e, small ? bounds.max - bounds.min : 4 * kMost});
    return atoms_.size() - 1;
  }
  bool AddTerms(const Expr& e, int64_t times, Form* form) {
    if (std::abs(times) > kMost) return false;
    if (!UsesOwn(e)) return !arith::ReadsMemory(e);
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op != nullptr && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub)) {
      return AddTerms(op->a, times, form) && AddTerms(op->b, op->op == BinaryOp::kAdd ? times : -times, form);
    }
    const auto by = op != nullptr && op->op == BinaryOp::kMul ? AsInt(op->b) : std::nullopt;
    if (by && std::abs(*by) <= kMost) return AddTerms(op->a, times * *by, form);
    const bool digit = op != nullptr && (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod);
    if ((!digit && !isa<VarNode>(e)) || arith::ReadsMemory(e)) return false;
    if (digit && AsInt(op->b).value_or(0) > 0) return AddDigit(*op, *AsInt(op->b), times, form);
    return AddAtom(e, times, form);
  }
  bool AddAtom(const Expr& e, int64_t times, Form* form) {
    const size_t atom = AtomOf(e);
    if (((*form)[atom] += times) == 0) form->erase(atom);
    return true;
  }
  // A quotient or remainder without the multiples of the divisor: (v + 2 * x + 5) // 2 is (v + 1) // 2 + x + 2.
  bool AddDigit(const BinaryNode& digit, int64_t divisor, int64_t times, Form* form) {
    std::vector<std::pair<Expr, int64_t>> terms;
    int64_t number = 0;
    if (!Terms(digit.a, 1, &terms, &number)) return AddAtom(Expr(&digit), times, form);
    const DataType type = digit.dtype();
    Expr rest = Const(type, ((number % divisor) + divisor) % divisor);
    for (const auto& [term, factor] : terms) {
      const bool multiple = factor % divisor == 0;
      if (!multiple) rest = rest + term * Const(type, factor);
      if (multiple && digit.op == BinaryOp::kFloorDiv && !AddTerms(term, times * (factor / divisor), form))
        return false;
    }
    rest = arith::Simplify(rest);
    if (!UsesOwn(rest)) return true;
    const Expr by = Const(type, divisor);
    return AddAtom(digit.op == BinaryOp::kFloorDiv ? FloorDiv(rest, by) : FloorMod(rest, by), times, form);
  }
  static bool Terms(const Expr& e, int64_t times, std::vector<std::pair<Expr, int64_t>>* terms, int64_t* number) {
    if (std::abs(times) > kMost || std::abs(*number) > kMost) return false;
    if (const auto value = AsInt(e)) {
      if (std::abs(*value) > kMost) return false;
      *number += times * *value;
      return true;
    }
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op != nullptr && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub)) {
      return Terms(op->a, times, terms, number) &&
             Terms(op->b, op->op == BinaryOp::kAdd ? times : -times, terms, number);
    }
    const auto by = op != nullptr && op->op == BinaryOp::kMul ? AsInt(op->b) : std::nullopt;
    if (by && std::abs(*by) <= kMost) return Terms(op->a, times * *by, terms, number);
    terms->emplace_back(e, times);
    return true;
  }
  std::optional<Form> FormOf(const Expr& e) {
    Form form;
    if (!AddTerms(e, 1, &form)) return std::nullopt;
    return form;
  }
  void Add(const Expr& index) {
    if (const auto form = FormOf(index)) AddParts(*form);
  }
  // Takes it apart where what is left of it steps over less than all other coefficients are multiples of.
  void AddParts(const Form& form) {
    std::vector<std::pair<int64_t, size_t>> order;
    for (const auto& [atom, coefficient] : form) order.emplace_back(coefficient, atom);
    std::ranges::sort(order, std::greater(), [](const auto& term) { return std::abs(term.first); });
    Form high, low = form;
    int64_t divisor = 0;
    for (const auto& [coefficient, atom] : order) {
      __int128 below = 0;
      for (const auto& [other, factor] : low) below += static_cast<__int128>(std::abs(factor)) * atoms_[other].steps;
      if (divisor > 0 && below < divisor) {
        AddPart(high);
        return AddParts(low);
      }
      divisor = std::gcd(divisor, coefficient);
      high[atom] = coefficient;
      low.erase(atom);
    }
    AddPart(form);
  }
  // Without the leading atoms of the parts so far; whole multiples do as well as fractions would.
  std::optional<Form> Reduced(Form form) const {
    for (const Form& part : parts_) {
      const auto& [leading, of_part] = *part.begin();
      const auto found = form.find(leading);
      if (found == form.end()) continue;
      const int64_t common = std::gcd(found->second, of_part);
      const int64_t times = found->second / common, scale = of_part / common;
      for (auto& [atom, coefficient] : form) coefficient *= scale;
      for (const auto& [atom, coefficient] : part) form[atom] -= coefficient * times;
      std::erase_if(form, [](const auto& term) { return term.second == 0; });
      if (std::ranges::any_of(form, [](const auto& term) { return std::abs(term.second) > kMost; })) {
        return std::nullopt;
      }
    }
    return form;
  }
  void AddPart(const Form& form) {
    std::optional<Form> part = Reduced(form);
    if (part && !part->empty()) parts_.push_back(std::move(*part));
  }

  const arith::Domain& own_;
  arith::Analyzer analyzer_;
  std::vector<Atom> atoms_;
  std::vector<Form> parts_;  // the first atom of each is in no later one
};

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}

  bool Check(const BlockNode& block) {
    for (const IterVar& iter : block.iter_vars) {
      if (IsInt(iter.domain.extent, 1)) values_[iter.var] = iter.domain.min;
    }
    VisitBlock(&block);
    return holds_;
  }

 protected:
  void VisitFor(const ForNode* op) override {
    if (IsInt(op->extent, 1)) {
      values_[op->var] = op->min;
    } else {
      own_.push_back({op->var, {op->min, op->extent}});
    }
    Visitor::VisitFor(op);
  }
  void VisitStore(const StoreNode* op) override {
    // As it is written too: simplified, 1 <= (v + 1) // 2 is 1 <= v.
    std::vector<Expr> indices;
    for (const Expr& index : op->indices) indices.insert(indices.end(), {Now(index), Substitute(index, values_)});
    // Another store may give the same element another value.
    holds_ &= stored_.insert(op->buffer->data.get()).second;
    holds_ &=
        !op->predicate && (DependsOn(indices, Now(op->value)) || DependsOn(indices, Substitute(op->value, values_)));
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      values_[op->block->iter_vars[i].var] = Now(op->bindings[i]);
    }
    VisitBlock(op->block.get());
  }
  void VisitBlock(const BlockNode* op) override {
    for (const IterVar& iter : op->iter_vars) {
      if (!values_.contains(iter.var)) own_.push_back({iter.var, iter.domain});
    }
    for (const BufferRegion& read : op->reads) {
      holds_ &= std::none_of(op->writes.begin(), op->writes.end(),
                             [&](const BufferRegion& write) { return write.buffer->data.same_as(read.buffer->data); });
    }
    holds_ &= !op->init && op->alloc_buffers.empty() && op->match_buffers.empty();
    Visit(op->body);
  }
  void VisitEvaluate(const EvaluateNode* op) override { holds_ &= isa<IntImmNode>(op->value); }
  void VisitWhile(const WhileNode*) override { holds_ = false; }
  void VisitLetStmt(const LetStmtNode*) override { holds_ = false; }
  void VisitAllocate(const AllocateNode*) override { holds_ = false; }
  void VisitDeclBuffer(const DeclBufferNode*) override { holds_ = false; }
  void VisitSync(const SyncNode*) override { holds_ = false; }

 private:
  Expr Now(const Expr& e) const { return values_.empty() ? e : arith::Simplify(Substitute(e, values_)); }

  // Whether `value` mentions iterators and loops only in what the indices tell.
  bool DependsOn(const std::vector<Expr>& indices, const Expr& value) {
    std::optional<ToldByIndices> told;  // made where an index as a whole does not do
    const auto is_own = [&](const VarNode* var) {
      return std::ranges::any_of(own_, [&](const auto& own) { return own.first.get() == var; });
    };
    bool depends = true;
    PreOrder(value, [&](const Expr& e) {
      if (!depends || !UsesVar(e, is_own)) return false;
      if (std::ranges::any_of(indices, [&](const Expr& index) { return arith::SameExpr(index, e); })) return false;
      if (!told) told.emplace(indices, own_);
      if (told->Tell(e)) return false;
      depends = !isa<VarNode>(e);
      return depends;
    });
    return depends;
  }

  bool holds_ = true;
  VarMap values_;      // of the iterators of nested blocks, and of those that have one value
  arith::Domain own_;  // iterators of the block, and loops in it
  std::unordered_set<const VarNode*> stored_;
};

}  // namespace

bool WritesValuesOfElements(const BlockNode& block) { return Checker().Check(block); }

}  // namespace tilewright
