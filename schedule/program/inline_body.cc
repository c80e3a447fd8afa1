#include "schedule/program/inline_body.h"

#include <algorithm>
#include <functional>
#include <map>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/builtin.h"
#include "ir/mentions.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

bool SameRegion(const BufferRegion& a, const BufferRegion& b) {
  if (!a.buffer.same_as(b.buffer)) return false;
  for (size_t d = 0; d < a.region.size(); ++d) {
    if (!StructuralEqual(a.region[d].min, b.region[d].min) ||
        !StructuralEqual(a.region[d].extent, b.region[d].extent)) {
      return false;
    }
  }
  return true;
}

bool SameRegions(const std::vector<BufferRegion>& a, const std::vector<BufferRegion>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameRegion);
}

void UpdateRegions(const std::vector<BufferRegion>& detected_before, const std::vector<BufferRegion>& detected_after,
                   const std::vector<BufferRegion>& inlined, const Buffer& removed,
                   std::vector<BufferRegion>* regions) {
  if (SameRegions(*regions, detected_before)) {
    *regions = detected_after;
    return;
  }
  std::erase_if(*regions, [&](const BufferRegion& region) { return region.buffer.same_as(removed); });
  for (const BufferRegion& region : detected_after) {
    const bool was_there = std::any_of(detected_before.begin(), detected_before.end(),
                                       [&](const BufferRegion& old) { return SameRegion(old, region); });
    // What is declared may be less than what detection gives (values in memory are indices), and enough for the body as
    // it was only.
    if (was_there && !Mentions(inlined, region.buffer)) continue;
    auto known = std::find_if(regions->begin(), regions->end(),
                              [&](const BufferRegion& old) { return old.buffer.same_as(region.buffer); });
    const auto of_buffer = [&](const BufferRegion& other) { return other.buffer.same_as(region.buffer); };
    if (std::count_if(regions->begin(), regions->end(), of_buffer) > 1 ||
        std::count_if(detected_after.begin(), detected_after.end(), of_buffer) > 1) {
      // Which of several regions became which is not known: none is lost.
      const auto same = [&](const BufferRegion& old) { return SameRegion(old, region); };
      if (std::none_of(regions->begin(), regions->end(), same)) regions->push_back(region);
    } else if (known == regions->end()) {
      regions->push_back(region);
    } else {
      *known = region;
    }
  }
}

// The terms of a solution from those of the last index to those of the first, constants at the end.
Expr LastIndexFirst(const Expr& e, const std::vector<Var>& indices) {
  std::vector<Expr> terms;
  for (Expr rest = e; rest;) {
    const auto* op = dyn_cast<BinaryNode>(rest);
    const bool sum = op != nullptr && op->op == BinaryOp::kAdd;
    terms.insert(terms.begin(), sum ? op->b : rest);
    rest = sum ? op->a : Expr();
  }
  std::multimap<size_t, Expr, std::greater<>> by_index;  // keeps the order of equal keys
  for (const Expr& term : terms) {
    size_t last = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (UsesVar(term, indices[d])) last = d + 1;
    }
    by_index.emplace(last, term);
  }
  Expr ordered;
  for (const auto& [last, term] : by_index) ordered = ordered ? ordered + term : term;
  return ordered;
}

}  // namespace

bool IsPure(const Expr& value) {
  bool pure = true;
  PreOrder(value, [&](const Expr& e) {
    if (const auto* call = dyn_cast<CallNode>(e)) pure &= EffectOf(call->op) == CallEffect::kPure;
    return pure;
  });
  return pure;
}

const StoreNode* AsSingleStore(const BlockNode& block) {
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr || block.init || store->predicate || !block.match_buffers.empty() ||
      !block.alloc_buffers.empty()) {
    return nullptr;
  }
  return store;
}

std::optional<std::vector<Expr>> SolveIterators(const std::vector<IterVar>& iters, const std::vector<Expr>& indices,
                                                const std::vector<Expr>& values, arith::Analyzer* analyzer) {
  arith::Domain domain;
  for (const IterVar& iter : iters) domain.push_back({iter.var, iter.domain});
  std::optional<arith::IterMap> map = arith::DetectIterMap(indices, domain, {}, arith::IterMapLevel::kNone, analyzer);
  if (!map || !map->injective) return std::nullopt;
  std::vector<Var> unknown;
  VarMap known;
  for (const Expr& value : values) {
    unknown.emplace_back("index", value.dtype());
    known[unknown.back()] = value;
  }
  std::vector<Expr> solved = arith::InverseIterMap(*map, {unknown.begin(), unknown.end()}, analyzer);
  for (size_t i = 0; i < iters.size(); ++i) {
    for (size_t d = 0; d < indices.size() && IsInt(iters[i].domain.extent, 1); ++d) {
      const Expr offset = analyzer->Simplify(indices[d] - CastTo(indices[d].dtype(), iters[i].var));
      // Stays in indices, though it has one value.
      if (AsInt(offset)) solved[i] = analyzer->Simplify(unknown[d] - offset);
    }
    solved[i] = Substitute(LastIndexFirst(solved[i], unknown), known);
  }
  return solved;
}

namespace {

bool OneUsesOtherThanByLoads(const Stmt& s, const Buffer& buffer) {
  bool used = false;
  PreOrderExprs(s, [&](const Expr& e) {
    used |= e.get() == buffer->data.get();
    if (const auto* load = dyn_cast<LoadNode>(e); load != nullptr && load->buffer.same_as(buffer)) {
      for (const Expr& index : load->indices) used |= !index.dtype().is_scalar();
    }
    if (const auto* call = dyn_cast<CallNode>(e); call != nullptr && call->op == kAddressOf) {
      const auto* load = call->args.size() == 1 ? dyn_cast<LoadNode>(call->args[0]) : nullptr;
      used |= load != nullptr && load->buffer.same_as(buffer);
    }
    return true;
  });
  PreOrder(s, [&](const Stmt& part) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(part)) {
      for (const MatchBuffer& match : realize->block->match_buffers) used |= match.source.buffer.same_as(buffer);
    }
    return true;
  });
  return used;
}

}  // namespace

bool UsedOtherThanByLoads(const Stmt& s, const Buffer& buffer) {
  return std::ranges::any_of(StmtsThatMention(s, {buffer->data.get()}),
                             [&](const Stmt& part) { return OneUsesOtherThanByLoads(part, buffer); });
}

namespace {

// Boxes of several elements simplified; single elements stay as the body has them.
AccessRegions SimplifyBoxes(AccessRegions regions, const BlockNode& block) {
  arith::Analyzer analyzer;
  for (const IterVar& iter : block.iter_vars) analyzer.Bind(iter.var, iter.domain);
  for (std::vector<BufferRegion>* list : {&regions.reads, &regions.writes}) {
    for (BufferRegion& region : *list) {
      for (Range& range : region.region) {
        if (!IsInt(range.extent, 1)) range = {analyzer.Simplify(range.min), analyzer.Simplify(range.extent)};
      }
    }
  }
  return regions;
}

// Whether an annotation names the buffer; those that peers print name its data.
bool Names(const Annotation& annotation, const Buffer& buffer) {
  const auto names = [&](const auto& inner) { return Names(inner, buffer); };
  if (const auto* list = std::get_if<Annotation::List>(&annotation.value)) return std::ranges::any_of(*list, names);
  if (const auto* dict = std::get_if<Annotation::Dict>(&annotation.value)) {
    return std::ranges::any_of(*dict, [&](const auto& entry) { return names(entry.second); });
  }
  return UsesVar(std::get<Expr>(annotation.value), buffer->data);
}

// Leaves out annotations of blocks that name the buffer: hints of peers about one that is gone.
Stmt WithoutAnnotationsOf(const Stmt& s, const Buffer& buffer) {
  const auto names = [&](const auto& annotation) { return Names(annotation.second, buffer); };
  const auto named_by = [&](const Stmt& part) {
    const auto* realize = dyn_cast<BlockRealizeNode>(part);
    return realize != nullptr && std::ranges::any_of(realize->block->annotations, names);
  };
  const std::vector<const VarNode*> memory = {buffer->data.get()};
  bool found = false;
  for (const Stmt& stmt : StmtsThatMention(s, memory)) {
    PreOrder(stmt, [&](const Stmt& part) { return !(found = found || named_by(part)); });
  }
  if (!found) return s;
  return RewriteMentions(s, memory, [&](const Stmt& part) {
    if (!named_by(part)) return part;
    const auto* realize = cast<BlockRealizeNode>(part);
    BlockNode::Fields fields = realize->block->fields();
    std::erase_if(fields.annotations, names);
    return Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  });
}

}  // namespace

Block WithNewRegions(const Block& before, BlockNode::Fields after, const BlockNode& inlined, const Buffer& removed) {
  const Block changed(after);
  const AccessRegions old_regions = DetectRegions(*before),
                      new_regions = SimplifyBoxes(DetectRegions(*changed), *changed);
  UpdateRegions(old_regions.reads, new_regions.reads, inlined.reads, removed, &after.reads);
  UpdateRegions(old_regions.writes, new_regions.writes, inlined.writes, removed, &after.writes);
  return Block(std::move(after));
}

Function RemoveInlined(const Function& function, const BlockNode& scope, const Stmt& scope_body, uint32_t block,
                       const Buffer& buffer) {
  const auto* realize = cast<BlockRealizeNode>(FindPath(function, scope.id).back());
  BlockNode::Fields fields = realize->block->fields();
  fields.body = WithoutAnnotationsOf(scope_body, buffer);
  std::erase_if(fields.alloc_buffers, [&](const Buffer& allocated) { return allocated.same_as(buffer); });
  Stmt changed = Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  Function with_changes = ReplaceIn(function, realize, changed, function->next_id);
  return RemoveFrom(with_changes, SubtreeOfOnly(FindPath(with_changes, block)));
}

}  // namespace tilewright
