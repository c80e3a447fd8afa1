#include "autoschedule/sketch/join_nests.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "autoschedule/cost/projected.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/estimates.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// A nest at the top: its outermost loop, its first block, how many it has, and the buffers that they use.
struct TopNest {
  Ref<ForNode> loop;
  Ref<BlockNode> block;
  std::vector<Buffer> reads, writes;
  size_t blocks = 0;
};

void Append(const std::vector<BufferRegion>& regions, std::vector<Buffer>& buffers) {
  for (const BufferRegion& region : regions) buffers.push_back(region.buffer);
}

std::vector<TopNest> NestsOf(std::span<const ScopeChild> children) {
  std::vector<TopNest> nests;
  for (const ScopeChild& child : children) {
    if (child.loops.empty()) continue;
    const BlockNode& block = *child.realize->block;
    if (nests.empty() || nests.back().loop.get() != child.loops[0]) {
      nests.push_back({Ref<ForNode>(child.loops[0]), child.realize->block, {}, {}});
    }
    ++nests.back().blocks;
    Append(block.reads, nests.back().reads);
    Append(block.writes, nests.back().writes);
  }
  return nests;
}

// Makes them the nests of a function that they were those of before a change. Loops that are the same hold the same.
void BecomeTopNests(const Function& function, std::vector<TopNest>& nests) {
  const auto* root = dyn_cast<BlockRealizeNode>(function->body);
  if (root == nullptr) return nests.clear();
  const BlockScope scope = BlockScope::Of(root->block.get());
  std::span<const ScopeChild> changed = scope.children();
  size_t begin = 0, end = nests.size();
  const auto is_outermost = [](const TopNest& nest, const ScopeChild& child) {
    return !child.loops.empty() && nest.loop.get() == child.loops[0];
  };
  while (begin < end && !changed.empty() && is_outermost(nests[begin], changed.front())) {
    changed = changed.subspan(nests[begin++].blocks);
  }
  while (begin < end && !changed.empty() && is_outermost(nests[end - 1], changed.back())) {
    changed = changed.first(changed.size() - nests[--end].blocks);
  }
  std::vector<TopNest> made = NestsOf(changed);
  const auto place = [&](size_t i) { return nests.begin() + static_cast<std::ptrdiff_t>(i); };
  nests.erase(place(begin), place(end));
  nests.insert(place(begin), std::move_iterator(made.begin()), std::move_iterator(made.end()));
}

bool ShareABuffer(const TopNest& earlier, const TopNest& later) {
  return std::ranges::any_of(later.reads, [&](const Buffer& read) {
    const auto is_there = [&](const Buffer& buffer) { return buffer->data.same_as(read->data); };
    return std::ranges::any_of(earlier.reads, is_there) || std::ranges::any_of(earlier.writes, is_there);
  });
}

// What a nest needs of those before it: it does not become one with a nest where those between them that it needs,
// itself or by others, touch what that one writes, or write what it touches (schedule/loops/merge.h).
class Needed {
 public:
  // The nests must outlive this; `later` is the place of one of them.
  Needed(const std::vector<TopNest>& nests, size_t later) : nests_(nests), next_(later) { by_nest_.Add(nests[later]); }

  // To be asked from the nearest nest on.
  bool StandsBetween(size_t earlier) {
    for (; next_ > earlier + 1; --next_) {
      const TopNest& nest = nests_[next_ - 1];
      if (by_nest_.Conflict(nest) || between_.Conflict(nest)) between_.Add(nest);
    }
    return between_.Conflict(nests_[earlier]);
  }

 private:
  struct Uses {
    std::unordered_set<const BufferNode*> touched, written;

    void Add(const TopNest& nest) {
      for (const Buffer& buffer : nest.reads) touched.insert(buffer.get());
      for (const Buffer& buffer : nest.writes) {
        touched.insert(buffer.get());
        written.insert(buffer.get());
      }
    }
    bool Conflict(const TopNest& nest) const {
      const auto is_written = [&](const Buffer& buffer) { return written.contains(buffer.get()); };
      const auto is_touched = [&](const Buffer& buffer) { return touched.contains(buffer.get()); };
      return std::ranges::any_of(nest.reads, is_written) || std::ranges::any_of(nest.writes, is_touched);
    }
  };

  const std::vector<TopNest>& nests_;
  size_t next_;  // the nests from here on were looked at
  Uses by_nest_, between_;
};

// The annotations of a loop as far as they are integers; nothing where others are among them.
using Hints = std::vector<std::pair<std::string, int64_t>>;
std::optional<Hints> HintsOf(const ForNode& loop) {
  Hints hints;
  for (const auto& [key, annotation] : loop.annotations) {
    const auto* value = std::get_if<Expr>(&annotation.value);
    const std::optional<int64_t> number = value == nullptr ? std::nullopt : AsInt(*value);
    if (!number) return std::nullopt;
    hints.emplace_back(key, *number);
  }
  return hints;
}

