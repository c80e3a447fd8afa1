#include "schedule/loops/merge.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/iter_map.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_independence.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

constexpr const char* kName = "merge";

// The loops to merge: of each nest, from just below what holds all of them down to the given one.
struct Nests {
  const SeqNode* place = nullptr;  // holds the outermost loops, among others
  std::vector<std::vector<const ForNode*>> chains;
  std::vector<size_t> positions;  // of the nests in `place`
};

// The statements that hold a loop, up to its scope: loops, outermost first, the loop itself last.
Outcome<std::vector<std::vector<const ForNode*>>> PathsInScope(const Function& function,
                                                               const std::vector<uint32_t>& ids) {
  std::vector<std::vector<const ForNode*>> paths;
  const BlockRealizeNode* scope = nullptr;
  for (uint32_t id : ids) {
    TW_ASSIGN_OR_RETURN(Path path, PathToLoop(kName, function, id));
    if (paths.empty()) scope = ScopeOf(path);
    if (ScopeOf(path) != scope) {
      return Refusal{kName, "{loop0} and {loop1} are not in the same scope", {ids[0], id}};
    }
    paths.push_back(LoopsAbove(path));
    paths.back().push_back(cast<ForNode>(path.back()));
  }
  return paths;
}

// Loops that are bound to one thread become one of that thread; others are serial.
std::optional<Refusal> WhyKindsDiffer(const ForNode& first, const ForNode& other) {
  const bool bound = first.kind == ForKind::kThreadBound;
  if (!bound) return WhyNotReplaceable(kName, other);
  if (other.kind != ForKind::kThreadBound || other.thread_tag != first.thread_tag) {
    return Refusal{kName, "{loop0} is bound to {text0}, {loop1} is not", {first.id, other.id}, {}, {first.thread_tag}};
  }
  ForNode::Fields unbound = other.fields();
  unbound.kind = ForKind::kSerial;
  const Stmt serial = For(std::move(unbound));
  return WhyNotReplaceable(kName, *cast<ForNode>(serial));
}

std::optional<Refusal> WhyNotAlike(const std::vector<const ForNode*>& first, const std::vector<const ForNode*>& other) {
  if (first.size() != other.size()) {
    return Refusal{kName,
                   "{loop0} is {num0} loops below what holds both, {loop1} {num1}",
                   {first.back()->id, other.back()->id},
                   {},
                   {},
                   {std::ssize(first), std::ssize(other)}};
  }
  for (size_t i = 0; i < other.size(); ++i) {
    if (auto refusal = WhyKindsDiffer(*first[i], *other[i])) return refusal;
    if (i + 1 < other.size() && other[i]->body.get() != other[i + 1]) {
      return Refusal{kName, "{loop0} holds more than {loop1}", {other[i]->id, other[i + 1]->id}};
    }
    const Expr &a = first[i]->extent, &b = other[i]->extent;
    if (!arith::Analyzer().CanProveEqual(a, b)) {
      return Refusal{
          kName, "the extents of {loop0} and {loop1} are {expr0} and {expr1}", {first[i]->id, other[i]->id}, {a, b}};
    }
  }
  return std::nullopt;
}

Outcome<Nests> FindNests(const Function& function, const std::vector<uint32_t>& ids) {
  if (ids.size() < 2) return Refusal{kName, "there are fewer than two loops"};
  TW_ASSIGN_OR_RETURN(auto paths, PathsInScope(function, ids));
  size_t common = 0;
  while (std::all_of(paths.begin(), paths.end(),
                     [&](const auto& path) { return common < path.size() && path[common] == paths[0][common]; })) {
    ++common;
  }
  Nests nests;
  for (size_t i = 0; i < ids.size(); ++i) {
    auto& path = paths[i];
    if (path.size() == common) return Refusal{kName, "{loop0} holds the others, or is given twice", {ids[i]}};
    nests.chains.push_back({path.begin() + static_cast<ptrdiff_t>(common), path.end()});
  }
  for (const auto& chain : nests.chains) {
    if (auto refusal = WhyNotAlike(nests.chains[0], chain)) return *refusal;
  }
  const Path first = FindPath(function, nests.chains[0].front()->id);
  const Stmt& holder = first[first.size() - 2];
  const auto* loop = dyn_cast<ForNode>(holder);
  nests.place = dyn_cast<SeqNode>(loop != nullptr ? loop->body : cast<BlockRealizeNode>(holder)->block->body);
  for (const auto& chain : nests.chains) {
    const std::vector<Stmt>& stmts = nests.place == nullptr ? std::vector<Stmt>() : nests.place->stmts;
    const auto at = std::find_if(stmts.begin(), stmts.end(), [&](const Stmt& s) { return s.get() == chain[0]; });
    if (at == stmts.end()) {
      return Refusal{kName, "{loop0} stands below other statements than loops and blocks", {chain[0]->id}};
    }
    nests.positions.push_back(at - stmts.begin());
    if (nests.positions.size() == 1) continue;
    const size_t before = nests.positions[nests.positions.size() - 2];
    TW_CHECK(nests.positions.back() != before) << "what holds two of the loops holds more than one loop";
    if (nests.positions.back() < before) {
      return Refusal{kName,
                     "{loop1} comes before {loop0} in the program",
                     {nests.chains[nests.positions.size() - 2].back()->id, chain.back()->id}};
    }
  }
  return nests;
}

