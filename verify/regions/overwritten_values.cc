#include "verify/regions/overwritten_values.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "verify/structure/scope_checker.h"

namespace tilewright {
namespace {

constexpr int kMaxInstances = 2048;

// What one block of a nest does to the buffer, in terms of the loops around it.
struct Access {
  const ScopeChild* child;
  std::vector<Expr> written;              // the element; empty: it only reads
  bool sets = false;                      // without reading what was there
  std::vector<std::vector<Range>> reads;  // of those that only read
};

// The block's accesses of the buffer; nothing when they are none that can be followed.
std::optional<Access> AccessOf(const ScopeChild& child, const Buffer& buffer) {
  const BlockRealizeNode& realize = *child.realize;
  const BlockNode& block = *realize.block;
  VarMap bound;
  for (size_t i = 0; i < realize.bindings.size(); ++i) bound[block.iter_vars[i].var] = realize.bindings[i];
  Access access{.child = &child};
  const BufferRegion* write = nullptr;
  for (const BufferRegion& region : block.writes) {
    if (!region.buffer.same_as(buffer)) continue;
    const auto* store = dyn_cast<StoreNode>(block.body);
    if (write != nullptr || store == nullptr || store->predicate || !store->buffer.same_as(buffer)) return std::nullopt;
    write = &region;
    access.written = Substitute(store->indices, bound);
    access.sets = !block.init;
  }
  for (const BufferRegion& region : block.reads) {
    if (!region.buffer.same_as(buffer)) continue;
    access.sets = false;
    if (write == nullptr) {
      access.reads.push_back(Substitute(region, bound).region);
    } else if (!std::ranges::equal(region.region, write->region, [](const Range& a, const Range& b) {
                 return StructuralEqual(a.min, b.min) && StructuralEqual(a.extent, b.extent);
               })) {
      return std::nullopt;
    }
  }
  return access;
}

// Whether the loops that are around both blocks select their elements in different ways.
bool SelectDifferently(const Access& a, const Access& b) {
  const auto &in_a = a.child->loops, &in_b = b.child->loops;
  for (size_t l = 0; l < std::min(in_a.size(), in_b.size()) && in_a[l] == in_b[l]; ++l) {
    if (IsInt(in_a[l]->extent, 1)) continue;
    for (size_t d = 0; d < a.written.size(); ++d) {
      if (UsesVar(a.written[d], in_a[l]->var) != UsesVar(b.written[d], in_a[l]->var)) return true;
    }
  }
  return false;
}

// One run through a nest.
class Run {
 public:
  Run(const Buffer& buffer, const std::vector<Access>& accesses) : buffer_(buffer), accesses_(accesses) {}

