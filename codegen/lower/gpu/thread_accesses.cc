#include "codegen/lower/gpu/thread_accesses.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <unordered_set>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

class Collector : public Visitor {
 public:
  explicit Collector(const BufferScopes& scopes) : scopes_(scopes) {}
  using Visitor::Visit;
  std::vector<ThreadAccess> found;

 protected:
  void VisitLoad(const LoadNode* op) override {
    Add(op->buffer, op->indices, addressed_write_);
    if (addressed_) return Visit(op->indices[0]);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Add(op->buffer, op->indices, true);
    Visitor::VisitStore(op);
  }
  void VisitVar(const VarNode* op) override {
    if (op->dtype().is_handle()) AddUnknown(op, true);
  }
  void VisitCall(const CallNode* op) override {
    const bool outer_write = addressed_write_, outer_addressed = addressed_;
    if (op->op == kAccessPtr && op->args.size() == 5) {
      const std::optional<int64_t> mask = AsInt(op->args[4]);
      const auto* data = dyn_cast<VarNode>(op->args[1]);
      if (data != nullptr && !scopes_.contains(data)) return;
      const bool write = !mask || (*mask & kAccessWrite) != 0;
      if (data != nullptr) AddPointer(*op, data, write);
      return Visit(op->args[2]);
    }
    if (op->op == kAddressOf) {
      addressed_ = true;
    } else {
      addressed_write_ = EffectOf(op->op) == CallEffect::kOpaque;
      addressed_ = false;
    }
    Visitor::VisitCall(op);
    addressed_write_ = outer_write;
    addressed_ = outer_addressed;
  }

 private:
  std::optional<OwnerLevel> OwnerOf(const VarNode* data, const Scope* scope) const {
    const auto known = scopes_.find(data);
    if (known == scopes_.end() && scope == nullptr) return std::nullopt;
    const OwnerLevel owner = MemoryOwner(known == scopes_.end() ? *scope : known->second);
    if (owner == OwnerLevel::kThread) return std::nullopt;
    return owner;
  }
  void AddUnknown(const VarNode* data, bool write) {
    if (const auto owner = OwnerOf(data, nullptr)) found.push_back({.data = data, .owner = *owner, .write = write});
  }
  // A pointer says how far it is followed; nothing: to anywhere.
  void AddPointer(const CallNode& op, const VarNode* data, bool write) {
    const auto owner = OwnerOf(data, nullptr);
    if (!owner) return;
    ThreadAccess access{.data = data, .owner = *owner, .write = write};
    if (const auto extent = AsInt(op.args[3]); extent && *extent > 0) {
      access.first = op.args[2];
      access.elements = *extent;
      access.element_bytes = op.args[0].dtype().element().bytes();
    }
    found.push_back(std::move(access));
  }
  void Add(const Buffer& buffer, const std::vector<Expr>& indices, bool write) {
    const auto owner = OwnerOf(buffer->data.get(), &buffer->scope);
    if (!owner) return;
    ThreadAccess access{.data = buffer->data.get(), .owner = *owner, .write = write};
    access.element_bytes = buffer->dtype.bytes();
    if (indices.size() == 1 && !addressed_) {
      const auto* ramp = dyn_cast<RampNode>(indices[0]);
      if (indices[0].dtype().is_scalar()) {
        access.first = indices[0];
      } else if (ramp != nullptr && IsInt(ramp->stride, 1)) {
        access.first = ramp->base;
        access.elements = indices[0].dtype().lanes();
      }
    }
    found.push_back(std::move(access));
  }

  const BufferScopes& scopes_;
  bool addressed_write_ = false, addressed_ = false;
};

// Serial loops around both accesses, in the same iterations.
std::vector<const ForNode*> CommonLoops(const ThreadAccess& a, const ThreadAccess& b) {
  std::vector<const ForNode*> common;
  const auto is_earlier = [&](const ForNode* loop) {
    return std::find(a.earlier.begin(), a.earlier.end(), loop) != a.earlier.end();
  };
  for (size_t i = 0; i < a.loops.size() && i < b.loops.size(); ++i) {
    if (a.loops[i] != b.loops[i] || is_earlier(a.loops[i])) break;
    common.push_back(a.loops[i]);
  }
  return common;
}
bool IsIn(const ForNode* loop, const std::vector<const ForNode*>& loops) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