// Whether they run through as many iterations in the same way.
bool AreAlike(const ForNode& a, const ForNode& b) {
  const std::optional<Hints> hints = HintsOf(a);
  const bool bound = a.kind == ForKind::kThreadBound && a.annotations.empty();
  const bool same_kind = a.kind == b.kind && a.thread_tag == b.thread_tag;
  return same_kind && (bound || a.kind == ForKind::kParallel || a.kind == ForKind::kSerial) && hints &&
         hints == HintsOf(b) && arith::Analyzer().CanProveEqual(a.extent, b.extent);
}

// The loops of a launch, outermost first: those over blocks, and those over threads, that hold nothing but the next.
std::vector<const ForNode*> LaunchLoops(const ForNode& outermost) {
  std::vector<const ForNode*> loops;
  for (const auto* loop = &outermost; loop != nullptr; loop = dyn_cast<ForNode>(loop->body)) {
    if (loop->kind != ForKind::kThreadBound) break;
    loops.push_back(loop);
  }
  return loops;
}

bool IsOverBlocks(const ForNode& loop) { return !loop.thread_tag.empty() && !loop.thread_tag.starts_with("threadIdx"); }

// Whether the nest divides among threads what is inside of the first loops: among blocks, or the terms of a sum.
bool DividesInside(const std::vector<const ForNode*>& loops, size_t first) {
  bool divides = false;
  PreOrder(loops[first - 1]->body, [&](const Stmt& stmt) {
    const auto* loop = dyn_cast<ForNode>(stmt);
    divides |= loop != nullptr && IsOverBlocks(*loop);
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    for (size_t i = 0; realize != nullptr && i < realize->bindings.size(); ++i) {
      divides |= realize->block->iter_vars[i].kind != IterKind::kSpatial && !IsOverBlocks(*loops[first - 1]) &&
                 UsesVar(realize->bindings[i], loops[first - 1]->var);
    }
    return !divides;
  });
  return divides;
}

// How many loops of two nests, from the outermost on, may become one each, most first. On a CPU it is one. On a GPU
// these are all over blocks, because a launch has one number of them, and perhaps those over threads.
std::vector<size_t> Depths(const TopNest& earlier, const TopNest& later, const Target& target) {
  if (!target.is_gpu()) return {1};
  const std::vector<const ForNode*> first = LaunchLoops(*earlier.loop), second = LaunchLoops(*later.loop);
  std::vector<size_t> depths;
  for (size_t depth = 1; depth <= std::min(first.size(), second.size()); ++depth) {
    if (!AreAlike(*first[depth - 1], *second[depth - 1])) break;
    if (DividesInside(first, depth) || DividesInside(second, depth)) continue;
    depths.insert(depths.begin(), depth);
  }
  return depths;
}

// Makes loops of both nests one, of their kind and with the annotations of the outermost.
Outcome<Done> Merge(Schedule& sch, const std::vector<LoopRv>& earlier, const std::vector<LoopRv>& later, size_t depth) {
  const ForKind kind = LoopOf(sch, earlier[0]).kind;
  const Hints hints = *HintsOf(LoopOf(sch, earlier[0]));
  for (const LoopRv& loop : {earlier[0], later[0]}) {
    for (const auto& [key, value] : hints) TW_RETURN_IF_ERROR(sch.Unannotate(loop, key));
  }
  TW_ASSIGN_OR_RETURN(const LoopRv merged, sch.Merge({earlier[depth - 1], later[depth - 1]}));
  for (const auto& [key, value] : hints) TW_RETURN_IF_ERROR(sch.Annotate(merged, key, Value(value)));
  return kind == ForKind::kParallel ? sch.Parallel(merged) : Outcome<Done>(Done());
}

// Two nests and those next to the later one, up to so many blocks: what a long program gains by making the two one is
// seen there.
class Neighbourhood {
 public:
  Neighbourhood(const std::vector<TopNest>& nests, size_t earlier, size_t later,
                size_t most_blocks = 2 * kMostJoinedBlocks) {
    size_t blocks = nests[earlier].blocks + nests[later].blocks, first = later, last = later;
    const auto takes = [&](size_t nest) {
      if (nest != earlier) blocks += nests[nest].blocks;
      return blocks <= most_blocks;
    };
    while (first > 0 && takes(first - 1)) --first;
    while (last + 1 < nests.size() && takes(last + 1)) ++last;
    for (size_t i = 0; i < nests.size(); ++i) {
      if (i != earlier && (i < first || i > last)) left_out_.insert(nests[i].loop.get());
    }
  }

  bool IsWhole() const { return left_out_.empty(); }
  // What of the function is there, in which the two nests may be one.
  Function Of(const Function& function) const {
    const auto* root = cast<BlockRealizeNode>(function->body);
    const auto* list = dyn_cast<SeqNode>(root->block->body);
    if (IsWhole() || list == nullptr) return function;
    std::vector<Stmt> stmts;
    std::ranges::copy_if(list->stmts, std::back_inserter(stmts),
                         [&](const Stmt& stmt) { return !left_out_.contains(stmt.get()); });
    BlockNode::Fields fields = root->block->fields();
    fields.body = Sequence(std::move(stmts));
    return function.WithBody(Realize(root->bindings, root->predicate, Block(std::move(fields))), function->next_id);
  }