  // Nothing when nothing is lost, or the nest cannot be followed to its end.
  std::optional<Diagnostic> WhatIsLost(const ForNode& nest) {
    if (!Follow(Stmt(&nest))) return std::nullopt;
    for (const auto& [element, state] : elements_) {
      if (!state.lost_writer) continue;
      std::string text = "block " + NameOf(state.writer) + " overwrites " + buffer_->name + "[";
      for (size_t d = 0; d < element.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(element[d]);
      text += "], which block " + NameOf(*state.lost_writer) + " wrote in an earlier iteration of loop " +
              nest.var.name() + ", and which nobody has read";
      return Diagnostic{Verdict::kRefuted, "overwritten values", accesses_[state.writer].child->id(), std::move(text)};
    }
    return std::nullopt;
  }

 private:
  struct State {
    size_t writer = 0;  // the last one
    bool read = false;
    std::optional<size_t> lost_writer;
  };
  const std::string& NameOf(size_t access) const { return accesses_[access].child->realize->block->name; }

  std::optional<int64_t> ValueOf(const Expr& e) const { return AsInt(arith::Simplify(Substitute(e, values_))); }

  bool Follow(const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) return FollowLoop(*loop);
    if (const auto* sequence = dyn_cast<SeqNode>(s)) {
      return std::ranges::all_of(sequence->stmts, [&](const Stmt& part) { return Follow(part); });
    }
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return true;
    for (size_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].child->realize == realize) return FollowBlock(i);
    }
    return true;
  }
  bool FollowLoop(const ForNode& loop) {
    const bool concerned = std::ranges::any_of(accesses_, [&](const Access& access) {
      return std::ranges::find(access.child->loops, &loop) != access.child->loops.end();
    });
    if (!concerned) return true;
    const std::optional<int64_t> min = ValueOf(loop.min), extent = ValueOf(loop.extent);
    const bool in_order = loop.kind == ForKind::kSerial || loop.kind == ForKind::kUnrolled || extent == 1;
    if (!min || !extent || !in_order) return false;
    for (int64_t i = 0; i < *extent; ++i) {
      values_[loop.var] = Const(loop.var.dtype(), *min + i);
      if (!Follow(loop.body)) return false;
    }
    values_.erase(loop.var);
    return true;
  }
  bool FollowBlock(size_t access) {
    if (++instances_ > kMaxInstances) return false;
    const Access& touched = accesses_[access];
    const std::optional<int64_t> runs = ValueOf(touched.child->realize->predicate);
    if (!runs) return false;
    if (*runs == 0) return true;
    if (touched.written.empty()) return FollowReads(touched);
    std::vector<int64_t> element;
    for (const Expr& index : touched.written) {
      const std::optional<int64_t> value = ValueOf(index);
      if (!value) return false;
      element.push_back(*value);
    }
    const auto [known, is_new] = elements_.try_emplace(std::move(element), State{access});
    State& state = known->second;
    const bool loses = !is_new && touched.sets && !state.read && access < state.writer;
    if (loses) {
      state = {access, false, state.writer};
    } else if (!(touched.sets && state.lost_writer && access < *state.lost_writer)) {
      state = {access};
    }
    return true;
  }
  bool FollowReads(const Access& access) {
    for (const std::vector<Range>& region : access.reads) {
      std::vector<std::pair<int64_t, int64_t>> bounds;
      for (const Range& range : region) {
        const std::optional<int64_t> min = ValueOf(range.min), extent = ValueOf(range.extent);
        if (!min || !extent) return false;
        bounds.emplace_back(*min, *min + *extent);
      }
      for (auto& [element, state] : elements_) {
        bool inside = true;
        for (size_t d = 0; d < bounds.size(); ++d) {
          inside &= bounds[d].first <= element[d] && element[d] < bounds[d].second;
        }
        state.read |= inside;
      }
    }
    return true;
  }

  const Buffer& buffer_;
  const std::vector<Access>& accesses_;
  VarMap values_;
  std::map<std::vector<int64_t>, State> elements_;
  int instances_ = 0;
};

class Checker : public ScopeChecker {
 protected:
  void CheckScope(const BlockScope& scope) override {
    if (!scope.has_other_statements()) {
      const std::vector<ScopeChild>& children = scope.children();
      for (size_t first = 0, end = 0; first < children.size(); first = end) {
        end = first + 1;
        if (children[first].loops.empty()) continue;
        while (end < children.size() && !children[end].loops.empty() &&
               children[end].loops[0] == children[first].loops[0]) {
          ++end;
        }
        CheckNest(children, first, end);
      }
    }
  }

 private:
  void CheckNest(const std::vector<ScopeChild>& children, size_t first, size_t end) {
    std::vector<Buffer> seen;
    for (size_t i = first; i < end; ++i) {
      for (const BufferRegion& write : children[i].realize->block->writes) {
        if (std::ranges::any_of(seen, [&](const Buffer& buffer) { return buffer.same_as(write.buffer); })) continue;
        seen.push_back(write.buffer);
        if (CheckBuffer(children, first, end, write.buffer)) return;
      }
    }
  }
  bool CheckBuffer(const std::vector<ScopeChild>& children, size_t first, size_t end, const Buffer& buffer) {
    const auto writes = [&](const ScopeChild& child) { return Mentions(child.realize->block->writes, buffer); };
    if (std::count_if(&children[first], &children[first] + (end - first), writes) < 2) return false;
    std::vector<Access> accesses;
    for (size_t i = first; i < end; ++i) {
      std::optional<Access> access = AccessOf(children[i], buffer);
      if (!access) return false;
      if (!access->written.empty() || !access->reads.empty()) accesses.push_back(std::move(*access));
    }
    bool doubtful = false;
    for (size_t a = 0; a < accesses.size(); ++a) {
      for (size_t b = a + 1; b < accesses.size() && accesses[a].sets; ++b) {
        doubtful |= !accesses[b].written.empty() && SelectDifferently(accesses[a], accesses[b]);
      }
    }
    if (!doubtful) return false;
    Run run(buffer, accesses);
    std::optional<Diagnostic> lost = run.WhatIsLost(*children[first].loops[0]);
    if (!lost) return false;
    diagnostics.push_back(std::move(*lost));
    return true;
  }
};

}  // namespace

Diagnostics CheckOverwrittenValues(const Function& function) { return DiagnosticsOf<Checker>(function); }

}  // namespace tilewright