// Constants by which the variable is divided, with or without remainder, somewhere in `e`.
void FindDivisors(const Expr& e, const Var& var, std::vector<int64_t>* divisors) {
  PreOrder(e, [&](const Expr& part) {
    const auto* op = dyn_cast<BinaryNode>(part);
    if (op == nullptr || (op->op != BinaryOp::kFloorDiv && op->op != BinaryOp::kFloorMod)) return true;
    const auto divisor = AsInt(op->b);
    if (divisor && UsesVar(op->a, var)) divisors->push_back(*divisor);
    return true;
  });
}

// A part of a variable in a sum: variable // divisor % extent, times weight.
struct Digit {
  const VarNode* var;
  int64_t divisor, extent, weight;
};

// The index as digits of the variables of a domain; false when it is not a sum of such.
class DigitFinder {
 public:
  explicit DigitFinder(const arith::Domain& domain) {
    for (const auto& [var, range] : domain) extents_[var.get()] = AsInt(range.extent).value_or(0);
  }
  std::vector<Digit> digits;

  bool Add(const Expr& e, int64_t weight) {
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op != nullptr && op->op == BinaryOp::kAdd) return Add(op->a, weight) && Add(op->b, weight);
    if (op != nullptr && op->op == BinaryOp::kMul && AsInt(op->b)) return Add(op->a, weight * *AsInt(op->b));
    if (const auto* cast = dyn_cast<CastNode>(e)) return Add(cast->value, weight);
    if (!UsesVar(e, [&](const VarNode* var) { return extents_.contains(var); })) return true;
    const auto* call = dyn_cast<CallNode>(e);
    const std::optional<Digit> digit = call != nullptr && call->op == "bitwise_xor" ? FlippedDigit(*call) : DigitOf(e);
    if (!digit || weight <= 0) return false;
    digits.push_back({digit->var, digit->divisor, digit->extent, weight});
    return true;
  }

  // Whether each value of the variables gives another sum: all parts of each are there, and none reaches the weight of
  // a greater one.
  bool TellsApart() {
    for (const auto& [var, extent] : extents_) {
      std::vector<Digit> parts;
      std::copy_if(digits.begin(), digits.end(), std::back_inserter(parts),
                   [&](const Digit& d) { return d.var == var; });
      std::sort(parts.begin(), parts.end(), [](const Digit& a, const Digit& b) { return a.divisor < b.divisor; });
      int64_t covered = 1;
      for (const Digit& part : parts) {
        if (part.divisor != covered) return false;
        covered *= part.extent;
      }
      if (extent <= 0 || covered < extent) return false;
    }
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.weight < b.weight; });
    int64_t reached = 0;
    for (const Digit& digit : digits) {
      if (digit.weight <= reached) return false;
      reached += digit.weight * (digit.extent - 1);
    }
    return true;
  }

 private:
  // A digit whose bits another one flips: where the other one stands in the sum by itself, each value of the digit
  // gives another result. The digit keeps its extent when both are numbers of bits and the other one has no more.
  std::optional<Digit> FlippedDigit(const CallNode& op) const {
    const std::optional<Digit> digit = DigitOf(op.args[0]), by = DigitOf(op.args[1]);
    if (!digit || !by || (digit->extent & (digit->extent - 1)) != 0 || by->extent > digit->extent) return std::nullopt;
    const bool apart = digit->var != by->var || digit->divisor * digit->extent <= by->divisor ||
                       by->divisor * by->extent <= digit->divisor;
    return apart ? digit : std::nullopt;
  }
  std::optional<Digit> DigitOf(const Expr& e) const {
    if (const auto* cast = dyn_cast<CastNode>(e)) return DigitOf(cast->value);
    if (const auto* var = dyn_cast<VarNode>(e)) {
      const auto extent = extents_.find(var);
      if (extent == extents_.end()) return std::nullopt;
      return Digit{var, 1, extent->second, 1};
    }
    const auto* op = dyn_cast<BinaryNode>(e);
    const auto by = op == nullptr ? std::nullopt : AsInt(op->b);
    if (!by || *by <= 0 || (op->op != BinaryOp::kFloorDiv && op->op != BinaryOp::kFloorMod)) return std::nullopt;
    std::optional<Digit> digit = DigitOf(op->a);
    if (!digit) return std::nullopt;
    if (op->op == BinaryOp::kFloorDiv) {
      if (digit->extent % *by != 0) return std::nullopt;
      digit->divisor *= *by;
      digit->extent /= *by;
    } else if (digit->extent > *by) {
      if (digit->extent % *by != 0) return std::nullopt;
      digit->extent = *by;
    }
    return digit;
  }

  std::map<const VarNode*, int64_t> extents_;
};

}  // namespace

