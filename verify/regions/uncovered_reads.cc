#include "verify/regions/uncovered_reads.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/int_set.h"
#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/regions/flat_scope.h"
#include "verify/regions/initialization.h"
#include "verify/regions/instance_that_writes.h"
#include "verify/regions/steps.h"
#include "verify/regions/sure_writes.h"
#include "verify/structure/block_scope.h"
#include "verify/structure/given_values.h"
#include "verify/structure/touched_reads.h"

namespace tilewright {
namespace {

constexpr const char* kNotWritten = ", which is not all written before";

size_t CommonLoops(const ScopeChild& a, const ScopeChild& b) {
  size_t n = 0;
  while (n < a.loops.size() && n < b.loops.size() && a.loops[n] == b.loops[n]) ++n;
  return n;
}

// The region in terms of the loops around the block instead of its iterators.
arith::Region InLoops(const ScopeChild& child, const BufferRegion& region) {
  VarMap bindings;
  for (size_t i = 0; i < child.realize->bindings.size(); ++i) {
    bindings[child.realize->block->iter_vars[i].var] = child.realize->bindings[i];
  }
  return Substitute(region, bindings).region;
}

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  Checker(const Function& function, const std::optional<std::vector<Var>>& positive) : sure_(function, positive) {
    GivenValues(function).AssumeSizes(&analyzer_);
  }
  void Visit(const Expr&) override {}
  Diagnostics diagnostics;
  const std::vector<Var>& taken_as_positive() const { return sure_.taken_as_positive(); }

 protected:
  void VisitFor(const ForNode* op) override {
    const bool threads = op->thread_tag.starts_with("threadIdx");
    if (threads) threads_.push_back(op);
    Visitor::VisitFor(op);
    if (threads) threads_.pop_back();
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    arith::Domain of_threads;
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const auto is_it = [&](const ForNode* loop) { return loop->var.get() == op->bindings[i].get(); };
      const auto loop = std::ranges::find_if(threads_, is_it);
      if (loop != threads_.end()) of_threads.push_back({op->block->iter_vars[i].var, {(*loop)->min, (*loop)->extent}});
    }
    std::swap(of_threads, iterators_of_threads_);
    VisitBlock(op->block.get());
    iterators_of_threads_ = std::move(of_threads);
  }
  void VisitBlock(const BlockNode* block) override {
    arith::Analyzer::Scope around(&analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    const Steps scope = Steps::Of(block, &kept_stores_);
    std::optional<Steps> flat;  // made where a proof needs it
    for (const Step& step : scope.steps()) {
      if (!step.is_store) CheckReads(scope, step, &flat);
    }
    Visit(block->init);
    Visit(block->body);
  }

 private:
  void CheckReads(const Steps& scope, const Step& reader, std::optional<Steps>* flat) {
    const auto& local = scope.block()->alloc_buffers;
    for (const BufferRegion& read : reader.realize->block->reads) {
      const bool is_local = std::ranges::any_of(local, [&](const Buffer& b) { return b.same_as(read.buffer); });
      // Accumulating without an init: an earlier block must have written it, as for any other read.
      if (is_local && !IsCoveredSomehow(scope, reader, read) && !IsCoveredInside(scope, reader, read, flat) &&
          !AreLoadsCovered(scope, reader, read)) {
        diagnostics.push_back({Verdict::kRefuted, "region cover", reader.id(),
                               "block " + reader.realize->block->name + " reads " + Print(read) + kNotWritten +
                                   (why_.empty() ? "" : ": " + why_),
                               /*enumerable=*/true, read.buffer});
      }
    }
  }

  // By the signature, or, as the declared region may be wider than that, by what the block's body reads. `why_` stays
  // the reason for the declared region.
  bool IsCoveredSomehow(const Steps& scope, const Step& reader, const BufferRegion& read) {
    if (IsCovered(scope, reader, read)) return true;
    const auto touched = TouchedReads(*reader.realize->block);
    if (!touched) return false;
    const std::string why = why_;
    const bool covered = std::ranges::all_of(*touched, [&](const BufferRegion& part) {
      return !part.buffer.same_as(read.buffer) || IsCovered(scope, reader, part);
    });
    why_ = why;
    return covered;
  }

  // Whether what the blocks inside of the reader read is written by the blocks inside of the writers.
  bool IsCoveredInside(const Steps& scope, const Step& reader, const BufferRegion& read, std::optional<Steps>* flat) {
    if (!*flat) {
      kept_.push_back(FlatScope(Block(scope.block())));
      *flat = Steps::Of(kept_.back().get(), &kept_stores_);
    }
    if ((*flat)->block() == scope.block()) return false;
    std::set<uint32_t> inside = {reader.id()};
    PreOrder(reader.realize->block->body, [&](const Stmt& s) {
      if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) inside.insert(realize->block->id);
      return true;
    });
    const std::string why = why_;
    const auto covers_reads_of = [&](const Step& child) {
      if (child.is_store || !inside.contains(child.id())) return true;
      return std::ranges::all_of(child.realize->block->reads, [&](const BufferRegion& part) {
        return !part.buffer.same_as(read.buffer) || IsCoveredSomehow(**flat, child, part) ||
               AreLoadsCovered(**flat, child, part);
      });
    };
    const bool covered = std::ranges::all_of((*flat)->steps(), covers_reads_of);
    why_ = why;
    return covered;
  }