// Whether one of them writes what the other touches.
bool Conflict(const BlockNode& a, const BlockNode& b) {
  auto writes_what_touches = [](const BlockNode& writer, const BlockNode& other) {
    for (const BufferRegion& write : writer.writes) {
      for (const auto* regions : {&other.reads, &other.writes}) {
        for (const BufferRegion& region : *regions) {
          if (region.buffer.same_as(write.buffer)) return true;
        }
      }
    }
    return false;
  };
  return writes_what_touches(a, b) || writes_what_touches(b, a);
}

// Whether something other than blocks in loops stands in `s`, outside of blocks.
bool HasOtherStatements(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    found |= !isa<ForNode>(part) && !isa<SeqNode>(part) && !isa<BlockRealizeNode>(part);
    return !isa<BlockRealizeNode>(part);
  });
  return found;
}

// Whether blocks of one statement and of the other do; `pair` receives them.
bool Conflict(const Stmt& a, const Stmt& b, std::pair<uint32_t, uint32_t>* pair = nullptr) {
  for (const BlockRealizeNode* first : BlocksBelow(a)) {
    for (const BlockRealizeNode* second : BlocksBelow(b)) {
      if (!Conflict(*first->block, *second->block)) continue;
      if (pair != nullptr) *pair = {first->block->id, second->block->id};
      return true;
    }
  }
  return false;
}

// The statements between the first and the last nest that come before the merged one: what later nests need, and what
// those need of the others in between. All others come behind it.
class Between {
 public:
  explicit Between(const Nests& nests) : nests_(nests), stmts_(nests.place->stmts) {
    for (size_t i = nests.positions.front() + 1; i < nests.positions.back(); ++i) {
      if (std::ranges::find(nests.positions, i) == nests.positions.end()) between_.push_back(i);
    }
  }

  Outcome<std::vector<size_t>> Before() const {
    std::vector<size_t> before;
    for (const size_t i : between_) {
      if (!HasOtherStatements(stmts_[i])) continue;
      return Refusal{kName,
                     "between {loop0} and {loop1} there are statements other than loops and blocks",
                     {Outermost(0), Outermost(nests_.chains.size() - 1)}};
    }
    for (size_t at = between_.size(); at-- > 0;) {
      const size_t i = between_[at];
      std::pair<uint32_t, uint32_t> pair;
      const std::optional<size_t> later = NestThatConflicts(i, /*is_later=*/true, &pair);
      const bool needed =
          later || std::ranges::any_of(before, [&](size_t j) { return Conflict(stmts_[i], stmts_[j]); });
      if (!needed) continue;
      std::pair<uint32_t, uint32_t> passed;
      if (const std::optional<size_t> earlier = NestThatConflicts(i, /*is_later=*/false, &passed)) {
        if (!later) pair = passed;
        return Refusal{kName,
                       "{block1}, between the loops, and {block2} touch the same buffer",
                       {Outermost(later.value_or(*earlier)), pair.first, pair.second}};
      }
      before.push_back(i);
    }
    return before;
  }

 private:
  uint32_t Outermost(size_t nest) const { return nests_.chains[nest].front()->id; }

  // A nest behind the statement, or before it, that touches what it writes, or writes what it touches.
  std::optional<size_t> NestThatConflicts(size_t i, bool is_later, std::pair<uint32_t, uint32_t>* pair) const {
    for (size_t n = 0; n < nests_.chains.size(); ++n) {
      const size_t position = nests_.positions[n];
      if ((position > i) == is_later && Conflict(stmts_[i], stmts_[position], pair)) return n;
    }
    return std::nullopt;
  }

  const Nests& nests_;
  const std::vector<Stmt>& stmts_;
  std::vector<size_t> between_;
};