 private:
  std::unordered_set<const StmtNode*> left_out_;
};

// Makes nests one, and remembers what was asked of a schedule until it changes.
class NestJoiner {
 public:
  NestJoiner(Schedule& sch, const std::string& function, const Target& target, Choices& choices, const Accepts& accepts)
      : sch_(sch),
        function_(function),
        target_(target),
        choices_(choices),
        accepts_(accepts),
        blocks_(BlocksInRoot(sch, function)) {}

  // Whether the two become one; nothing where they cannot. The schedule and the choices are as before then.
  std::optional<bool> Decide(const std::vector<TopNest>& nests, size_t earlier_nest, size_t later_nest) {
    const TopNest &earlier = nests[earlier_nest], &later = nests[later_nest];
    if (earlier.blocks + later.blocks > kMostJoinedBlocks) return std::nullopt;
    Schedule asked = sch_;
    const std::vector<LoopRv> first = LoopsAround(asked, earlier), second = LoopsAround(asked, later);
    if (first.empty() || second.empty()) return std::nullopt;
    const auto [joined, depth] = Joined(asked, earlier, later, first, second);
    if (depth == 0) return std::nullopt;
    const Neighbourhood around(nests, earlier_nest, later_nest);
    const float together = Seconds(joined, around);
    const bool pays = Pays(together, SecondsApart(around), nests, earlier_nest, later_nest);
    Schedule chosen = std::move(asked);
    Choices taken = choices_;
    const Outcome<Choices::Pick> pick =
        taken.Take(chosen, later.block->name + ".nests", {0, 1}, pays ? 1 : 0, {{"apart"}, {"together"}});
    if (!pick.ok() || (pick->value != 0 && !Merge(chosen, first, second, depth).ok())) return std::nullopt;
    sch_ = std::move(chosen);
    choices_ = std::move(taken);
    if (pick->value != 0) apart_ = around.IsWhole() ? std::optional(together) : std::nullopt;
    return pick->value != 0;
  }

 private:
  // At nearly equal times one start of threads is preferred: what the nests share is near.
  bool Pays(float together, float apart, const std::vector<TopNest>& nests, size_t earlier, size_t later) const {
    if (together <= apart || together > apart * (1 + kNearlyEqual)) return together <= apart;
    return together - apart <= kNearlyEqual * Seconds(sch_, Neighbourhood(nests, earlier, later, 0));
  }
  // The schedule with as many loops of the nests joined as may be, and their number; 0 where none may be.
  std::pair<Schedule, size_t> Joined(const Schedule& sch, const TopNest& earlier, const TopNest& later,
                                     const std::vector<LoopRv>& first, const std::vector<LoopRv>& second) const {
    for (const size_t depth : Depths(earlier, later, target_)) {
      Schedule joined = sch;
      if (!Merge(joined, first, second, depth).ok()) continue;
      if (accepts_ == nullptr || accepts_(joined.module().Find(function_))) return {std::move(joined), depth};
    }
    return {sch, 0};
  }
  std::vector<LoopRv> LoopsAround(Schedule& sch, const TopNest& nest) const {
    const auto block = std::ranges::find_if(
        blocks_, [&](const BlockRv& each) { return sch.Get(each).As<BlockRef>()->id == nest.block->id; });
    if (block == blocks_.end()) return {};
    const Outcome<std::vector<LoopRv>> loops = sch.GetLoops(*block);
    return loops.ok() ? *loops : std::vector<LoopRv>();
  }
  // Without the last digits, which the order of sums decides.
  float Seconds(const Schedule& sch, const Neighbourhood& around) const {
    return static_cast<float>(Project(around.Of(sch.module().Find(function_)), target_).seconds);
  }
  float SecondsApart(const Neighbourhood& around) {
    if (!around.IsWhole()) return Seconds(sch_, around);
    if (!apart_) apart_ = Seconds(sch_, around);
    return *apart_;
  }

  Schedule& sch_;
  const std::string& function_;
  const Target& target_;
  Choices& choices_;
  const Accepts& accepts_;
  const std::vector<BlockRv> blocks_;
  std::optional<float> apart_;  // of the whole function
};

}  // namespace

void JoinNests(Schedule& sch, const std::string& function, const Target& target, Choices& choices,
               const Accepts& accepts) {
  NestJoiner joiner(sch, function, target, choices, accepts);
  std::vector<TopNest> nests;
  BecomeTopNests(sch.module().Find(function), nests);
  for (size_t later = 1; later < nests.size();) {
    // The nearest of those before it that it can become one with.
    std::optional<bool> together;
    Needed needed(nests, later);
    for (size_t earlier = later; earlier-- > 0 && !together;) {
      if (!ShareABuffer(nests[earlier], nests[later]) || needed.StandsBetween(earlier)) continue;
      if (AreAlike(*nests[earlier].loop, *nests[later].loop)) together = joiner.Decide(nests, earlier, later);
    }
    if (together.value_or(false)) {
      BecomeTopNests(sch.module().Find(function), nests);
    } else {
      ++later;
    }
  }
}

}  // namespace tilewright