  // By what the statements of the reader load, under the conditions inside of it.
  bool AreLoadsCovered(const Steps& scope, const Step& reader, const BufferRegion& read) {
    const BlockNode& block = *reader.realize->block;
    // What has another name there, the loads do not say.
    bool hidden = !block.match_buffers.empty() || CallsOutside(block.body) || CallsOutside(block.init);
    PreOrder(block.body, [&](const Stmt& s) {
      hidden |= isa<BlockRealizeNode>(s) || isa<DeclBufferNode>(s);
      return !hidden;
    });
    if (hidden) return false;
    const std::string why = why_;
    const std::vector<Step> loads = LoadsOf(reader, read.buffer, &kept_stores_);
    if (loads.empty()) return false;
    if (ReadsWhatItWrote(block, read.buffer, &sure_)) return true;
    const bool covered = std::ranges::all_of(
        loads, [&](const Step& load) { return IsCovered(scope, load, load.realize->block->reads[0]); });
    why_ = why;
    return covered;
  }

  bool IsCovered(const Steps& scope, const Step& reader, const BufferRegion& read) {
    why_.clear();
    std::vector<const Step*> writers;
    for (const Step& child : scope.steps()) {
      if (!child.is_store && child.id() == reader.id()) break;
      for (const BufferRegion& write : child.realize->block->writes) {
        if (write.buffer.same_as(read.buffer)) writers.push_back(&child);
      }
    }
    if (writers.empty()) {
      why_ = "nothing before it writes " + read.buffer->name;
      return false;
    }
    // Any writer may cover it alone; else all together.
    std::string why;  // the reason of the most direct attempt
    for (const Step* writer : writers) {
      if (Cover({writer}, reader, read)) return true;
      if (why.empty()) why = why_;
      if (CoveredByInstances(*writer, reader, read)) return true;
      if (CoveredSinceTheFirstIteration(*writer, reader, read)) return true;
    }
    if (writers.size() > 1 && Cover(writers, reader, read)) return true;
    const arith::Domain threads = ThreadsThatShare(reader, read.buffer);
    if (!threads.empty()) {
      for (const Step* writer : writers) {
        if (Cover({writer}, reader, read, {}, threads)) return true;
      }
    }
    if (!why.empty()) why_ = why;
    return false;
  }

  // The indices of threads that run the scope together, where they share the buffer: a thread reads what all of them
  // have written. Barriers order them, or verify/threads/races.h refuses the program.
  arith::Domain ThreadsThatShare(const Step& reader, const Buffer& buffer) const {
    if (buffer->scope.owner() != OwnerLevel::kBlock) return {};
    arith::Domain threads = iterators_of_threads_;
    for (const ForNode* loop : reader.loops) {
      if (loop->thread_tag.starts_with("threadIdx")) threads.push_back({loop->var, {loop->min, loop->extent}});
    }
    return threads;
  }

