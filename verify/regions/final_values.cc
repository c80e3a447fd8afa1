#include "verify/regions/final_values.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "verify/structure/repeating_loop.h"
#include "verify/structure/scope_checker.h"
#include "verify/structure/touched_reads.h"

namespace tilewright {
namespace {

// Whether the loop's iterations run different instances. If not, the last one runs them with final values.
bool DependsOn(const BlockRealizeNode& realize, const Var& loop) {
  return !UsesVar(realize.predicate, loop) && std::any_of(realize.bindings.begin(), realize.bindings.end(),
                                                          [&](const Expr& binding) { return UsesVar(binding, loop); });
}

class Checker : public ScopeChecker {
 protected:
  void CheckScope(const BlockScope& scope) override {
    std::unordered_map<uint32_t, const ScopeChild*> children;
    for (const ScopeChild& child : scope.children()) children.emplace(child.id(), &child);
    // In the order of the program, since what a reader makes of parts of a sum is not a final value either.
    for (const Dependence& dependence : scope.Dependences()) {
      if (dependence.kind != DependenceKind::kReadAfterWrite) continue;
      Check(*children.at(dependence.source), *children.at(dependence.destination), dependence.buffer);
    }
    for (const ScopeChild& child : scope.children()) CheckAdditionsRunOnce(scope, child);
  }

