#include "verify/structure/equal_values.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Values that an index in certain variables tells: parts of it that have places of their own, as linear forms.
//
//   2 * v + 2 * x + y, y below 2               v + x and y
class ToldByIndices {
 public:
  ToldByIndices(const std::vector<Expr>& indices, const arith::Domain& own, arith::Analyzer* analyzer)
      : analyzer_(analyzer) {
    for (const auto& [var, range] : own) {
      vars_.push_back(var);
      const auto extent = AsInt(range.min) ? AsInt(range.extent) : std::nullopt;
      steps_.push_back(extent ? std::max<int64_t>(*extent - 1, 0) : kUnknown);
    }
    for (const Expr& index : indices) {
      if (const auto form = FormOf(index)) AddParts(*form);
    }
  }
  // Whether it is a sum of multiples of such parts.
  bool Tell(const Expr& e) const {
    if (!e.dtype().is_index()) return false;
    auto form = FormOf(e);
    if (form) form = Reduced(std::move(*form));
    return form && std::ranges::all_of(*form, [](int64_t c) { return c == 0; });
  }

 private:
  using Form = std::vector<int64_t>;  // coefficients of the variables
  static constexpr int64_t kMost = int64_t{1} << 20, kUnknown = 2 * kMost;

  std::optional<Form> FormOf(const Expr& e) const {
    const auto linear = arith::DetectLinear(e, vars_, analyzer_);
    if (!linear) return std::nullopt;
    Form form;
    for (const Expr& coefficient : linear->coefficients) {
      const auto value = AsInt(coefficient);
      if (!value || std::abs(*value) > kMost) return std::nullopt;
      form.push_back(*value);
    }
    return form;
  }
  // Takes it apart where what is left of it steps over less than all other coefficients are multiples of.
  void AddParts(const Form& form) {
    std::vector<size_t> order;
    for (size_t i = 0; i < form.size(); ++i) {
      if (form[i] != 0) order.push_back(i);
    }
    std::ranges::sort(order, std::greater(), [&](size_t i) { return std::abs(form[i]); });
    Form high(form.size()), low = form;
    int64_t divisor = 0;
    for (const size_t i : order) {
      __int128 below = 0;
      for (size_t other = 0; other < low.size(); ++other) {
        below += static_cast<__int128>(std::abs(low[other])) * steps_[other];
      }
      if (divisor > 0 && below < divisor) {
        AddReduced(high);
        return AddParts(low);
      }
      divisor = std::gcd(divisor, form[i]);
      high[i] = std::exchange(low[i], 0);
    }
    AddReduced(form);
  }
  // Without the leading variables of the parts so far; whole multiples do as well as fractions would.
  std::optional<Form> Reduced(Form form) const {
    for (const auto& [leading, part] : parts_) {
      if (form[leading] == 0) continue;
      const int64_t common = std::gcd(form[leading], part[leading]);
      const int64_t times = form[leading] / common, scale = part[leading] / common;
      for (size_t i = 0; i < form.size(); ++i) form[i] = form[i] * scale - part[i] * times;
      if (std::ranges::any_of(form, [](int64_t c) { return std::abs(c) > kMost; })) return std::nullopt;
    }
    return form;
  }
  void AddReduced(const Form& form) {
    const std::optional<Form> part = Reduced(form);
    if (!part) return;
    const auto leading = std::ranges::find_if(*part, [](int64_t c) { return c != 0; });
    if (leading != part->end()) parts_.emplace_back(leading - part->begin(), *part);
  }

  arith::Analyzer* analyzer_;
  std::vector<Var> vars_;
  std::vector<int64_t> steps_;                     // greatest less least value of each
  std::vector<std::pair<ptrdiff_t, Form>> parts_;  // with a variable of each that no later one uses
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
    std::vector<Expr> indices;
    for (const Expr& index : op->indices) indices.push_back(Now(index));
    // Another store may give the same element another value.
    holds_ &= stored_.insert(op->buffer->data.get()).second;
    holds_ &= DependsOn(indices, Now(op->value)) && !op->predicate;
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
      if (!told) told.emplace(indices, own_, &analyzer_);
      if (told->Tell(e)) return false;
      depends = !isa<VarNode>(e);
      return depends;
    });
    return depends;
  }

  bool holds_ = true;
  VarMap values_;      // of the iterators of nested blocks, and of those that have one value
  arith::Domain own_;  // iterators of the block, and loops in it
  arith::Analyzer analyzer_;
  std::unordered_set<const VarNode*> stored_;
};

}  // namespace

bool WritesValuesOfElements(const BlockNode& block) { return Checker().Check(block); }

}  // namespace tilewright