  // Whether for each place that is read an instance of the writer can be named which wrote it. No box holds what
  // [v // 2, v % 2] is for all v below n; but [u // 2, u % 2] was written by the instance v = u.
  bool CoveredByInstances(const Step& writer, const Step& reader, const BufferRegion& read) {
    const std::optional<Expr> condition_of_writer = ConditionToRunBefore(writer, reader, {});
    if (!condition_of_writer) return false;
    const Expr holds = WhatHolds(reader);
    arith::Analyzer::Scope fixed(&analyzer_);
    const size_t common = CommonLoops(reader, writer);
    for (size_t i = 0; i < common; ++i) {
      analyzer_.Bind(reader.loops[i]->var, {reader.loops[i]->min, reader.loops[i]->extent});
    }
    SameThreads(read.buffer, {&writer}, reader);
    const arith::Domain below = sure_.DomainOf(reader.loops, common, read.buffer);
    AssumeAround(holds, below);
    AssumeItRuns(reader, common);
    if (!SeesWritesOf(writer, reader, read.buffer)) return false;
    AssumeInside(InLoops(reader, read), read.buffer, below, &analyzer_);
    const arith::Domain loops = sure_.DomainOf(writer.loops, common, read.buffer);
    const auto& iterators = writer.realize->block->iter_vars;
    auto ran =
        arith::MustCover(InLoops(writer, {read.buffer, Iterators(writer)}), loops, *condition_of_writer, &analyzer_);
    if (ran && !sure_.IsEmptyWithTheLoops(*ran, writer.loops, common, &analyzer_)) ran.reset();
    const auto wrote = [&](const BufferRegion& write) {
      if (!write.buffer.same_as(read.buffer)) return false;
      auto instance = InstanceThatWrites(iterators, write.region, read.region);
      if (!instance) {
        instance = InstanceThatWrites(iterators, WithoutUnits(iterators, write, &analyzer_),
                                      WithoutUnits(reader.realize->block->iter_vars, read, &analyzer_));
      }
      if (!instance) return false;
      arith::Region values;
      for (size_t i = 0; i < iterators.size(); ++i) {
        const auto value = instance->find(iterators[i].var);
        const Expr& any = ran ? (*ran)[i].min : iterators[i].domain.min;
        values.push_back({value == instance->end() ? any : value->second, Const(any.dtype(), 1)});
      }
      values = InLoops(reader, {read.buffer, std::move(values)});
      for (size_t i = 0; i < iterators.size(); ++i) {
        if (const auto value = instance->find(iterators[i].var); value != instance->end())
          value->second = values[i].min;
      }
      // The condition of the reader bounds its places, and may hide the form of other bounds.
      const auto ran_for_all = [&](const Expr& condition) {
        const auto needed = arith::MayTouch(values, below, condition, &analyzer_);
        return needed && arith::Covers(*ran, *needed, {}, &analyzer_);
      };
      const bool in_box = ran && sure_.Runs(writer.loops, common, InLoops(writer, write), &analyzer_) &&
                          (ran_for_all(holds) || ran_for_all({}));
      if (!in_box) {
        arith::Analyzer::Scope inside(&analyzer_);
        for (const auto& [loop, range] : below) analyzer_.Bind(loop, range);
        analyzer_.Assume(holds);
        if (!RunsWith(*instance, *writer.realize, writer.loops, common, *condition_of_writer, &analyzer_)) return false;
      }
      return WritesSurely(writer, read.buffer);
    };
    const auto& writes = writer.realize->block->writes;
    return std::any_of(writes.begin(), writes.end(), wrote);
  }

  // What was written in the first iteration of a serial loop around both is there in all later ones: the tile that a
  // rolling buffer begins with fills it.
  bool CoveredSinceTheFirstIteration(const Step& writer, const Step& reader, const BufferRegion& read) {
    VarMap first;
    for (size_t i = CommonLoops(reader, writer); i-- > 0;) {
      const ForNode& loop = *reader.loops[i];
      if (loop.kind != ForKind::kSerial && loop.kind != ForKind::kUnrolled) return false;
      if (Cover({&writer}, reader, read, {{loop.var, loop.min}})) return true;
      first[loop.var] = loop.min;
      if (first.size() > 1 && Cover({&writer}, reader, read, first)) return true;
    }
    return false;
  }

