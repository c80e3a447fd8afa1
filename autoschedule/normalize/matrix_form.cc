#include "autoschedule/normalize/matrix_form.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "ir/analysis.h"

namespace tilewright {
namespace {

using Groups = std::vector<const std::vector<int>*>;

// Maps iterators to one number for each group, the first of a group outermost.
class Fusion {
 public:
  explicit Fusion(const BlockNode& block) {
    for (const IterVar& iter : block.iter_vars) {
      vars_.push_back(iter.var);
      extents_.push_back(*ExtentOf(iter));
    }
  }
  const std::vector<Var>& vars() const { return vars_; }

  std::vector<Expr> Outputs(const Groups& groups) const {
    std::vector<Expr> outputs;
    for (const std::vector<int>* group : groups) {
      Expr fused = 0;
      for (int iterator : *group) {
        const auto i = static_cast<size_t>(iterator);
        fused = iterator == group->front() ? Expr(vars_[i]) : fused * extents_[i] + vars_[i];
      }
      outputs.push_back(fused);
    }
    return outputs;
  }

 private:
  std::vector<Var> vars_;
  std::vector<int64_t> extents_;
};

// A copy of what the block reads of, or writes to, the buffer, with a dimension for each group.
Outcome<BlockRv> MakeCopy(Schedule& sch, BlockRv block, const Buffer& buffer, bool written, const Groups& groups) {
  const Block node = RealizeOf(sch, block).block;
  const auto& regions = written ? node->writes : node->reads;
  const auto region = std::ranges::find_if(regions, [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
  const Fusion fusion(*node);
  std::vector<Var> inputs;
  for (const Var& var : fusion.vars()) {
    if (std::ranges::any_of(region->region, [&](const Range& r) { return UsesVar(r.min, var); })) inputs.push_back(var);
  }
  const IndexMap layout(std::move(inputs), fusion.Outputs(groups));
  const Value which(Value::List{Value(written ? "write" : "read"), Value(static_cast<int>(region - regions.begin()))});
  TW_ASSIGN_OR_RETURN(const BlockRv copy, sch.Reindex(block, which, Value::List{}, /*skip_simplify=*/true));
  const Value copied(Value::List{Value(written ? "read" : "write"), Value(0)});
  TW_RETURN_IF_ERROR(sch.TransformLayout(copy, copied, layout));
  TW_RETURN_IF_ERROR(sch.TransformBlockLayout(copy, layout));
  return copy;
}

}  // namespace

std::optional<MatrixSizes> MatrixSizesOf(const BlockNode& block, const Contraction& contraction) {
  MatrixSizes sizes;
  bool constant = true;
  const auto multiply = [&](int64_t& size, const std::vector<int>& iterators) {
    for (int i : iterators) {
      const std::optional<int64_t> extent = ExtentOf(block.iter_vars[static_cast<size_t>(i)]);
      constant &= extent.has_value();
      size *= extent.value_or(1);
    }
  };
  multiply(sizes.batch, contraction.batch);
  multiply(sizes.m, contraction.rows);
  multiply(sizes.n, contraction.columns);
  multiply(sizes.k, contraction.inner);
  return constant ? std::optional(sizes) : std::nullopt;
}

Outcome<MatrixForm> BringIntoMatrixForm(Schedule& sch, BlockRv block, const Contraction& contraction,
                                        const std::array<int64_t, 3>& multiples, bool columns_by_depth) {
  const std::vector<int>&m = contraction.rows, &n = contraction.columns, &k = contraction.inner;
  const auto with_batch = [&](Groups groups) {
    if (!contraction.batch.empty()) groups.insert(groups.begin(), &contraction.batch);
    return groups;
  };
  MatrixForm form;
  form.product = block;
  TW_ASSIGN_OR_RETURN(form.rows, MakeCopy(sch, block, contraction.row_operand, false, with_batch({&m, &k})));
  const Groups columns = columns_by_depth ? Groups{&n, &k} : Groups{&k, &n};
  TW_ASSIGN_OR_RETURN(form.columns, MakeCopy(sch, block, contraction.column_operand, false, with_batch(columns)));
  TW_ASSIGN_OR_RETURN(form.output, MakeCopy(sch, block, contraction.output, true, with_batch({&m, &n})));
  const Fusion fusion(*RealizeOf(sch, block).block);
  TW_RETURN_IF_ERROR(
      sch.TransformBlockLayout(block, IndexMap(fusion.vars(), fusion.Outputs(with_batch({&m, &n, &k})))));
  const Block product = RealizeOf(sch, block).block;
  Value::List padding;
  bool pads = false;
  for (size_t i = 0; i < product->iter_vars.size(); ++i) {
    const size_t batches = product->iter_vars.size() - multiples.size();
    padding.emplace_back(i < batches ? int64_t{1} : multiples[i - batches]);
    pads |= *ExtentOf(product->iter_vars[i]) % *padding.back().As<int64_t>() != 0;
  }
  if (pads) TW_RETURN_IF_ERROR(sch.PadEinsumInPlace(block, padding));
  return form;
}

}  // namespace tilewright