// A loop of the chain whose iterations may run the same instances of the block more than once; null when there is none.
const ForNode* RepeatingLoop(const BlockRealizeNode& realize, const std::vector<const ForNode*>& chain) {
  arith::Analyzer analyzer;
  // A condition only takes instances away.
  for (const Expr& predicate : {realize.predicate, Expr()}) {
    const auto map =
        arith::DetectIterMap(realize.bindings, DomainOf(chain), predicate, arith::IterMapLevel::kNone, &analyzer);
    if (map && map->injective) return nullptr;
    if (IsTrue(predicate)) break;
  }
  for (const ForNode* loop : chain) {
    const bool used = std::any_of(realize.bindings.begin(), realize.bindings.end(),
                                  [&](const Expr& binding) { return binding.get() == loop->var.get(); });
    if (!used && !IsInt(loop->extent, 1)) return loop;
  }
  return nullptr;
}

// A reduction has its result behind its loops, not in them.
std::optional<Refusal> WhyNotFinal(const Nests& nests) {
  for (size_t first = 0; first < nests.chains.size(); ++first) {
    for (const BlockRealizeNode* producer : BlocksBelow(nests.place->stmts[nests.positions[first]])) {
      const ForNode* carrier = nullptr;
      for (size_t i = 0; i < producer->bindings.size(); ++i) {
        if (producer->block->iter_vars[i].kind == IterKind::kSpatial) continue;
        for (const ForNode* loop : nests.chains[first]) {
          if (!IsInt(loop->extent, 1) && UsesVar(producer->bindings[i], loop->var)) carrier = loop;
        }
      }
      const ForNode* repeats = carrier == nullptr ? RepeatingLoop(*producer, nests.chains[first]) : nullptr;
      if (carrier == nullptr && repeats == nullptr) continue;
      for (size_t later = first + 1; later < nests.chains.size(); ++later) {
        for (const BlockRealizeNode* consumer : BlocksBelow(nests.place->stmts[nests.positions[later]])) {
          if (!Conflict(*producer->block, *consumer->block)) continue;
          if (repeats != nullptr) {
            return Refusal{kName,
                           "{loop0} repeats instances of {block1}, which would fall between those of {block2}",
                           {repeats->id, producer->block->id, consumer->block->id}};
          }
          return Refusal{kName,
                         "{loop0} carries the reduction of {block1}, whose result {block2} uses",
                         {carrier->id, producer->block->id, consumer->block->id}};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Outcome<MergeResult> Merge(const Function& function, const std::vector<uint32_t>& loops) {
  TW_ASSIGN_OR_RETURN(Nests nests, FindNests(function, loops));
  TW_ASSIGN_OR_RETURN(const std::vector<size_t> before, Between(nests).Before());
  if (auto refusal = WhyNotFinal(nests)) return *refusal;

  MergeResult result;
  uint32_t next_id = function->next_id;
  std::vector<ForNode::Fields> merged;
  for (const ForNode* loop : nests.chains[0]) {
    ForNode::Fields fields = loop->fields();
    fields.id = next_id++;
    fields.var = Var(loop->var.name() + "_m", loop->var.dtype());
    if (fields.kind != ForKind::kThreadBound) fields.kind = ForKind::kSerial;
    merged.push_back(std::move(fields));
  }
  const uint32_t outermost = merged.front().id;
  result.loop = merged.back().id;
  std::vector<Stmt> bodies;
  for (const auto& chain : nests.chains) {
    VarMap vars;
    for (size_t i = 0; i < chain.size(); ++i) vars[chain[i]->var] = CastTo(chain[i]->var.dtype(), merged[i].var);
    bodies.push_back(Substitute(chain.back()->body, vars));
  }
  std::vector<Stmt> stmts, behind;
  for (size_t i = 0; i < nests.place->stmts.size(); ++i) {
    if (std::ranges::find(nests.positions, i) == nests.positions.end()) {
      const bool passes =
          i > nests.positions.front() && i < nests.positions.back() && std::ranges::find(before, i) == before.end();
      (passes ? behind : stmts).push_back(nests.place->stmts[i]);
    }
    if (i != nests.positions.back()) continue;
    stmts.push_back(Nest(merged, Sequence(bodies)));
    stmts.insert(stmts.end(), behind.begin(), behind.end());
  }
  result.function = ReplaceIn(function, nests.place, Sequence(std::move(stmts)), next_id);
  auto refusal = WhyIterationsAreOrdered(kName, result.function, *FindLoop(result.function, outermost),
                                         *FindLoop(result.function, result.loop));
  if (!refusal) return result;
  // The refusal is about the program as it was.
  std::replace(refusal->objects.begin(), refusal->objects.end(), outermost, nests.chains[0].front()->id);
  return *refusal;
}

}  // namespace tilewright