std::vector<ThreadAccess> ThreadAccessesOf(const Stmt& leaf, const BufferScopes& scopes) {
  Collector collector(scopes);
  collector.Visit(leaf);
  return std::move(collector.found);
}
std::vector<ThreadAccess> ThreadAccessesOf(const Expr& e, const BufferScopes& scopes) {
  Collector collector(scopes);
  collector.Visit(e);
  return std::move(collector.found);
}

static void AddConjuncts(const Expr& condition, std::vector<Expr>* conjuncts) {
  const auto* both = dyn_cast<BinaryNode>(condition);
  if (both == nullptr || both->op != BinaryOp::kAnd) return conjuncts->push_back(condition);
  AddConjuncts(both->a, conjuncts);
  AddConjuncts(both->b, conjuncts);
}

// The one value that conditions leave to the variable: tx == 0, tx < 1, tx + k < 1. Nothing where there may be others.
static std::optional<int64_t> OnlyValue(const Var& var, arith::Analyzer* analyzer) {
  const arith::Bounds bounds = analyzer->ConstBounds(var);
  if (bounds.min == bounds.max) return bounds.min;
  const Expr least = Const(var.dtype(), bounds.min);
  return analyzer->CanProveLessEqual(var, least) ? std::optional(bounds.min) : std::nullopt;
}

// The loops over threads but those to which the conditions of both accesses leave the same one value.
std::vector<const ForNode*> ConflictFinder::FreeThreads(const ThreadAccess& before, const ThreadAccess& now) const {
  std::vector<const ForNode*> free = threads_;
  std::erase_if(free, [](const ForNode* loop) { return IsInt(loop->extent, 1); });
  if (before.conditions.empty() || now.conditions.empty()) return free;
  arith::Analyzer of_before, of_now;
  for (arith::Analyzer* analyzer : {&of_before, &of_now}) {
    const ThreadAccess& access = analyzer == &of_now ? now : before;
    for (const auto* loops : {&blocks_, &threads_, &access.loops}) {
      for (const ForNode* loop : *loops) analyzer->Bind(loop->var, Range{loop->min, loop->extent});
    }
    std::vector<Expr> conjuncts;
    for (const Expr& condition : access.conditions) AddConjuncts(condition, &conjuncts);
    // Memory may change between two conditions.
    for (const Expr& conjunct : conjuncts) {
      if (!arith::ReadsMemory(conjunct)) analyzer->Assume(conjunct);
    }
  }
  std::erase_if(free, [&](const ForNode* loop) {
    const std::optional<int64_t> value = OnlyValue(loop->var, &of_before);
    return value && value == OnlyValue(loop->var, &of_now);
  });
  return free;
}

// What both accesses know of the variables of the domain, and of nothing else; `same` maps variables of `before`. Null:
// nothing.
static Expr SharedCondition(const ThreadAccess& before, const ThreadAccess& now, const VarMap& same,
                            const arith::Domain& domain) {
  std::vector<Expr> of_before, of_now;
  for (const Expr& condition : before.conditions) AddConjuncts(Substitute(condition, same), &of_before);
  for (const Expr& condition : now.conditions) AddConjuncts(condition, &of_now);
  Expr shared;
  for (const Expr& conjunct : of_now) {
    const bool foreign = UsesVar(conjunct, [&](const VarNode* var) {
      return std::ranges::none_of(domain, [&](const auto& each) { return each.first.get() == var; });
    });
    const bool known = std::ranges::any_of(of_before, [&](const Expr& e) { return arith::SameExpr(e, conjunct); });
    if (!foreign && known) shared = shared ? And(shared, conjunct) : conjunct;
  }
  return shared;
}