  // The reader's loops that it has in common with any of the writers are fixed. `first`: such loops, with the value
  // that they had when the writers ran. `threads`: indices of threads that all ran the writers.
  bool Cover(const std::vector<const Step*>& writers, const Step& reader, const BufferRegion& read,
             const VarMap& first = {}, const arith::Domain& threads_together = {}) {
    arith::Analyzer::Scope fixed(&analyzer_);
    VarMap others;
    arith::Domain of_others;
    for (const auto& [index, range] : threads_together) {
      const Var other(index.name() + "_", index.dtype());
      others[index] = other;
      of_others.push_back({other, range});
    }
    size_t common = 0;
    for (const Step* writer : writers) common = std::max(common, CommonLoops(reader, *writer));
    for (size_t i = 0; i < common; ++i) {
      analyzer_.Bind(reader.loops[i]->var, {reader.loops[i]->min, reader.loops[i]->extent});
    }
    const VarMap threads = SameThreads(read.buffer, writers, reader);
    // With the values that the loops around had.
    const auto then = [&](const Step& child, BufferRegion region) {
      if (!threads.empty()) region = Substitute(region, threads);
      if (&child != &reader && !first.empty()) region = Substitute(region, first);
      if (&child != &reader && !others.empty()) region = Substitute(region, others);
      return std::move(region.region);
    };
    const auto in_loops = [&](const Step& child, const BufferRegion& region) {
      return then(child, {region.buffer, InLoops(child, region)});
    };
    std::unordered_map<const Step*, Expr> conditions{{&reader, WhatHolds(reader)}};
    for (const Step* writer : writers) {
      const std::optional<Expr> condition = ConditionToRunBefore(*writer, reader, threads_together);
      if (!condition) {
        why_ = "what writes " + read.buffer->name + " before it runs under a condition";
        return false;
      }
      conditions[writer] = *condition;
    }
    const auto predicate_of = [&](const Step& child) {
      Expr predicate = conditions.at(&child);
      if (!threads.empty()) predicate = Substitute(predicate, threads);
      if (&child != &reader && !others.empty()) predicate = Substitute(predicate, others);
      return &child != &reader && !first.empty() ? Substitute(predicate, first) : predicate;
    };
    const arith::Domain below = sure_.DomainOf(reader.loops, common, read.buffer);
    AssumeAround(predicate_of(reader), below);
    AssumeItRuns(reader, common);
    const auto is_seen = [&](const Step* writer) { return SeesWritesOf(*writer, reader, read.buffer); };
    if (!std::ranges::all_of(writers, is_seen)) return false;
    AssumeInside(in_loops(reader, read), read.buffer, below, &analyzer_);
    std::optional<arith::Region> provided;
    for (const Step* writer : writers) {
      for (const BufferRegion& write : writer->realize->block->writes) {
        if (!write.buffer.same_as(read.buffer)) continue;
        const size_t shared = CommonLoops(reader, *writer);
        if (ExtentsDependOn(first, writer->loops, shared)) return false;
        const arith::Region region = in_loops(*writer, write);
        if (!sure_.Runs(writer->loops, shared, region, &analyzer_)) return false;
        arith::Domain loops = sure_.DomainOf(writer->loops, shared, read.buffer);
        loops.insert(loops.end(), of_others.begin(), of_others.end());
        auto covered = arith::MustCover(region, loops, predicate_of(*writer), &analyzer_);
        if (!covered) {
          const BufferRegion iterators{write.buffer, Iterators(*writer)};
          covered = CoverOfIterators(
              *writer, then(*writer, write),
              arith::MustCover(in_loops(*writer, iterators), loops, predicate_of(*writer), &analyzer_));
        }
        if (!covered || !sure_.IsEmptyWithTheLoops(*covered, writer->loops, shared, &analyzer_)) return false;
        if (provided && !Touching(*provided, *covered, &analyzer_)) return false;
        provided = provided ? arith::UnionRegions(*provided, *covered, &analyzer_) : covered;
      }
    }
    // If all of the buffer is written it does not matter what is read.
    if (!IsWhole(*provided, read.buffer)) {
      const auto needed = arith::MayTouch(in_loops(reader, read), below, predicate_of(reader), &analyzer_);
      if (!needed || !arith::Covers(*provided, *needed, read.buffer->shape, &analyzer_, &why_)) return false;
    }
    return std::all_of(writers.begin(), writers.end(),
                       [&](const Step* writer) { return WritesSurely(*writer, read.buffer); });
  }
  static arith::Region Iterators(const ScopeChild& child) {
    arith::Region iterators;
    for (const IterVar& iter : child.realize->block->iter_vars) {
      iterators.push_back({iter.var, Const(iter.var.dtype(), 1)});
    }
    return iterators;
  }
  // What a block writes while its iterators take all values of these ranges together. Loops do not divide as the
  // places do where v = i * 6 + j writes [v // 60, v % 60 // 10, v % 10]; v itself takes all of its values.
  std::optional<arith::Region> CoverOfIterators(const ScopeChild& writer, const arith::Region& written,
                                                const std::optional<arith::Region>& ranges) {
    if (!ranges) return std::nullopt;
    arith::Domain iterators;
    for (size_t i = 0; i < ranges->size(); ++i) {
      iterators.push_back({writer.realize->block->iter_vars[i].var, (*ranges)[i]});
    }
    return arith::MustCover(written, iterators, /*predicate=*/{}, &analyzer_);
  }
  static bool ExtentsDependOn(const VarMap& vars, const std::vector<const ForNode*>& loops, size_t begin) {
    for (const auto& [var, value] : vars) {
      for (size_t i = begin; i < loops.size(); ++i) {
        if (UsesVar(loops[i]->min, var) || UsesVar(loops[i]->extent, var)) return true;
      }
    }
    return false;
  }
  static bool IsWhole(const arith::Region& region, const Buffer& buffer) {
    for (size_t d = 0; d < region.size(); ++d) {
      const Expr size = CastTo(region[d].extent.dtype(), buffer->shape[d]);
      if (!IsInt(region[d].min, 0) || !arith::SameExpr(region[d].extent, size)) return false;
    }
    return true;
  }
  bool WritesSurely(const ScopeChild& writer, const Buffer& buffer) {
    const BlockNode& block = *writer.realize->block;
    for (const BufferRegion& write : block.writes) {
      if (!write.buffer.same_as(buffer) || sure_.Of(block, write)) continue;
      why_ = "block " + block.name + " need not write all of " + Print(write) + ", which it declares";
      return false;
    }
    return true;
  }

