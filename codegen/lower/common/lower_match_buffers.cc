#include "codegen/lower/common/lower_match_buffers.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/scoped_mutator.h"
#include "ir/analysis.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Strides of a buffer in elements, as ElementOffset uses them.
std::vector<Expr> StridesOf(const Buffer& buffer) {
  if (!buffer->strides.empty()) return buffer->strides;
  std::vector<Expr> strides(buffer->ndim());
  Expr product = Expr(1);
  for (size_t d = buffer->ndim(); d-- > 0;) {
    strides[d] = product;
    product = product * buffer->shape[d];
  }
  return strides;
}

class MatchLowerer : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;
  const absl::Status& status() const { return status_; }

 protected:
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    if (op->block->match_buffers.empty()) return ScopedMutator::MutateBlockRealize(op, self);
    arith::Analyzer::Scope inside(&analyzer_);
    analyzer_.Assume(op->predicate);
    for (const MatchBuffer& match : op->block->match_buffers) Enter(*op->block, match);
    BlockNode::Fields fields = op->block->fields();
    fields.match_buffers.clear();
    fields.body = Mutate(fields.body);
    return Realize({}, Mutate(op->predicate), Block(std::move(fields)));
  }
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    auto it = values_.find(Var(op));
    return it == values_.end() ? self : it->second;
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    auto it = views_.find(op->buffer);
    if (it == views_.end()) return ScopedMutator::MutateLoad(op, self);
    return it->second.source.Load(it->second.Indices(MutateAll(op->indices)), Mutate(op->predicate));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    auto it = views_.find(op->buffer);
    if (it == views_.end()) return ScopedMutator::MutateStore(op, self);
    std::vector<Expr> indices = it->second.Indices(MutateAll(op->indices));
    return Store(it->second.source, Mutate(op->value), std::move(indices), Mutate(op->predicate));
  }

 private:
  struct View {
    Buffer source;
    std::vector<Expr> first;   // where the part begins, one per dimension of the source
    std::vector<size_t> dims;  // for each dimension of the view the source's
    std::vector<Expr> Indices(const std::vector<Expr>& indices) const {
      std::vector<Expr> result = first;
      for (size_t d = 0; d < indices.size(); ++d) result[dims[d]] = result[dims[d]] + indices[d];
      return result;
    }
  };

  void Fail(const BlockNode& block, const Buffer& view, const std::string& reason) {
    if (!status_.ok()) return;
    status_ =
        absl::InvalidArgumentError(absl::StrCat("block ", block.name, ": match_buffer ", view->name, ": ", reason));
  }
  void Require(const BlockNode& block, const Buffer& view, const Expr& condition, const char* what) {
    if (!analyzer_.CanProve(condition)) {
      Fail(block, view, absl::StrCat("cannot prove ", what));
    }
  }

  void Enter(const BlockNode& block, const MatchBuffer& match) {
    const Buffer& view = match.buffer;
    // The source may be a sub-buffer itself.
    BufferRegion region = MutateRegion(match.source);
    if (auto outer = views_.find(region.buffer); outer != views_.end()) region = Compose(outer->second, region);
    const Buffer& source = region.buffer;
    if (view->dtype != source->dtype) {
      return Fail(block, view,
                  absl::StrCat("type ", view->dtype.ToString(), " of a part of ", source->name, ", which has ",
                               source->dtype.ToString()));
    }
    if (!(view->scope == source->scope)) {
      return Fail(block, view,
                  absl::StrCat("scope \"", view->scope.text(), "\" of a part of ", source->name, ", which lies in \"",
                               source->scope.text(), "\""));
    }
    View lowered{source, {}, {}};
    for (const Range& range : region.region) lowered.first.push_back(range.min);
    lowered.dims.resize(view->ndim());
    // From the last dimension on; parts of one element may lack a dimension of their own.
    size_t next = view->ndim();
    for (size_t d = region.region.size(); d-- > 0;) {
      const Expr& extent = region.region[d].extent;
      if (next > 0 && analyzer_.CanProveEqual(Mutate(view->shape[next - 1]), extent)) {
        lowered.dims[--next] = d;
      } else if (!analyzer_.CanProveEqual(extent, Const(extent.dtype(), 1))) {
        return Fail(block, view, absl::StrCat("its shape differs from the part of ", source->name));
      }
    }
    for (; next > 0; --next) {
      if (!IsInt(view->shape[next - 1], 1) || source->ndim() == 0) {
        return Fail(block, view, absl::StrCat("its shape differs from the part of ", source->name));
      }
      lowered.dims[next - 1] = 0;
    }
    BindAttributes(block, view, lowered);
    views_[view] = std::move(lowered);
  }

  BufferRegion Compose(const View& outer, const BufferRegion& region) {
    BufferRegion result{outer.source, {}};
    for (const Expr& first : outer.first) result.region.push_back({first, Const(first.dtype(), 1)});
    for (size_t d = 0; d < region.region.size(); ++d) {
      Range& range = result.region[outer.dims[d]];
      range.min = range.min + region.region[d].min;
      range.extent = region.region[d].extent;
    }
    return result;
  }

  // Variables get their values; constants are compared.
  void BindAttributes(const BlockNode& block, const Buffer& view, const View& lowered) {
    values_[view->data] = lowered.source->data;
    auto bind = [&](const Expr& declared, const Expr& actual, const char* what) {
      if (!declared) return;
      if (const auto* var = dyn_cast<VarNode>(declared); var && !values_.contains(Var(var))) {
        values_[Var(var)] = CastTo(var->dtype(), actual);
      } else {
        Require(block, view, Mutate(declared) == actual, what);
      }
    };
    if (lowered.source->layout) return RefuseAddresses(block, view, lowered.source);
    const bool has_offset = view->elem_offset || view->offset_factor > 1;
    if (has_offset) {
      Expr offset = analyzer_.Simplify(ElementOffset(lowered.source, lowered.first));
      bind(view->elem_offset, offset, "the offset");
      if (view->offset_factor > 1) {
        Require(block, view, FloorMod(offset, Const(offset.dtype(), view->offset_factor)) == Const(offset.dtype(), 0),
                "that the offset is a multiple of offset_factor");
      }
    }
    if (view->strides.empty()) return;
    const std::vector<Expr> strides = StridesOf(lowered.source);
    for (size_t d = 0; d < view->ndim(); ++d) bind(view->strides[d], strides[lowered.dims[d]], "the stride");
  }

  // Elements of a buffer with a layout are reached by their indices alone.
  void RefuseAddresses(const BlockNode& block, const Buffer& view, const Buffer& source) {
    const auto is_used = [&](const Expr& declared) {
      const auto* var = dyn_cast<VarNode>(declared);
      return var == nullptr || UsesVar(block.body, Var(var));
    };
    if (view->offset_factor > 1 || (view->elem_offset && is_used(view->elem_offset))) {
      return Fail(block, view, absl::StrCat("its offset in ", source->name, ", which has a layout"));
    }
    if (std::ranges::any_of(view->strides, is_used)) {
      Fail(block, view, absl::StrCat("its strides in ", source->name, ", which has a layout"));
    }
  }

  absl::Status status_;
  VarMap values_;
  std::unordered_map<Buffer, View, IdentityHash, IdentityEqual> views_;
};

}  // namespace

absl::StatusOr<Function> LowerMatchBuffers(const Function& function) {
  MatchLowerer lowerer;
  Stmt body = lowerer.Mutate(function->body);
  if (!lowerer.status().ok()) return lowerer.status();
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