// The loops of the first access, by those of the second, where each has loops of its own: S[tx * 4 + i] in a loop over
// i each. Nothing where these are not alike.
static std::optional<VarMap> SameLoops(const ThreadAccess& before, const ThreadAccess& now) {
  VarMap same;
  std::vector<const ForNode*> only_before, only_now;
  for (const ForNode* loop : before.loops) {
    if (!IsIn(loop, now.loops)) only_before.push_back(loop);
  }
  for (const ForNode* loop : now.loops) {
    if (!IsIn(loop, before.loops)) only_now.push_back(loop);
  }
  const auto used = [](const ThreadAccess& access, std::vector<const ForNode*> loops) {
    std::erase_if(loops, [&](const ForNode* loop) { return !UsesVar(access.first, loop->var); });
    return loops;
  };
  only_before = used(before, only_before);
  only_now = used(now, only_now);
  if (only_before.size() != only_now.size()) return std::nullopt;
  for (size_t i = 0; i < only_before.size(); ++i) {
    if (!arith::SameExpr(only_before[i]->extent, only_now[i]->extent) ||
        !arith::SameExpr(only_before[i]->min, only_now[i]->min)) {
      return std::nullopt;
    }
    same[only_before[i]->var] = CastTo(only_before[i]->var.dtype(), only_now[i]->var);
  }
  return same;
}

// The two access elements by the same function of the thread and of loops, or at a constant distance, and what lies
// between the two tells the threads apart that are free to differ:
//   B[r * 25 + k * 16 + t], t < 16, under k * 16 + t < 25       in any iteration k, for rows r
//   B[t * 8 : t * 8 + 4], then B[t * 8 + 4 : t * 8 + 8]
bool ConflictFinder::SameThreadOnly(const ThreadAccess& before, const ThreadAccess& now,
                                    const std::vector<const ForNode*>& free) const {
  if (before.elements != now.elements || before.element_bytes != now.element_bytes) return false;
  const std::optional<VarMap> same = SameLoops(before, now);
  if (!same) return false;
  const Expr first = Substitute(before.first, *same);
  const std::optional<int64_t> distance = AsInt(arith::Simplify(now.first - CastTo(now.first.dtype(), first)));
  if (!distance) return false;
  Expr element = *distance > 0 ? first : now.first;
  arith::Analyzer analyzer;
  arith::Domain domain;
  for (const ForNode* loop : blocks_) analyzer.Bind(loop->var, Range{loop->min, loop->extent});
  for (const ForNode* loop : threads_) {
    if (IsInt(loop->extent, 1)) {
      analyzer.Bind(loop->var, loop->min);
      continue;
    }
    analyzer.Bind(loop->var, Range{loop->min, loop->extent});
    if (IsIn(loop, free)) domain.push_back({loop->var, {loop->min, loop->extent}});
  }
  const std::vector<const ForNode*> common = CommonLoops(before, now);
  for (const ForNode* loop : now.loops) {
    if (!UsesVar(now.first, loop->var)) continue;
    analyzer.Bind(loop->var, Range{loop->min, loop->extent});
    if (!IsIn(loop, common)) domain.push_back({loop->var, {loop->min, loop->extent}});
  }
  const Expr condition = SharedCondition(before, now, *same, domain);
  const DataType type = element.dtype();
  const auto add = [&](const char* name, int64_t extent, int64_t weight) {
    const Var var(name, type);
    const Range range{Const(type, 0), Const(type, extent)};
    analyzer.Bind(var, range);
    domain.push_back({var, range});
    element = element + var * Const(type, weight);
  };
  if (*distance != 0) add("which", 2, std::abs(*distance));
  if (now.elements > 1) add("position", now.elements, 1);
  DigitFinder finder(domain);
  if (finder.Add(element, 1) && finder.TellsApart()) return true;
  const auto tells_apart = [&](const Expr& predicate) {
    const auto map = arith::DetectIterMap({element}, domain, predicate, arith::IterMapLevel::kNone, &analyzer);
    return map && map->injective;
  };
  return tells_apart(Expr()) || (condition && tells_apart(condition));
}

// The expression with variables in the place of bits that are flipped, bound to all values of these bits.
static Expr WithoutFlips(const Expr& e, arith::Analyzer* analyzer) {
  return RewriteExpr(e, [&](const Expr& part) -> Expr {
    const auto* call = dyn_cast<CallNode>(part);
    if (call == nullptr || call->op != "bitwise_xor" || !part.dtype().is_scalar()) return part;
    const arith::Bounds a = analyzer->ConstBounds(call->args[0]), b = analyzer->ConstBounds(call->args[1]);
    const int64_t most = std::max(a.max, b.max);
    if (a.min < 0 || b.min < 0 || most >= int64_t{1} << 30) return part;
    const Var flipped("flipped", part.dtype());
    const auto values = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(most) + 1));
    analyzer->Bind(flipped, Range{Const(part.dtype(), 0), Const(part.dtype(), values)});
    return flipped;
  });
}

