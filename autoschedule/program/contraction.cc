#include "autoschedule/program/contraction.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ir/analysis.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

// The load behind casts, or null.
const LoadNode* LoadOf(const Expr& e) {
  if (const auto* cast_node = dyn_cast<CastNode>(e)) return LoadOf(cast_node->value);
  return dyn_cast<LoadNode>(e);
}

bool Uses(const std::vector<Expr>& indices, const Var& var) {
  return std::any_of(indices.begin(), indices.end(), [&](const Expr& index) { return UsesVar(index, var); });
}

}  // namespace

Var LastColumn(const BlockNode& block, const StoreNode& store, const std::vector<Expr>& factors) {
  for (size_t d = store.indices.size(); d-- > 0;) {
    Var column;
    bool moves = false;
    for (const IterVar& iter : block.iter_vars) {
      if (!UsesVar(store.indices[d], iter.var)) continue;
      moves = true;
      const auto uses = [&](const Expr& factor) { return UsesVar(factor, iter.var); };
      if (std::ranges::any_of(factors, uses) && !std::ranges::all_of(factors, uses)) column = iter.var;
    }
    if (moves || !IsInt(store.buffer->shape[d], 1)) return column;
  }
  return Var();
}

absl::StatusOr<Contraction> MatchContraction(const BlockRealizeNode& realize) {
  const BlockNode& block = *realize.block;
  auto no = [&](absl::string_view why) { return absl::NotFoundError(absl::StrCat("block ", block.name, ": ", why)); };
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr) return no("its body is not a single store");
  if (!block.init) return no("it has no init");
  const std::optional<SumForm> sum = AsSum(block);
  if (!sum) return no("it does not add to its output");
  const auto* product = dyn_cast<BinaryNode>(sum->term);
  if (product == nullptr || product->op != BinaryOp::kMul) return no("what it adds is not a product");
  const LoadNode* first = LoadOf(product->a);
  const LoadNode* second = LoadOf(product->b);
  if (first == nullptr || second == nullptr) return no("a factor is not an element of a buffer");
  if (store->indices.empty()) return no("its output has no dimensions");

  const Var last_column = LastColumn(block, *store, {product->a, product->b});
  if (!last_column) return no("the last dimension of its output does not belong to exactly one factor");
  if (Uses(first->indices, last_column)) std::swap(first, second);

  Contraction result;
  result.block = block.id;
  result.row_operand = first->buffer;
  result.column_operand = second->buffer;
  result.output = store->buffer;
  result.product_type = store->value.dtype();
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    const bool in_output = Uses(store->indices, iter.var);
    const bool in_first = Uses(first->indices, iter.var), in_second = Uses(second->indices, iter.var);
    const bool reduce = iter.kind == IterKind::kReduce;
    if (iter.kind != IterKind::kSpatial && !reduce) return no("an iterator is neither spatial nor reduce");
    // What has one value is summed as well as any other: transform_block_layout makes it spatial.
    const bool unit = IsInt(iter.domain.extent, 1) && !in_output;
    if (in_output == reduce && !unit)
      return no("a spatial iterator is missing in its output, or a reduce iterator is in it");
    const int position = static_cast<int>(i);
    if (in_output && in_first && in_second) {
      result.batch.push_back(position);
    } else if (in_output && in_second) {
      result.columns.push_back(position);
    } else if (in_output) {
      result.rows.push_back(position);
    } else {
      result.inner.push_back(position);
    }
  }
  if (result.inner.empty()) return no("nothing is summed");
  // A product with a vector.
  if (result.rows.empty() && !Uses({store->indices.back()}, last_column)) {
    return no("the last dimension of its output is constant");
  }
  return result;
}

}  // namespace tilewright
