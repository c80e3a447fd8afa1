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
    if (auto refusal = WhyNotReplaceable(kName, *other[i])) return refusal;
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

// Why the nests cannot be next to each other in the place of one of them: those before it move down, those behind it
// up, over what stands in between.
std::optional<Refusal> WhyNotAt(const Nests& nests, size_t place) {
  for (size_t i = nests.positions.front() + 1; i < nests.positions.back(); ++i) {
    if (std::find(nests.positions.begin(), nests.positions.end(), i) != nests.positions.end()) continue;
    if (HasOtherStatements(nests.place->stmts[i])) {
      return Refusal{kName,
                     "between {loop0} and {loop1} there are statements other than loops and blocks",
                     {nests.chains.front().front()->id, nests.chains.back().front()->id}};
    }
    for (const BlockRealizeNode* between : BlocksBelow(nests.place->stmts[i])) {
      for (size_t n = 0; n < nests.chains.size(); ++n) {
        const size_t position = nests.positions[n];
        if ((position < i) == (nests.positions[place] < i)) continue;  // does not pass
        for (const BlockRealizeNode* moved : BlocksBelow(nests.place->stmts[position])) {
          if (!Conflict(*between->block, *moved->block)) continue;
          return Refusal{kName,
                         "{block1}, between the loops, and {block2} touch the same buffer",
                         {nests.chains[n].front()->id, between->block->id, moved->block->id}};
        }
      }
    }
  }
  return std::nullopt;
}

// The first of the nests in whose place all can be; the refusal is that of the first one's.
Outcome<size_t> PlaceOf(const Nests& nests) {
  const std::optional<Refusal> refusal = WhyNotAt(nests, 0);
  if (!refusal) return size_t{0};
  for (size_t place = 1; place < nests.chains.size(); ++place) {
    if (!WhyNotAt(nests, place)) return place;
  }
  return *refusal;
}

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
  TW_ASSIGN_OR_RETURN(const size_t place, PlaceOf(nests));
  if (auto refusal = WhyNotFinal(nests)) return *refusal;

  MergeResult result;
  uint32_t next_id = function->next_id;
  std::vector<ForNode::Fields> merged;
  for (const ForNode* loop : nests.chains[0]) {
    ForNode::Fields fields = loop->fields();
    fields.id = next_id++;
    fields.var = Var(loop->var.name() + "_m", loop->var.dtype());
    fields.kind = ForKind::kSerial;
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
  std::vector<Stmt> stmts;
  for (size_t i = 0; i < nests.place->stmts.size(); ++i) {
    if (i == nests.positions[place]) {
      stmts.push_back(Nest(merged, Sequence(bodies)));
    } else if (std::find(nests.positions.begin(), nests.positions.end(), i) == nests.positions.end()) {
      stmts.push_back(nests.place->stmts[i]);
    }
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
