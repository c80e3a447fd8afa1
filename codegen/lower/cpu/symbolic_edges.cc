#include "codegen/lower/cpu/symbolic_edges.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/lower/common/loop_partition.h"
#include "codegen/lower/common/simplify.h"
#include "codegen/lower/cpu/edge_conditions.h"
#include "codegen/lower/cpu/edge_tile.h"
#include "codegen/lower/cpu/shifted_tiles.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

using Comparisons = std::unordered_map<const ExprNode*, Expr>;  // what stands for each

// Replaces comparisons, each by what stands for it.
class Decider : public Mutator {
 public:
  explicit Decider(const Comparisons& decided) : decided_(decided) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override {
    const auto found = decided_.find(e.get());
    return found == decided_.end() ? Mutator::Mutate(e) : found->second;
  }

 private:
  const Comparisons& decided_;
};

// Most rows per tile for which the edge is written once for each number of rows left.
constexpr int64_t kMostRowsLeft = 16;

// Stores up to which a function of few stores is cut. Edges run seldom: with three times as much code one kernel of
// many was faster, and windows of three dimensions took twice as long to compile.
constexpr int64_t kMostStores = 1000;
// Functions of more stores grow by this factor, up to kMaxStores.
constexpr int64_t kMostGrowth = 3;

// Unrolled loops become serial loops if no register index depends on them: code that evaluates its conditions at run
// time does not gain from copies.
class Roller : public Mutator {
 public:
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const Stmt mutated = Mutator::MutateFor(op, self);
    if (op->kind != ForKind::kUnrolled || PlacesRegisters(op->body, op->var)) return mutated;
    ForNode::Fields fields = cast<ForNode>(mutated)->fields();
    fields.kind = ForKind::kSerial;
    return For(std::move(fields));
  }

 private:
  static bool PlacesRegisters(const Stmt& body, const Var& var) {
    bool found = false;
    const auto add = [&](const Buffer& buffer, const std::vector<Expr>& indices) {
      found |= buffer->scope.kind() == MemoryKind::kRegister &&
               std::ranges::any_of(indices, [&](const Expr& index) { return UsesVar(index, var); });
    };
    PreOrder(body, [&](const Stmt& s) {
      if (const auto* store = dyn_cast<StoreNode>(s)) add(store->buffer, store->indices);
      return !found;
    });
    PreOrderExprs(body, [&](const Expr& e) {
      if (const auto* load = dyn_cast<LoadNode>(e)) add(load->buffer, load->indices);
      return !found;
    });
    return found;
  }
};

