#include "ir/regions.h"

#include <algorithm>
#include <span>

#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Arithmetic on constants where both are; keeps regions as people write them (`vi * 16`, not `vi * 16 + 0`).
Expr Add(const Expr& a, const Expr& b) {
  if (IsInt(a, 0)) return b;
  if (IsInt(b, 0)) return a;
  auto x = AsInt(a), y = AsInt(b);
  return x && y ? Const(a.dtype(), *x + *y) : a + b;
}
Expr Sub(const Expr& a, const Expr& b) {
  if (IsInt(b, 0)) return a;
  auto x = AsInt(a), y = AsInt(b);
  return x && y ? Const(a.dtype(), *x - *y) : a - b;
}
Expr Mul(const Expr& a, int64_t factor) {
  if (factor == 1) return a;
  auto x = AsInt(a);
  return x ? Const(a.dtype(), *x * factor) : a * Const(a.dtype(), factor);
}

// The range of `e` when none of the variables in it takes more than one value.
std::optional<Range> RelaxPoint(const Expr& e, const Domains& domains) {
  VarMap values;
  bool point = true, constant = true;
  PreOrder(e, [&](const Expr& part) {
    const auto* var = dyn_cast<VarNode>(part);
    const auto domain = var == nullptr ? domains.end() : domains.find(Var(var));
    constant &= !isa<LoadNode>(part) && (var == nullptr || (domain != domains.end() && AsInt(domain->second.min)));
    if (domain == domains.end()) return point;
    point = point && IsInt(domain->second.extent, 1);
    values[domain->first] = CastTo(var->dtype(), domain->second.min);
    return point;
  });
  if (!point) return std::nullopt;
  const Expr value = Substitute(e, values);
  return Range{constant ? arith::Analyzer().Simplify(value) : value, Const(e.dtype(), 1)};
}

// A number g that divides `divisor` and `range.min`, at least as large as the range: all of [min, min + extent) lies
// between two neighboring multiples of g, and so of the divisor. 0: there is none.
int64_t StepBetweenMultiples(const Range& range, int64_t divisor) {
  constexpr int kMostTried = 16;
  constexpr int64_t kMostParts = 4096;
  const auto extent = AsInt(range.extent);
  if (!extent || *extent <= 0 || *extent > divisor || AsInt(range.min)) return 0;
  arith::Analyzer analyzer;
  int tried = 0;
  for (int64_t parts = 1; parts <= std::min(divisor / *extent, kMostParts) && tried < kMostTried; ++parts) {
    if (divisor % parts != 0) continue;
    const int64_t step = divisor / parts;
    ++tried;
    if (IsInt(analyzer.Simplify(FloorMod(range.min, Const(range.min.dtype(), step))), 0)) return step;
  }
  return 0;
}