 private:
  // Whether running the block again adds to the buffer again: by reduce iterators of its own, or in a block inside of
  // it, where nothing sets start values.
  static bool Adds(const BlockNode& block, const Buffer& buffer) {
    if (block.init || !Mentions(block.writes, buffer) || !Mentions(block.reads, buffer)) return false;
    const bool reduces = std::any_of(block.iter_vars.begin(), block.iter_vars.end(),
                                     [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
    return reduces || AddsInside(block, buffer);
  }
  static bool AddsInside(const BlockNode& block, const Buffer& buffer) {
    for (const MatchBuffer& match : block.match_buffers) {
      if (match.source.buffer.same_as(buffer) && AddsInside(block, match.buffer)) return true;
    }
    std::vector<const BlockNode*> inside;
    PreOrder(block.body, [&](const Stmt& s) {
      const auto* realize = dyn_cast<BlockRealizeNode>(s);
      if (realize != nullptr) inside.push_back(realize->block.get());
      return realize == nullptr;
    });
    return std::any_of(inside.begin(), inside.end(), [&](const BlockNode* b) { return Adds(*b, buffer); }) &&
           std::none_of(inside.begin(), inside.end(), [&](const BlockNode* b) { return Sets(*b, buffer); });
  }
  // Whether running the block changes what is in the buffer without summing up: b = b * scale, in it or in a block
  // inside of it.
  static bool ChangesInPlace(const BlockNode& block, const Buffer& buffer) {
    if (block.init || !Mentions(block.writes, buffer) || !Mentions(block.reads, buffer)) return false;
    bool holds_blocks = false, inside = false;
    PreOrder(block.body, [&](const Stmt& s) {
      const auto* realize = dyn_cast<BlockRealizeNode>(s);
      holds_blocks |= realize != nullptr;
      inside = inside || (realize != nullptr && ChangesInPlace(*realize->block, buffer));
      return realize == nullptr;
    });
    return holds_blocks ? inside : std::ranges::none_of(block.iter_vars, [](const IterVar& iter) {
      return iter.kind == IterKind::kReduce;
    });
  }
  static bool Sets(const BlockNode& block, const Buffer& buffer) {
    return Mentions(block.writes, buffer) && !Mentions(block.reads, buffer);
  }

  // A sum without an init is set by a block before it. What runs its additions again must set it again as well.
  void CheckAdditionsRunOnce(const BlockScope& scope, const ScopeChild& child) {
    const BlockNode& block = *child.realize->block;
    std::optional<size_t> repeats;
    for (const BufferRegion& write : block.writes) {
      if (!Adds(block, write.buffer)) continue;
      if (!repeats) repeats = InnermostRepeatingLoop(*child.realize, child.loops);
      if (*repeats == child.loops.size()) return;
      const ForNode* loop = child.loops[*repeats];
      const bool set_again =
          std::any_of(scope.children().begin(), scope.children().end(), [&](const ScopeChild& other) {
            const BlockNode& of_other = *other.realize->block;
            return other.loops.size() > *repeats && other.loops[*repeats] == loop &&
                   (Sets(of_other, write.buffer) || ChangesInPlace(of_other, write.buffer));
          });
      if (set_again) continue;
      return Refuse(child, "block " + block.name + " adds to " + write.buffer->name +
                               " again in each iteration of loop " + loop->var.name() + ", which does not set it anew");
    }
  }

  void Check(const ScopeChild& writer, const ScopeChild& reader, const Buffer& buffer) {
    const BlockNode &reads = *reader.realize->block, &writes = *writer.realize->block;
    const bool adds = Mentions(reads.writes, buffer);
    // What has an init of its own is another part of the reduction.
    if (adds && (writes.init || Mentions(writes.reads, buffer))) return;
    for (size_t l = 0; l < std::min(writer.loops.size(), reader.loops.size()); ++l) {
      const ForNode* loop = writer.loops[l];
      if (loop != reader.loops[l]) return;
      if (IsInt(loop->extent, 1)) continue;
      if (adds) {
        if (UsesVar(writer.realize->predicate, loop->var) || !CarriesReduction(*loop, *reader.realize)) continue;
        return Refuse(writer, "block " + writes.name + " writes " + buffer->name + " anew in each iteration of loop " +
                                  loop->var.name() + ", which carries the reduction of block " + reads.name);
      }
      const bool carries = CarriesReduction(*loop, *writer.realize);
      if (!carries && !HoldsParts(writer.id(), loop)) continue;
      if (!DependsOn(*reader.realize, loop->var) || RunsAgainWhereWritten(writer, reader, buffer, loop->var)) {
        holding_parts_.emplace_back(reader.id(), loop);
        continue;
      }
      const std::string before = "block " + reads.name + " reads " + buffer->name;
      return Refuse(reader, carries ? before + " while loop " + loop->var.name() +
                                          " still carries the reduction of block " + writes.name
                                    : before + ", which block " + writes.name + " makes of parts of sums until loop " +
                                          loop->var.name() + " ends");
    }
  }
  // Whether an instance of the reader runs in each iteration of the loop in which the writer touches what that instance
  // reads, and does what all instances that read the element do: then the last one sees final values. So it is when
  // some indices of the one element, or tile, that the reader reads are the writer's, and the reader depends on the
  // loop by them alone.
  //
  //   for f in range(48): C[f // 6] += ...; D[f // 6] = C[f // 6]
  static bool RunsAgainWhereWritten(const ScopeChild& writer, const ScopeChild& reader, const Buffer& buffer,
                                    const Var& loop) {
    if (RunsAgain(writer, reader, reader.realize->block->reads, buffer, loop)) return true;
    // What is declared may be wider than what is read.
    const auto touched = TouchedReads(*reader.realize->block);
    return touched && RunsAgain(writer, reader, *touched, buffer, loop);
  }
  static bool RunsAgain(const ScopeChild& writer, const ScopeChild& reader, const std::vector<BufferRegion>& reads,
                        const Buffer& buffer, const Var& loop) {
    const BufferRegion* write = OnlyRegion(writer.realize->block->writes, buffer);
    const BufferRegion* read = OnlyRegion(reads, buffer);
    if (write == nullptr || read == nullptr) return false;
    arith::Analyzer analyzer;
    for (const ScopeChild* child : {&writer, &reader}) {
      for (const ForNode* around : child->loops) analyzer.Bind(around->var, {around->min, around->extent});
    }
    const VarMap of_writer = BindingsOf(*writer.realize), of_reader = BindingsOf(*reader.realize);
    std::vector<Expr> same;  // of the reader: where the writer writes
    for (size_t d = 0; d < read->region.size(); ++d) {
      const Range &is_read = read->region[d], &is_written = write->region[d];
      const auto extent = AsInt(is_read.extent);
      if (!extent || *extent < 1 || AsInt(is_written.extent) != extent || AsInt(is_read.min)) continue;
      // Tiles that do not overlap are read as elements are.
      if (*extent > 1 && arith::KnownDivisor(is_read.min, &analyzer) % *extent != 0) continue;
      if (analyzer.CanProveEqual(Substitute(is_written.min, of_writer), Substitute(is_read.min, of_reader))) {
        same.insert(same.end(), {is_read.min, analyzer.Simplify(is_read.min)});
      }
    }
    AddNumbersOf(&same);
    const BlockNode& block = *reader.realize->block;
    const auto without_same = [&](const Stmt& s) { return s ? WithoutExprs(s, same) : s; };
    const Stmt body = without_same(block.body), init = without_same(block.init);
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (!UsesVar(reader.realize->bindings[i], loop)) continue;
      const IterVar& iter = block.iter_vars[i];
      // To sum up the same again is to do another thing.
      if (iter.kind != IterKind::kSpatial &&
          std::ranges::none_of(same, [&](const Expr& index) { return index.get() == iter.var.get(); })) {
        return false;
      }
      if (UsesVar(body, iter.var) || (init && UsesVar(init, iter.var))) return false;
    }
    return true;
  }
  // Numbers of which both the quotient and the remainder are there.
  static void AddNumbersOf(std::vector<Expr>* exprs) {
    for (size_t i = 0; i < exprs->size(); ++i) {
      const auto* quotient = dyn_cast<BinaryNode>((*exprs)[i]);
      if (quotient == nullptr || quotient->op != BinaryOp::kFloorDiv) continue;
      const bool whole = std::ranges::any_of(
          *exprs, [&](const Expr& e) { return arith::SameExpr(e, FloorMod(quotient->a, quotient->b)); });
      if (whole) exprs->push_back(quotient->a);
    }
  }
  // With zero in place of each.
  static Stmt WithoutExprs(const Stmt& s, const std::vector<Expr>& exprs) {
    return RewriteExprs(s, [&](const Expr& part) {
      const bool found = std::ranges::any_of(exprs, [&](const Expr& e) { return arith::SameExpr(e, part); });
      return found ? Const(part.dtype(), 0) : part;
    });
  }
  static VarMap BindingsOf(const BlockRealizeNode& realize) {
    VarMap bindings;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      bindings[realize.block->iter_vars[i].var] = realize.bindings[i];
    }
    return bindings;
  }
  // Whether what the block writes is made of a part of a sum until the loop's last iteration.
  bool HoldsParts(uint32_t block, const ForNode* loop) const {
    return std::ranges::find(holding_parts_, std::pair(block, loop)) != holding_parts_.end();
  }
  static const BufferRegion* OnlyRegion(const std::vector<BufferRegion>& regions, const Buffer& buffer) {
    const BufferRegion* found = nullptr;
    for (const BufferRegion& region : regions) {
      if (!region.buffer.same_as(buffer)) continue;
      if (found != nullptr) return nullptr;
      found = &region;
    }
    return found;
  }
  static bool CarriesReduction(const ForNode& loop, const BlockRealizeNode& realize) {
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (realize.block->iter_vars[i].kind == IterKind::kReduce && UsesVar(realize.bindings[i], loop.var)) return true;
    }
    return false;
  }
  void Refuse(const ScopeChild& block, std::string reason) { Refute("final values", block.id(), std::move(reason)); }

  std::vector<std::pair<uint32_t, const ForNode*>> holding_parts_;
};

}  // namespace

Diagnostics CheckFinalValues(const Function& function) { return DiagnosticsOf<Checker>(function); }

}  // namespace tilewright