class EdgeCutter : public Mutator {
 public:
  EdgeCutter(const Function& function, int64_t stores)
      : next_id_(function->next_id),
        stores_(stores),
        most_stores_(std::clamp(kMostGrowth * stores, kMostStores, kMaxStores)) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const Stmt mutated = Mutator::MutateFor(op, self);
    const ForNode& loop = *cast<ForNode>(mutated);
    if (!IsInt(loop.min, 0) || AsInt(loop.extent)) return mutated;
    if (loop.kind == ForKind::kParallel) return Parallel(loop);
    return loop.kind == ForKind::kSerial ? Serial(loop, mutated) : mutated;
  }

 private:
  Stmt Copy(const Stmt& body) { return CopyWithFreshNames(body, &next_id_); }
  // Copies the body with its loops rolled, which is less code.
  Stmt CopyRolled(const Stmt& body) { return Copy(Roller().Mutate(body)); }

  // The body where all conditions are as in the middle.
  static Stmt Whole(const std::vector<EdgeCondition>& conditions, const Stmt& body) {
    Comparisons decided;
    for (const EdgeCondition& condition : conditions) {
      decided[condition.comparison] = Bool(condition.at_end() != condition.negated);
    }
    return Decider(decided).Mutate(body);
  }
  static Expr Bool(bool value) { return value ? True() : False(); }

  // A loop's tile, and the variables for the number of full tiles and of rows left.
  struct Edge {
    const Tile& tile;
    const std::vector<EdgeCondition>& conditions;
    const Var& var;
    const Stmt& body;
    Var full, left;
  };

  // The body of iteration full + t when `left` rows are left.
  Stmt Iteration(const Edge& edge, int64_t t, const Expr& left) {
    Comparisons decided;
    for (size_t i = 0; i < edge.conditions.size(); ++i) {
      const EdgeCondition& condition = edge.conditions[i];
      const DataType type = condition.inner.dtype();
      decided[condition.comparison] =
          condition.at_end()
              ? condition.At(edge.tile.sizes[i].At(CastTo(type, left) - Const(type, t * edge.tile.coefficient)))
              : Bool(condition.negated);
    }
    const Expr at = CastTo(edge.var.dtype(), edge.full) + Const(edge.var.dtype(), t);
    return Copy(Substitute(Decider(decided).Mutate(edge.body), {{edge.var, at}}));
  }

  // The partial iterations when `left` rows are left, a constant or a variable.
  Stmt Left(const Edge& edge, const Expr& left) {
    std::vector<Stmt> sequence;
    for (int64_t t = edge.tile.whole + 1; t < 0; ++t) sequence.push_back(Iteration(edge, t, left));
    if (!IsInt(left, 0) && edge.tile.coefficient > 1) {
      const Stmt last = Iteration(edge, 0, left);
      sequence.push_back(AsInt(left) ? last : If(Const(left.dtype(), 0) < left, last));
    }
    return Sequence(std::move(sequence));
  }

  // The same for each number of rows from `first` to `last`.
  Stmt EachLeft(const Edge& edge, int64_t first, int64_t last) {
    const DataType type = edge.left.dtype();
    if (first == last) return Left(edge, Const(type, first));
    const int64_t middle = (first + last) / 2;
    return If(edge.left <= Const(type, middle), EachLeft(edge, first, middle), EachLeft(edge, middle + 1, last));
  }

  Stmt EdgeOf(const Edge& edge) {
    const Tile& tile = edge.tile;
    const int64_t stores = CountStores(edge.body) * -tile.whole, each = tile.coefficient * stores / 2;
    const int64_t first = tile.whole == -1 ? 1 : 0;
    if (tile.unrolled && tile.coefficient <= kMostRowsLeft && stores_ + each <= most_stores_) {
      stores_ += each;
      const Stmt left = EachLeft(edge, std::min(first, tile.coefficient - 1), tile.coefficient - 1);
      return first == 1 ? If(Const(edge.left.dtype(), 0) < edge.left, left) : left;
    }
    stores_ += stores;
    return Left(edge, edge.left);
  }

  static Edge MakeEdge(const Tile& tile, const std::vector<EdgeCondition>& conditions, const Var& var,
                       const Stmt& body) {
    const DataType type = tile.size.dtype();
    return {tile, conditions, var, body, Var(var.name() + "_full", type), Var(var.name() + "_left", type)};
  }
  static Stmt Named(const Edge& edge, const Stmt& body) {
    const Expr step = Const(edge.tile.size.dtype(), edge.tile.coefficient);
    return LetStmt(edge.full, FloorDiv(edge.tile.size, step), LetStmt(edge.left, FloorMod(edge.tile.size, step), body));
  }
  // The first iteration that may not be whole.
  static Expr End(const Edge& edge) {
    return CastTo(edge.var.dtype(), edge.full) + Const(edge.var.dtype(), edge.tile.whole + 1);
  }

  Stmt Serial(const ForNode& loop, const Stmt& self) {
    const std::vector<EdgeCondition> conditions = FindEdgeConditions(loop.var, loop.body);
    if (conditions.empty()) return self;
    const std::optional<Tile> tile = TileOf(conditions, loop.extent);
    if (tile) {
      if (std::optional<Stmt> shifted = Shifted(loop, self, *tile, conditions)) return *std::move(shifted);
    }
    const int64_t stores = CountStores(loop.body);
    if (!tile || stores_ + stores * (tile->begin + 2) > most_stores_) return ThreeParts(loop, self, conditions);
    if (tile->is_plain() && tile->coefficient == 1) return self;
    const Edge edge = MakeEdge(*tile, conditions, loop.var, loop.body);
    const DataType type = loop.var.dtype();
    const auto part = [&](int64_t from, const Expr& extent, const Stmt& body) {
      ForNode::Fields fields = loop.fields();
      fields.min = Const(type, from);
      fields.extent = extent;
      fields.body = body;
      return For(std::move(fields));
    };
    std::vector<Stmt> sequence;
    if (tile->begin > 0) {
      stores_ += stores * tile->begin;
      sequence.push_back(Copy(part(0, Const(type, tile->begin), AllButTheBeginning(conditions, loop.body))));
    }
    sequence.push_back(part(tile->begin, End(edge) - Const(type, tile->begin), Whole(conditions, loop.body)));
    sequence.push_back(EdgeOf(edge));
    Stmt cut = Sequence(std::move(sequence));
    if (!tile->is_plain()) {
      stores_ += stores;
      cut = If(Const(type, tile->begin) <= End(edge), cut, CopyRolled(self));
    }
    return Named(edge, cut);
  }

  // The loop with tiles that overlap at the end (shifted_tiles.h), used where a partial tile would keep its conditions.
  // If the size is too small for them, the original loop runs. Tiles at both ends are unrolled if that is not too much
  // code.
  std::optional<Stmt> Shifted(const ForNode& loop, const Stmt& self, const Tile& tile,
                              const std::vector<EdgeCondition>& conditions) {
    const int64_t step = tile.coefficient;
    // Those of the last tiles that are not whole, and the others.
    const int64_t at_end = -tile.whole - 1, ends = tile.begin + at_end;
    const int64_t rolled = CountStores(Roller().Mutate(loop.body)), written_out = CountStores(loop.body);
    const bool roll = stores_ + ends * written_out + rolled > most_stores_;
    const int64_t stores = ends * (roll ? rolled : written_out) + rolled;
    if (step == 1 || tile.is_plain() || stores_ + stores > most_stores_ || !MayRunTwice(loop.body)) return std::nullopt;
    const auto copy = [&](const Stmt& end) { return roll ? CopyRolled(end) : Copy(end); };
    const DataType type = tile.size.dtype();
    const Var tiles(loop.var.name() + "_tiles", type), place(loop.var.name() + "_place", type);
    const auto from_end = [&](int64_t count) { return tile.size - Const(type, count * step); };
    const std::optional<Stmt> whole = AtPlace(Whole(conditions, loop.body), loop.var, step, place);
    if (!whole) return std::nullopt;
    std::vector<Stmt> sequence;
    const auto part = [&](const Expr& first, const Expr& extent, const Stmt& body) {
      ForNode::Fields fields = loop.fields();
      fields.min = first;
      fields.extent = extent;
      fields.body = body;
      return For(std::move(fields));
    };
    const Expr begin = Const(loop.var.dtype(), tile.begin);
    if (tile.begin > 0) {
      const Expr zero = Const(loop.var.dtype(), 0);
      sequence.push_back(copy(part(zero, begin, AllButTheBeginning(conditions, loop.body))));
    }
    const Expr first = Min(CastTo(type, loop.var) * Const(type, step), from_end(at_end + 1));
    const Expr count = CastTo(loop.var.dtype(), tiles) - Const(loop.var.dtype(), at_end + tile.begin);
    sequence.push_back(part(begin, count, LetStmt(place, first, *whole)));
    for (int64_t back = at_end; back > 0; --back) {
      Comparisons decided;
      for (size_t i = 0; i < conditions.size(); ++i) {
        const EdgeCondition& condition = conditions[i];
        const Expr left = Const(condition.inner.dtype(), back * step);
        decided[condition.comparison] =
            condition.at_end() ? condition.At(tile.sizes[i].At(left)) : Bool(condition.negated);
      }
      const std::optional<Stmt> last = AtPlace(Decider(decided).Mutate(loop.body), loop.var, step, from_end(back));
      if (!last) return std::nullopt;
      sequence.push_back(copy(*last));
    }
    stores_ += stores;
    const Expr enough = Const(type, LeastForShifted(tile, conditions)) <= tile.size;
    const Expr all = FloorDiv(tile.size + Const(type, step - 1), Const(type, step));
    return If(enough, LetStmt(tiles, all, Sequence(std::move(sequence))), CopyRolled(self));
  }

  // The least size for overlapping tiles: tiles at the beginning do not reach the end, and the others do not reach the
  // beginning.
  static int64_t LeastForShifted(const Tile& tile, const std::vector<EdgeCondition>& conditions) {
    const int64_t step = tile.coefficient, at_end = -tile.whole - 1;
    int64_t first = 0, reach = 0;  // the first place that is as in the middle, and how far a tile sees
    for (size_t i = 0; i < conditions.size(); ++i) {
      const EdgeCondition& condition = conditions[i];
      if (condition.at_end()) {
        const SizeOfCondition& size = tile.sizes[i];
        reach = std::max(reach, arith::FloorDivInt(condition.greatest - size.least, size.scale));
      } else {
        first = std::max(first, *AsInt(condition.size) - condition.least);
      }
    }
    const int64_t least = std::max(step * at_end + first, step * (tile.begin - 1) + reach + 1);
    // With more than the tiles at both ends there is one between them.
    return first <= step * (tile.begin - 1) + 1 ? least : std::max(least, step * (at_end + 1) + first);
  }

  // The body where conditions at the end are as in the middle.
  static Stmt AllButTheBeginning(const std::vector<EdgeCondition>& conditions, const Stmt& body) {
    Comparisons decided;
    for (const EdgeCondition& condition : conditions) {
      if (condition.at_end()) decided[condition.comparison] = Bool(!condition.negated);
    }
    return Decider(decided).Mutate(body);
  }

  // The loop in three parts: the beginning, where some condition does not hold yet, the middle and the end.
  Stmt ThreeParts(const ForNode& loop, const Stmt& self, const std::vector<EdgeCondition>& conditions) {
    const DataType type = loop.var.dtype();
    int64_t begin = 0;
    Expr end = loop.extent;
    bool has_end = false;
    for (const EdgeCondition& condition : conditions) {
      if (condition.at_end()) {
        end = Min(end, CastTo(type, condition.Iterations(condition.greatest)));
        has_end = true;
      } else {
        begin = std::max(begin, *AsInt(arith::Analyzer().Simplify(condition.Iterations(condition.least))));
      }
    }
    const int64_t parts = (begin > 0 ? 1 : 0) + (has_end ? 1 : 0);
    const int64_t stores = parts * CountStores(loop.body);
    if (parts == 0 || stores_ + stores > most_stores_) return self;
    stores_ += stores;
    const Var first(loop.var.name() + "_begin", type), last(loop.var.name() + "_end", type);
    const auto part = [&](const Expr& from, const Expr& to, const Stmt& body) {
      ForNode::Fields fields = loop.fields();
      fields.min = from;
      fields.extent = Max(to - from, Const(type, 0));
      fields.body = body;
      return For(std::move(fields));
    };
    std::vector<Stmt> sequence;
    if (begin > 0) sequence.push_back(CopyRolled(part(Const(type, 0), first, loop.body)));
    sequence.push_back(part(first, last, Whole(conditions, loop.body)));
    if (has_end) sequence.push_back(CopyRolled(part(last, loop.extent, loop.body)));
    return LetStmt(first, Min(Const(type, begin), loop.extent),
                   LetStmt(last, Max(first, end), Sequence(std::move(sequence))));
  }

  Stmt Parallel(const ForNode& loop) {
    ForNode::Fields fields = loop.fields();
    fields.body = BranchStages(loop.var, loop.extent, fields.body);
    // The loops that a fused one was made of.
    for (const Expr& part : PartsOf(fields.body, loop.var)) {
      const std::optional<Expr> extent = ExtentOfPart(part, loop);
      if (!extent || AsInt(*extent)) continue;
      const Var var(loop.var.name() + "_part", part.dtype());
      fields.body = RewriteExprs(
          fields.body, [&](const Expr& e) { return isa<BinaryNode>(e) && StructuralEqual(e, part) ? Expr(var) : e; });
      fields.body = Substitute(BranchStages(var, *extent, fields.body), {{var, part}});
    }
    return For(std::move(fields));
  }

  // Quotients and remainders of the variable of a fused loop.
  static std::vector<Expr> PartsOf(const Stmt& body, const Var& var) {
    std::vector<Expr> parts;
    PreOrderExprs(body, [&](const Expr& e) {
      if (!IsPart(e, var)) return true;
      if (std::ranges::none_of(parts, [&](const Expr& part) { return StructuralEqual(part, e); })) parts.push_back(e);
      return false;
    });
    return parts;
  }
  static bool IsPart(const Expr& e, const Var& var) {
    const auto* division = dyn_cast<BinaryNode>(e);
    if (division == nullptr || UsesVar(division->b, var)) return false;
    if (division->op != BinaryOp::kFloorDiv && division->op != BinaryOp::kFloorMod) return false;
    return division->a.same_as(var) || IsPart(division->a, var);
  }
  static std::optional<Expr> ExtentOfPart(const Expr& part, const ForNode& loop) {
    const auto* division = cast<BinaryNode>(part);
    if (division->op == BinaryOp::kFloorMod) return division->b;
    std::optional<Expr> whole;
    if (division->a.same_as(loop.var)) {
      whole = loop.extent;
    } else {
      whole = ExtentOfPart(division->a, loop);
    }
    if (!whole) return std::nullopt;
    arith::Analyzer analyzer;
    return analyzer.Simplify(FloorDiv(*whole + (division->b - Const(division->b.dtype(), 1)), division->b));
  }

  // Branches over each stage of a parallel body separately. Stages that share registers stay together.
  Stmt BranchStages(const Var& var, const Expr& extent, const Stmt& body) {
    if (const auto* seq = dyn_cast<SeqNode>(body)) {
      std::vector<Stmt> stages;
      for (const Stmt& stage : seq->stmts) stages.push_back(BranchStages(var, extent, stage));
      return Sequence(std::move(stages));
    }
    const auto* allocate = dyn_cast<AllocateNode>(body);
    if (allocate != nullptr && allocate->buffer->scope.kind() != MemoryKind::kRegister) {
      return Stmt(new AllocateNode(allocate->buffer, allocate->annotations, BranchStages(var, extent, allocate->body)));
    }
    const std::vector<EdgeCondition> conditions = FindEdgeConditions(var, body);
    if (conditions.empty()) return body;
    return Branch(var, extent, body, conditions);
  }

  Stmt Branch(const Var& var, const Expr& extent, const Stmt& body, const std::vector<EdgeCondition>& conditions) {
    const std::optional<Tile> tile = TileOf(conditions, extent);
    if (tile && tile->is_plain()) {
      if (tile->coefficient == 1) return body;
      const Edge edge = MakeEdge(*tile, conditions, var, body);
      return Named(edge, If(CastTo(edge.full.dtype(), var) < edge.full, Whole(conditions, body), EdgeOf(edge)));
    }
    const int64_t stores = CountStores(body);
    if (stores_ + stores > most_stores_) return body;
    stores_ += stores;
    Stmt borders = CopyRolled(body);
    if (tile && tile->coefficient == 1) borders = Borders(var, body, conditions, *tile, std::move(borders));
    return If(And(IsPast(var, conditions, false), IsPast(var, conditions, true)), Whole(conditions, body), borders);
  }

  // Whether all conditions at the end, or all at the beginning, are as in the middle.
  static Expr IsPast(const Var& var, const std::vector<EdgeCondition>& conditions, bool at_end) {
    Expr all = True();
    for (const EdgeCondition& condition : conditions) {
      if (condition.at_end() != at_end) continue;
      const DataType type = condition.size.dtype();
      const Expr here = at_end ? CastTo(type, var) < condition.Iterations(condition.greatest)
                               : condition.Iterations(condition.least) <= CastTo(type, var);
      all = IsTrue(all) ? here : And(all, here);
    }
    return all;
  }

  // The iterations at both ends, each with its own constant index, so that its conditions are constant. `rest` is the
  // body of all others, and of all iterations if both ends meet.
  Stmt Borders(const Var& var, const Stmt& body, const std::vector<EdgeCondition>& conditions, const Tile& tile,
               Stmt rest) {
    const int64_t stores = CountStores(body) * (tile.begin - tile.whole - 1);
    if (stores_ + stores > most_stores_) return rest;
    stores_ += stores;
    const auto at = [&](const Expr& place, const Stmt& decided) {
      return Copy(Substitute(decided, {{var, CastTo(var.dtype(), place)}}));
    };
    for (int64_t back = -tile.whole - 1; back > 0; --back) {
      Comparisons decided;
      for (size_t i = 0; i < conditions.size(); ++i) {
        const EdgeCondition& condition = conditions[i];
        decided[condition.comparison] = condition.at_end()
                                            ? condition.At(tile.sizes[i].At(Const(condition.inner.dtype(), back)))
                                            : Bool(condition.negated);
      }
      const Expr place = tile.size - Const(tile.size.dtype(), back);
      rest = If(And(CastTo(place.dtype(), var) == place, IsPast(var, conditions, false)),
                at(place, Decider(decided).Mutate(body)), rest);
    }
    for (int64_t i = 0; i < tile.begin; ++i) {
      const Expr place = Const(var.dtype(), i);
      rest =
          If(And(var == place, IsPast(var, conditions, true)), at(place, AllButTheBeginning(conditions, body)), rest);
    }
    return rest;
  }

  uint32_t next_id_;
  int64_t stores_;
  const int64_t most_stores_;
};

}  // namespace

Function CutSymbolicEdges(const Function& function) {
  EdgeCutter cutter(function, CountStores(function->body));
  Stmt body = cutter.Mutate(function->body);
  if (body.same_as(function->body)) return function;
  return SimplifyFunction(function.WithBody(std::move(body), cutter.next_id()));
}

}  // namespace tilewright