// The interval of values of `e` as {least, number of values}; extent 1 when it does not vary.
std::optional<Range> Relax(const Expr& e, const Domains& domains) {
  if (const auto* var = dyn_cast<VarNode>(e)) {
    auto it = domains.find(Var(var));
    return it == domains.end() ? Range{e, Const(e.dtype(), 1)} : it->second;
  }
  if (std::optional<Range> point = RelaxPoint(e, domains)) return point;
  if (const auto* cast_node = dyn_cast<CastNode>(e)) {
    auto range = Relax(cast_node->value, domains);
    if (!range) return std::nullopt;
    return Range{CastTo(e.dtype(), range->min), CastTo(e.dtype(), range->extent)};
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return std::nullopt;
  auto a = Relax(op->a, domains), b = Relax(op->b, domains);
  if (!a || !b) return std::nullopt;
  const Expr one = Const(e.dtype(), 1);
  switch (op->op) {
    case BinaryOp::kAdd:
      return Range{Add(a->min, b->min), Sub(Add(a->extent, b->extent), one)};
    case BinaryOp::kSub: {
      // min(a) - max(b)
      Expr max_b = Sub(Add(b->min, b->extent), one);
      return Range{Sub(a->min, max_b), Sub(Add(a->extent, b->extent), one)};
    }
    case BinaryOp::kMul: {
      auto factor = AsInt(op->b);
      const Range& other = factor ? *a : *b;
      if (!factor) factor = AsInt(op->a);
      if (!factor) return std::nullopt;
      Expr steps = Sub(other.extent, one);
      if (*factor >= 0) return Range{Mul(other.min, *factor), Add(Mul(steps, *factor), one)};
      return Range{Mul(Add(other.min, steps), *factor), Add(Mul(steps, -*factor), one)};
    }
    case BinaryOp::kFloorDiv: {
      auto divisor = AsInt(op->b);
      if (!divisor || *divisor <= 0) return std::nullopt;
      Expr last = Sub(Add(a->min, a->extent), one);
      auto lo = AsInt(a->min), hi = AsInt(last);
      if (lo && hi) {
        auto floor = [&](int64_t x) { return x >= 0 ? x / *divisor : -((-x + *divisor - 1) / *divisor); };
        return Range{Const(e.dtype(), floor(*lo)), Const(e.dtype(), floor(*hi) - floor(*lo) + 1)};
      }
      Expr first = FloorDiv(a->min, op->b);
      if (StepBetweenMultiples(*a, *divisor) != 0) return Range{arith::Analyzer().Simplify(first), one};
      return Range{first, Add(Sub(FloorDiv(last, op->b), first), one)};
    }
    case BinaryOp::kFloorMod: {
      auto divisor = AsInt(op->b);
      if (!divisor || *divisor <= 0) return std::nullopt;
      auto lo = AsInt(a->min), extent = AsInt(a->extent);
      if (lo && extent && *lo >= 0 && *lo / *divisor == (*lo + *extent - 1) / *divisor) {
        return Range{Const(e.dtype(), *lo % *divisor), a->extent};
      }
      if (StepBetweenMultiples(*a, *divisor) != 0) {
        return Range{arith::Analyzer().Simplify(FloorMod(a->min, op->b)), a->extent};
      }
      return Range{Const(e.dtype(), 0), op->b};
    }
    default:
      return std::nullopt;
  }
}

Expr SimplifiedDifference(const Expr& a, const Expr& b) {
  const Expr difference = Sub(a, b);
  return AsInt(difference) ? difference : arith::Analyzer().Simplify(difference);
}

// The hull of two ranges: one of the ends on each side where it is known which comes first.
Range Union(const Range& a, const Range& b) {
  if (arith::SameExpr(a.min, b.min) && arith::SameExpr(a.extent, b.extent)) return a;
  const Expr a_end = Add(a.min, a.extent), b_end = Add(b.min, b.extent);
  const auto mins = AsInt(SimplifiedDifference(a.min, b.min)), ends = AsInt(SimplifiedDifference(a_end, b_end));
  const Expr begin = !mins ? Min(a.min, b.min) : *mins <= 0 ? a.min : b.min;
  const Expr end = !ends ? Max(a_end, b_end) : *ends >= 0 ? a_end : b_end;
  return {begin, SimplifiedDifference(end, begin)};
}

// What is touched of one buffer: the box around all, and its pieces, one for each access, as long as they are few.
struct Touched {
  BufferRegion hull;
  std::vector<std::vector<Range>> pieces;
  bool too_many = false;
};
constexpr size_t kMostPieces = 64;   // that are looked at
constexpr size_t kMostRegions = 16;  // that they may be
constexpr size_t kMostUnrelated = 4;

// A piece by constant distances from the first one.
struct Box {
  std::vector<int64_t> begin, end;
  std::vector<const Expr*> mins;  // the same begins as they were written
};

std::optional<std::vector<Box>> BoxesOf(const std::vector<std::vector<Range>>& pieces) {
  std::vector<Box> boxes;
  for (const std::vector<Range>& piece : pieces) {
    Box box;
    for (size_t d = 0; d < piece.size(); ++d) {
      const auto begin = AsInt(SimplifiedDifference(piece[d].min, pieces[0][d].min)), extent = AsInt(piece[d].extent);
      if (!begin || !extent) return std::nullopt;
      box.begin.push_back(*begin);
      box.end.push_back(*begin + *extent);
      box.mins.push_back(&piece[d].min);
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

// Whether the two together are a box, which `a` then is.
bool MergeBoxes(Box* a, const Box& b) {
  size_t differing = 0, at = 0;
  for (size_t d = 0; d < a->begin.size(); ++d) {
    if (a->begin[d] == b.begin[d] && a->end[d] == b.end[d]) continue;
    ++differing;
    at = d;
  }
  if (differing > 1 || (differing == 1 && (a->begin[at] > b.end[at] || b.begin[at] > a->end[at]))) return false;
  if (differing == 0) return true;
  if (b.begin[at] < a->begin[at]) {
    a->begin[at] = b.begin[at];
    a->mins[at] = b.mins[at];
  }
  a->end[at] = std::max(a->end[at], b.end[at]);
  return true;
}

// The regions that the pieces are, each piece of a box with others a part of that; the box around all where they are
// many.
void AppendPieces(Touched touched, std::vector<BufferRegion>* regions) {
  const Buffer& buffer = touched.hull.buffer;
  std::vector<std::vector<Range>> pieces;
  for (std::vector<Range>& piece : touched.pieces) {
    const auto same = [&](const std::vector<Range>& other) {
      return std::ranges::equal(piece, other, [](const Range& a, const Range& b) {
        return arith::SameExpr(a.min, b.min) && arith::SameExpr(a.extent, b.extent);
      });
    };
    if (std::ranges::none_of(pieces, same)) pieces.push_back(std::move(piece));
  }
  std::optional<std::vector<Box>> boxes;
  if (!touched.too_many && pieces.size() > 1) boxes = BoxesOf(pieces);
  if (!boxes) {
    const bool unrelated = !touched.too_many && pieces.size() > 1 && pieces.size() <= kMostUnrelated;
    if (!unrelated) return regions->push_back(std::move(touched.hull));
    for (std::vector<Range>& piece : pieces) regions->push_back({buffer, std::move(piece)});
    return;
  }
  for (bool merged = true; merged;) {
    merged = false;
    for (size_t a = 0; a < boxes->size(); ++a) {
      for (size_t b = boxes->size(); b-- > a + 1;) {
        if (!MergeBoxes(&(*boxes)[a], (*boxes)[b])) continue;
        boxes->erase(boxes->begin() + static_cast<ptrdiff_t>(b));
        merged = true;
      }
    }
  }
  if (boxes->size() == 1 || boxes->size() > kMostRegions) return regions->push_back(std::move(touched.hull));
  for (const Box& box : *boxes) {
    std::vector<Range> region;
    for (size_t d = 0; d < box.begin.size(); ++d) {
      const DataType type = pieces[0][d].extent.dtype();
      region.push_back({*box.mins[d], Const(type, box.end[d] - box.begin[d])});
    }
    regions->push_back({buffer, std::move(region)});
  }
}

class Detector : public Visitor {
 public:
  explicit Detector(const BlockNode* block) {
    if (block == nullptr) return;
    EnterBlock(block);
  }

  using Visitor::Visit;
  AccessRegions Take() {
    AccessRegions regions;
    const auto is_written = [&](const Touched& read) {
      return std::ranges::any_of(writes_, [&](const Touched& t) { return t.hull.buffer.same_as(read.hull.buffer); });
    };
    for (Touched& read : reads_) {
      if (is_written(read)) {
        AppendPieces(std::move(read), &regions.reads);
      } else {
        regions.reads.push_back(std::move(read.hull));
      }
    }
    for (Touched& write : writes_) AppendPieces(std::move(write), &regions.writes);
    return regions;
  }

  void EnterBlock(const BlockNode* block) {
    for (const Buffer& buffer : block->alloc_buffers) local_.push_back(buffer);
    for (const MatchBuffer& match : block->match_buffers) matched_.push_back(match);
  }

 protected:
  void VisitLoad(const LoadNode* op) override {
    // Sums that are written out load an element often, shortly after another.
    constexpr size_t kMostSeen = 64;
    const auto same = [&](const LoadNode* seen) {
      return seen->buffer.same_as(op->buffer) && std::ranges::equal(seen->indices, op->indices, arith::SameExpr) &&
             arith::SameExpr(seen->predicate, op->predicate);
    };
    if (std::ranges::any_of(std::span(seen_).last(std::min(seen_.size(), kMostSeen)), same)) return;
    seen_.push_back(op);
    Visitor::VisitLoad(op);
    Touch(reads_, BufferRegion::Point(op->buffer, op->indices));
  }
  void VisitStore(const StoreNode* op) override {
    VisitAll(op->indices);
    Touch(writes_, BufferRegion::Point(op->buffer, op->indices));
    Visit(op->value);
    Visit(op->predicate);
  }
  void VisitFor(const ForNode* op) override {
    Visit(op->min);
    Visit(op->extent);
    // Ranges of outer loops are put into those of inner ones: domains mention only what stays fixed.
    const Expr first = Now(op->min), count = Now(op->extent);
    auto range = Relax(first, domains_);
    auto extent = Relax(count, domains_);
    seen_.clear();
    const bool fixed = IsFixed(first) && IsFixed(count);
    if (fixed && range && extent && IsInt(extent->extent, 1) && IsInt(range->extent, 1)) {
      // One value, although loops around stand in it: (17 - p % 2) // 2 is 8.
      const auto fixed_form = [&](const Expr& e, const Range& values) { return VariesWithLoops(e) ? values.min : e; };
      domains_[op->var] = {fixed_form(first, *range), fixed_form(count, *extent)};
      Visit(op->body);
      domains_.erase(op->var);
    } else {
      unbounded_.push_back(op->var);
      Visit(op->body);
      unbounded_.pop_back();
    }
    seen_.clear();
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    Visit(op->value);
    VisitUnderLet(op->var, op->value, op->body);
  }
  void VisitLet(const LetNode* op) override {
    Visit(op->value);
    VisitUnderLet(op->var, op->value, op->body);
  }
  void VisitAllocate(const AllocateNode* op) override {
    local_.push_back(op->buffer);
    Visitor::VisitAllocate(op);
  }
  // An attribute's value is not executed: what an instruction accesses, its body says.
  void VisitAttrStmt(const AttrStmtNode* op) override { Visit(op->body); }
  void VisitCall(const CallNode* op) override {
    if (op->op == kAddressOf && op->args.size() == 1 && isa<LoadNode>(op->args[0])) {
      // A pointer: whoever gets it may read and write.
      const auto* load = cast<LoadNode>(op->args[0]);
      VisitAll(load->indices);
      Touch(reads_, BufferRegion::Full(load->buffer));
      Touch(writes_, BufferRegion::Full(load->buffer));
      return;
    }
    Visitor::VisitCall(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    VisitAll(op->bindings);
    Visit(op->predicate);
    VarMap bindings;
    for (size_t i = 0; i < op->bindings.size(); ++i) bindings[op->block->iter_vars[i].var] = op->bindings[i];
    for (const BufferRegion& region : op->block->reads) Touch(reads_, Substitute(region, bindings));
    for (const BufferRegion& region : op->block->writes) Touch(writes_, Substitute(region, bindings));
  }

 private:
  template <class Body>
  void VisitUnderLet(const Var& var, const Expr& value, const Body& body) {
    seen_.clear();
    const Expr now = Now(value);
    // Memory may have changed when the name is used.
    const bool is_known = IsShort(now) && !arith::ReadsMemory(now);
    if (is_known) {
      lets_[var] = now;
    } else {
      unbounded_.push_back(var);
    }
    Visit(body);
    if (is_known) {
      lets_.erase(var);
    } else {
      unbounded_.pop_back();
    }
    seen_.clear();
  }
  // With values in place of names.
  Expr Now(const Expr& e) const { return lets_.empty() ? e : Substitute(e, lets_); }
  // Values of names that are used more than once in each other grow fast.
  static bool IsShort(const Expr& value) {
    constexpr int kMostNodes = 200;
    int nodes = 0;
    PreOrder(value, [&](const Expr&) { return ++nodes <= kMostNodes; });
    return nodes <= kMostNodes;
  }
  void Touch(std::vector<Touched>& regions, BufferRegion region) {
    for (const MatchBuffer& match : matched_) {
      if (match.buffer.same_as(region.buffer)) return Touch(regions, match.source);
    }
    for (const Buffer& buffer : local_) {
      if (buffer.same_as(region.buffer)) return;
    }
    for (size_t d = 0; d < region.region.size(); ++d) {
      Range& range = region.region[d];
      range = {Now(range.min), Now(range.extent)};
      std::optional<Range> relaxed = Bounded(range.min) ? RelaxRange(range, domains_) : std::nullopt;
      range = relaxed ? *relaxed : BufferRegion::Full(region.buffer).region[d];
    }
    for (Touched& known : regions) {
      if (!known.hull.buffer.same_as(region.buffer)) continue;
      std::vector<Range>& hull = known.hull.region;
      for (size_t d = 0; d < hull.size(); ++d) hull[d] = Union(hull[d], region.region[d]);
      known.too_many |= known.pieces.size() == kMostPieces;
      if (!known.too_many) known.pieces.push_back(std::move(region.region));
      return;
    }
    std::vector<std::vector<Range>> pieces{region.region};
    regions.push_back({std::move(region), std::move(pieces)});
  }
  bool IsUnbounded(const Expr& e) const {
    bool unbounded = false;
    PreOrder(e, [&](const Expr& part) {
      for (const Var& var : unbounded_) unbounded |= var.get() == part.get();
      return !unbounded;
    });
    return unbounded;
  }
  // Whether the value is known before the statement: it depends on no name without a value, and on no memory that the
  // statement allocates or has written.
  bool IsFixed(const Expr& e) const {
    bool fixed = !IsUnbounded(e);
    PreOrder(e, [&](const Expr& part) {
      const auto* load = dyn_cast<LoadNode>(part);
      if (load == nullptr) return fixed;
      const auto same = [&](const Buffer& buffer) { return buffer->data.same_as(load->buffer->data); };
      fixed = fixed && std::ranges::none_of(local_, same) &&
              std::ranges::none_of(writes_, [&](const Touched& write) { return same(write.hull.buffer); });
      return fixed;
    });
    return fixed;
  }
  bool VariesWithLoops(const Expr& e) const {
    bool varies = false;
    PreOrder(e, [&](const Expr& part) {
      const auto* var = dyn_cast<VarNode>(part);
      varies |= var != nullptr && domains_.contains(Var(var));
      return !varies;
    });
    return varies;
  }
  bool Bounded(const Expr& e) const { return !IsUnbounded(e) && !arith::ReadsMemory(e); }

  std::vector<Touched> reads_, writes_;
  std::vector<const LoadNode*> seen_;  // with the same loops and lets around
  std::vector<Buffer> local_;
  std::vector<MatchBuffer> matched_;
  Domains domains_;
  std::vector<Var> unbounded_;
  VarMap lets_;
};

}  // namespace

std::optional<Range> RelaxRange(const Range& range, const Domains& domains) {
  // Vector indices stand for all of their lanes.
  if (const auto* ramp = dyn_cast<RampNode>(range.min)) {
    auto stride = AsInt(ramp->stride);
    if (!stride || *stride < 0) return std::nullopt;
    const Expr lanes = Const(ramp->base.dtype(), *stride * (ramp->dtype().lanes() - 1) + 1);
    return RelaxRange({ramp->base, lanes}, domains);
  }
  if (const auto* broadcast = dyn_cast<BroadcastNode>(range.min)) {
    return RelaxRange({broadcast->value, Const(broadcast->value.dtype(), 1)}, domains);
  }
  std::optional<Range> min = Relax(range.min, domains), extent = Relax(range.extent, domains);
  if (!min || !extent || !IsInt(extent->extent, 1)) return std::nullopt;
  const Expr one = Const(min->extent.dtype(), 1);
  return Range{min->min, Sub(Add(min->extent, extent->min), one)};
}

AccessRegions DetectRegions(const Stmt& s) {
  Detector detector(nullptr);
  detector.Visit(s);
  return detector.Take();
}

namespace {

// Whether a reduction reads what it writes. Elements of its outputs that other instances write are read as others are.
bool IsOwnOutput(const BufferRegion& read, const std::vector<BufferRegion>& writes, arith::Analyzer* analyzer) {
  return std::ranges::any_of(writes, [&](const BufferRegion& write) {
    if (!write.buffer.same_as(read.buffer)) return false;
    for (size_t d = 0; d < read.region.size(); ++d) {
      const Range &inner = read.region[d], &outer = write.region[d];
      const bool same = arith::SameExpr(inner.min, outer.min) && arith::SameExpr(inner.extent, outer.extent);
      if (!same && !analyzer->CanProveInside(inner, outer)) return false;
    }
    return true;
  });
}

}  // namespace

AccessRegions DetectRegions(const BlockNode& block) {
  Detector detector(&block);
  detector.Visit(block.init);
  detector.Visit(block.body);
  AccessRegions regions = detector.Take();
  if (block.init) {
    arith::Analyzer analyzer;
    std::erase_if(regions.reads,
                  [&](const BufferRegion& read) { return IsOwnOutput(read, regions.writes, &analyzer); });
  }
  return regions;
}

}  // namespace tilewright