  // Whether each thread that reads, or block of threads, is one that ran the writer. What threads combine all of them
  // have. Call it where the loops of SameThreads are bound.
  bool SeesWritesOf(const ScopeChild& writer, const ScopeChild& reader, const Buffer& buffer) {
    for (const ForNode* loop : writer.loops) {
      const auto same = std::ranges::find_if(
          reader.loops, [&](const ForNode* other) { return other->thread_tag == loop->thread_tag; });
      // A reader with lanes of several warps does not see what lanes of one warp wrote.
      const bool is_own = sure_.IsOwn(buffer, *loop) || (same != reader.loops.end() && sure_.IsOwn(buffer, **same));
      if (!is_own || IsInt(loop->extent, 1) || IsCombinedOver(*writer.realize, loop->var)) continue;
      if (same != reader.loops.end()) {
        const ForNode& of_reader = **same;
        if (&of_reader == loop) continue;
        if (arith::SameExpr(of_reader.min, loop->min) && arith::SameExpr(of_reader.extent, loop->extent)) continue;
        const Expr index = CastTo(loop->var.dtype(), of_reader.var);
        if (analyzer_.CanProveLessEqual(loop->min, index) &&
            analyzer_.CanProveLessEqual(index + 1, loop->min + loop->extent)) {
          continue;
        }
      }
      why_ = "each index of " + loop->thread_tag + " has a copy of " + buffer->name + " (scope " +
             buffer->scope.text() + "), and block " + writer.realize->block->name + " writes it for other ones";
      return false;
    }
    return true;
  }
  static bool IsCombinedOver(const BlockRealizeNode& realize, const Var& loop) {
    if (!realize.block->init) return false;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (realize.block->iter_vars[i].kind == IterKind::kReduce && UsesVar(realize.bindings[i], loop)) return true;
    }
    return false;
  }

  // Memory of threads, or of blocks of them: each sees what it wrote itself, so that loops over the same ones have the
  // same index.
  VarMap SameThreads(const Buffer& buffer, const std::vector<const Step*>& writers, const Step& reader) {
    VarMap same;
    std::map<std::string, Var> index;
    const auto add = [&](const ScopeChild& child) {
      for (const ForNode* loop : child.loops) {
        if (!sure_.IsOwn(buffer, *loop)) continue;
        const auto [first, is_first] = index.emplace(loop->thread_tag, loop->var);
        if (is_first) analyzer_.Bind(loop->var, {loop->min, loop->extent});
        if (!first->second.same_as(loop->var)) same[loop->var] = first->second;
      }
    };
    add(reader);
    for (const Step* writer : writers) add(*writer);
    return same;
  }

  // What the reader's condition says of the loops around both: it holds for some values of the loops `below`.
  void AssumeAround(const Expr& condition, const arith::Domain& below) {
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op != nullptr && op->op == BinaryOp::kAnd) {
      AssumeAround(op->a, below);
      AssumeAround(op->b, below);
      return;
    }
    const bool varies = std::ranges::any_of(below, [&](const auto& loop) { return UsesVar(condition, loop.first); });
    if (!varies) return analyzer_.Assume(condition);
    if (op == nullptr || (op->op != BinaryOp::kLT && op->op != BinaryOp::kLE)) return;
    const Expr least = arith::EvalSet(op->a - op->b, below, &analyzer_).min;
    const Expr zero = least ? Const(least.dtype(), 0) : Expr();
    if (least) analyzer_.Assume(op->op == BinaryOp::kLT ? least < zero : least <= zero);
  }

  // Loops around a block that runs have iterations, and its iterators have values.
  void AssumeItRuns(const ScopeChild& child, size_t first) {
    const auto assume = [&](const Expr& extent) {
      const bool varies = UsesVar(extent, [&](const VarNode* var) {
        return std::any_of(child.loops.begin() + static_cast<ptrdiff_t>(first), child.loops.end(),
                           [&](const ForNode* loop) { return loop->var.get() == var; });
      });
      if (!isa<IntImmNode>(extent) && !varies) analyzer_.Assume(Const(extent.dtype(), 1) <= extent);
    };
    for (size_t i = first; i < child.loops.size(); ++i) assume(child.loops[i]->extent);
    for (const IterVar& iter : child.realize->block->iter_vars) assume(iter.domain.extent);
  }

  arith::Analyzer analyzer_;
  SureWrites sure_;
  std::vector<Block> kept_;  // flat scopes: what is remembered of regions is remembered by their addresses
  std::vector<Stmt> kept_stores_;
  std::vector<const ForNode*> threads_;  // loops around that start threads
  arith::Domain iterators_of_threads_;   // of the block whose scope is looked at: those that are indices of threads
  std::string why_;
};

}  // namespace

UncoveredReads FindUncoveredReads(const Function& function, const std::optional<std::vector<Var>>& positive) {
  Checker checker(function, positive);
  checker.Visit(function->body);
  return {std::move(checker.diagnostics), checker.taken_as_positive()};
}

std::string ReadOf(const Diagnostic& refused) { return refused.reason.substr(0, refused.reason.find(kNotWritten)); }

bool AreOfOneRead(const Diagnostic& a, const Diagnostic& b) { return a.object == b.object && ReadOf(a) == ReadOf(b); }

}  // namespace tilewright