// Assumes what conditions say of `loops`. What they say of memory or of names is not the same for two threads.
static void AssumeOfLoops(const std::vector<Expr>& conditions, const VarMap& renamed,
                          const std::unordered_set<const VarNode*>& loops, arith::Analyzer* analyzer) {
  std::vector<Expr> conjuncts;
  for (const Expr& condition : conditions) AddConjuncts(condition, &conjuncts);
  for (const Expr& conjunct : conjuncts) {
    const bool foreign = UsesVar(conjunct, [&](const VarNode* var) { return !loops.contains(var); });
    if (!foreign && !arith::ReadsMemory(conjunct)) analyzer->Assume(Substitute(conjunct, renamed));
  }
}

// No byte of one is one of the other, whichever threads they are of.
bool ConflictFinder::AreApart(const ThreadAccess& before, const ThreadAccess& now) const {
  VarMap others;
  arith::Analyzer analyzer;
  for (const ForNode* loop : blocks_) analyzer.Bind(loop->var, Range{loop->min, loop->extent});
  for (const ForNode* loop : threads_) {
    const Var other(loop->var.name() + "_before", loop->var.dtype());
    others[loop->var] = other;
    analyzer.Bind(loop->var, Range{loop->min, loop->extent});
    analyzer.Bind(other, Range{loop->min, loop->extent});
  }
  for (const ForNode* loop : now.loops) analyzer.Bind(loop->var, Range{loop->min, loop->extent});
  const std::vector<const ForNode*> common = CommonLoops(before, now);
  for (const ForNode* loop : before.loops) {
    if (IsIn(loop, common)) continue;
    const Var other(loop->var.name() + "_before", loop->var.dtype());
    others[loop->var] = other;
    analyzer.Bind(other, Substitute(Range{loop->min, loop->extent}, others));
  }
  std::unordered_set<const VarNode*> of_before, of_now;
  for (const auto* loops : {&blocks_, &threads_, &before.loops}) {
    for (const ForNode* loop : *loops) of_before.insert(loop->var.get());
  }
  for (const auto* loops : {&blocks_, &threads_, &now.loops}) {
    for (const ForNode* loop : *loops) of_now.insert(loop->var.get());
  }
  AssumeOfLoops(before.conditions, others, of_before, &analyzer);
  AssumeOfLoops(now.conditions, {}, of_now, &analyzer);
  const auto bytes = [](const Expr& e, int64_t size) {
    const Expr wide = CastTo(DataType::Int(64), e);
    return wide * Const(DataType::Int(64), size);
  };
  const Expr a = bytes(WithoutFlips(Substitute(before.first, others), &analyzer), before.element_bytes);
  const Expr a_end = a + Const(DataType::Int(64), before.elements * before.element_bytes);
  const Expr b = bytes(WithoutFlips(now.first, &analyzer), now.element_bytes);
  const Expr b_end = b + Const(DataType::Int(64), now.elements * now.element_bytes);
  const auto apart = [&](const VarMap& values) {
    const auto at = [&](const Expr& e) { return values.empty() ? e : analyzer.Simplify(Substitute(e, values)); };
    return analyzer.CanProveLessEqual(at(a_end), at(b)) || analyzer.CanProveLessEqual(at(b_end), at(a));
  };
  if (apart({})) return true;
  // Versions of a pipelined buffer: the iteration modulo a constant. Each remainder is looked at by itself.
  for (const ForNode* loop : common) {
    std::vector<int64_t> divisors;
    FindDivisors(a, loop->var, &divisors);
    FindDivisors(b, loop->var, &divisors);
    for (const int64_t divisor : divisors) {
      if (divisor < 2 || divisor > 16) continue;
      const DataType type = loop->var.dtype();
      const Var quotient("quotient", type);
      analyzer.Bind(quotient, Range{Const(type, 0), FloorDiv(loop->extent + loop->min, Const(type, divisor)) + 1});
      bool all = true;
      for (int64_t rest = 0; rest < divisor && all; ++rest) {
        all = apart({{loop->var, quotient * Const(type, divisor) + Const(type, rest)}});
      }
      if (all) return true;
    }
  }
  return false;
}

bool ConflictFinder::MayMeet(const ThreadAccess& before, const ThreadAccess& now) const {
  if (before.data != now.data || !(before.write || now.write)) return false;
  const std::vector<const ForNode*> free = FreeThreads(before, now);
  if (free.empty()) return false;
  if (!before.first || !now.first) return true;
  return !SameThreadOnly(before, now, free) && !AreApart(before, now);
}

}  // namespace tilewright
