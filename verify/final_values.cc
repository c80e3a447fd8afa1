#include "verify/final_values.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/functor.h"
#include "verify/block_scope.h"

namespace tilewright {
namespace {

bool Touches(const std::vector<BufferRegion>& regions, const Buffer& buffer) {
  return std::any_of(regions.begin(), regions.end(),
                     [&](const BufferRegion& region) { return region.buffer.same_as(buffer); });
}

// Whether the loop's iterations run different instances. If not, the last one runs them with final values.
bool DependsOn(const BlockRealizeNode& realize, const Var& loop) {
  return !UsesVar(realize.predicate, loop) && std::any_of(realize.bindings.begin(), realize.bindings.end(),
                                                          [&](const Expr& binding) { return UsesVar(binding, loop); });
}

class Checker : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  Diagnostics diagnostics;

 protected:
  void VisitBlock(const BlockNode* block) override {
    const BlockScope scope = BlockScope::Of(block);
    for (const Dependence& dependence : scope.dependences()) {
      if (dependence.kind != DependenceKind::kReadAfterWrite) continue;
      Check(*scope.Find(dependence.source), *scope.Find(dependence.destination), dependence.buffer);
    }
    for (const ScopeChild& child : scope.children()) CheckAdditionsRunOnce(scope, child);
    StmtVisitor::VisitBlock(block);
  }

 private:
  // The innermost loop that runs instances again: one that they do not depend on, or on a quotient of it only. The
  // number of loops when there is none.
  static size_t InnermostRepeatingLoop(const ScopeChild& child) {
    const BlockRealizeNode& realize = *child.realize;
    for (size_t l = child.loops.size(); l-- > 0;) {
      const ForNode& loop = *child.loops[l];
      if (IsInt(loop.extent, 1) || loop.kind == ForKind::kThreadBound) continue;
      if (!DependsOn(realize, loop.var) && !UsesVar(realize.predicate, loop.var)) return l;
      arith::Analyzer analyzer;
      arith::Domain domain;
      for (size_t i = 0; i < child.loops.size(); ++i) {
        const ForNode& around = *child.loops[i];
        analyzer.Bind(around.var, {around.min, around.extent});
        if (i >= l && around.kind != ForKind::kThreadBound) domain.push_back({around.var, {around.min, around.extent}});
      }
      const auto map =
          arith::DetectIterMap(realize.bindings, domain, realize.predicate, arith::IterMapLevel::kNone, &analyzer);
      if (map && !map->injective) return l;
    }
    return child.loops.size();
  }

  // A sum without an init is set by a block before it. What runs its additions again must set it again as well.
  void CheckAdditionsRunOnce(const BlockScope& scope, const ScopeChild& child) {
    const BlockRealizeNode& realize = *child.realize;
    const BlockNode& block = *realize.block;
    const bool reduces = std::any_of(block.iter_vars.begin(), block.iter_vars.end(),
                                     [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
    if (block.init || !reduces) return;
    const size_t repeats = InnermostRepeatingLoop(child);
    if (repeats == child.loops.size()) return;
    for (const BufferRegion& write : block.writes) {
      if (!Touches(block.reads, write.buffer)) continue;
      const bool set_again =
          std::any_of(scope.children().begin(), scope.children().end(), [&](const ScopeChild& other) {
            return other.loops.size() > repeats && other.loops[repeats] == child.loops[repeats] &&
                   Touches(other.realize->block->writes, write.buffer) &&
                   !Touches(other.realize->block->reads, write.buffer);
          });
      if (set_again) continue;
      return Refuse(child, "block " + block.name + " adds to " + write.buffer->name +
                               " again in each iteration of loop " + child.loops[repeats]->var.name() +
                               ", which does not set it anew");
    }
  }

  void Check(const ScopeChild& writer, const ScopeChild& reader, const Buffer& buffer) {
    const BlockNode &reads = *reader.realize->block, &writes = *writer.realize->block;
    const bool adds = Touches(reads.writes, buffer);
    // What has an init of its own is another part of the reduction.
    if (adds && (writes.init || Touches(writes.reads, buffer))) return;
    for (size_t l = 0; l < std::min(writer.loops.size(), reader.loops.size()); ++l) {
      const ForNode* loop = writer.loops[l];
      if (loop != reader.loops[l]) return;
      if (IsInt(loop->extent, 1)) continue;
      if (adds) {
        if (UsesVar(writer.realize->predicate, loop->var) || !CarriesReduction(*loop, *reader.realize)) continue;
        return Refuse(writer, "block " + writes.name + " writes " + buffer->name + " anew in each iteration of loop " +
                                  loop->var.name() + ", which carries the reduction of block " + reads.name);
      }
      if (!DependsOn(*reader.realize, loop->var) || !CarriesReduction(*loop, *writer.realize)) continue;
      return Refuse(reader, "block " + reads.name + " reads " + buffer->name + " while loop " + loop->var.name() +
                                " still carries the reduction of block " + writes.name);
    }
  }
  static bool CarriesReduction(const ForNode& loop, const BlockRealizeNode& realize) {
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (realize.block->iter_vars[i].kind == IterKind::kReduce && UsesVar(realize.bindings[i], loop.var)) return true;
    }
    return false;
  }
  void Refuse(const ScopeChild& block, std::string reason) {
    diagnostics.push_back({Verdict::kRefuted, "final values", block.id(), std::move(reason)});
  }
};

}  // namespace

Diagnostics CheckFinalValues(const Function& function) {
  Checker checker;
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright
