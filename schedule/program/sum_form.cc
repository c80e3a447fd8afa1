#include "schedule/program/sum_form.h"

#include <algorithm>

#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

bool IsLoadOf(const Expr& e, const StoreNode& store) {
  const auto* load = dyn_cast<LoadNode>(e);
  if (load == nullptr || !load->buffer.same_as(store.buffer)) return false;
  for (size_t i = 0; i < store.indices.size(); ++i) {
    if (!StructuralEqual(load->indices[i], store.indices[i])) return false;
  }
  return true;
}

void AddFactors(const Expr& term, std::vector<Expr>* factors) {
  const auto* product = dyn_cast<BinaryNode>(term);
  if (product == nullptr || product->op != BinaryOp::kMul) return factors->push_back(term);
  AddFactors(product->a, factors);
  AddFactors(product->b, factors);
}

}  // namespace

std::optional<SumForm> AsSum(const BlockNode& block) {
  const auto* store = dyn_cast<StoreNode>(block.body);
  const auto* sum = store == nullptr ? nullptr : dyn_cast<BinaryNode>(store->value);
  if (sum == nullptr || sum->op != BinaryOp::kAdd) return std::nullopt;
  if (IsLoadOf(sum->a, *store)) return SumForm{store, sum->b};
  if (IsLoadOf(sum->b, *store)) return SumForm{store, sum->a};
  return std::nullopt;
}

std::vector<Expr> FactorsOf(const Expr& term) {
  std::vector<Expr> factors;
  AddFactors(term, &factors);
  return factors;
}

std::optional<std::vector<IterVar>> StoredAt(const BlockNode& block, const StoreNode& store, bool fixed) {
  std::vector<IterVar> at;
  size_t constants = 0;
  for (const Expr& index : store.indices) {
    constants += fixed && AsInt(index) ? 1 : 0;
    for (const IterVar& iter : block.iter_vars) {
      if (index.same_as(iter.var) && iter.kind == IterKind::kSpatial && IsInt(iter.domain.min, 0)) at.push_back(iter);
    }
  }
  const auto spatial = std::count_if(block.iter_vars.begin(), block.iter_vars.end(),
                                     [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; });
  const auto reduce = std::count_if(block.iter_vars.begin(), block.iter_vars.end(),
                                    [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
  const bool all = at.size() + constants == store.indices.size() && static_cast<size_t>(spatial) == at.size() &&
                   reduce > 0 && static_cast<size_t>(spatial + reduce) == block.iter_vars.size();
  for (size_t i = 0; i < at.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (at[i].var.same_as(at[k].var)) return std::nullopt;
    }
  }
  return all ? std::optional(at) : std::nullopt;
}

bool Reads(const Expr& e, const Buffer& buffer) {
  bool reads = false;
  PreOrder(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    reads |= load != nullptr && load->buffer.same_as(buffer);
    return !reads;
  });
  return reads;
}

}  // namespace tilewright
