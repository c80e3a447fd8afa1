#include "schedule/blocks/tensorize.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/blocks/blockize.h"
#include "schedule/blocks/match_description.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

constexpr const char* kName = "tensorize";

bool MentionsInCalls(const Stmt& body, const Var& data) {
  bool found = false;
  PreOrderExprs(body, [&](const Expr& e) {
    if (const auto* call = dyn_cast<CallNode>(e)) {
      for (const Expr& arg : call->args) found |= arg.get() == data.get();
    }
    return !found;
  });
  return found;
}

// The stride of dimension `d`, as an expression.
Expr StrideOf(const Buffer& buffer, size_t d) {
  if (!buffer->strides.empty()) return buffer->strides[d];
  Expr stride = Expr(1);
  for (size_t inner = d + 1; inner < buffer->ndim(); ++inner) stride = stride * buffer->shape[inner];
  return stride;
}

// A view of `matched` that stands for a parameter of the implementation.
class View {
 public:
  View(const TensorIntrin& intrin, uint32_t block, const BlockNode& root, const Buffer& param,
       const MatchedBuffer& matched, arith::Analyzer& analyzer)
      : intrin_(intrin), block_(block), root_(root), param_(param), matched_(matched), analyzer_(analyzer) {}

  Outcome<MatchBuffer> Make() {
    if (auto refusal = WhyOffsetIsWrong()) return *refusal;
    BufferNode::Fields fields = param_->fields();
    fields.data = Var(param_->data.name(), param_->data.dtype());
    if (fields.elem_offset && isa<VarNode>(fields.elem_offset)) {
      fields.elem_offset = Var(cast<VarNode>(fields.elem_offset)->name, fields.elem_offset.dtype());
    } else {
      fields.elem_offset = Var(param_->name + "_elem_offset");
    }
    if (auto refusal = SetStrides(fields)) return *refusal;
    BufferRegion source{matched_.buffer, {}};
    for (const Expr& first : matched_.origin) source.region.push_back({first, Const(first.dtype(), 1)});
    for (size_t k = 0; k < param_->ndim(); ++k) {
      Range& range = source.region[matched_.dims[k]];
      range.extent = CastTo(range.min.dtype(), param_->shape[k]);
    }
    return MatchBuffer{Buffer(std::move(fields)), std::move(source)};
  }

 private:
  Refusal Refuse(const char* reason, std::vector<Expr> exprs) const {
    return Refusal{kName, reason, {block_}, std::move(exprs), {intrin_.name, matched_.buffer->name}};
  }
  std::optional<Refusal> WhyOffsetIsWrong() const {
    if (param_->offset_factor <= 1) return std::nullopt;
    Expr offset = matched_.buffer->elem_offset ? matched_.buffer->elem_offset : Expr(0);
    for (size_t d = 0; d < matched_.origin.size(); ++d)
      offset = offset + matched_.origin[d] * StrideOf(matched_.buffer, d);
    offset = analyzer_.Simplify(offset);
    if (analyzer_.CanProveDivisible(offset, Expr(param_->offset_factor))) return std::nullopt;
    return Refuse("{text0} wants the offset of {text1} to be a multiple of {expr0}; it is {expr1}",
                  {Expr(param_->offset_factor), offset});
  }
  // Strides that the implementation names are new variables; those it fixes must be the buffer's.
  std::optional<Refusal> SetStrides(BufferNode::Fields& fields) const {
    auto actual = [&](size_t k) { return StrideOf(matched_.buffer, matched_.dims[k]); };
    if (fields.strides.empty()) {
      bool compact = true;
      Expr stride = Expr(1);
      for (size_t d = param_->ndim(); d-- > 0;) {
        compact &= IsInt(param_->shape[d], 1) || analyzer_.CanProveEqual(actual(d), stride);
        stride = stride * param_->shape[d];
      }
      if (compact) return std::nullopt;
      if (MentionsInCalls(root_.body, param_->data)) {
        return Refuse("{text0} takes {text1} to be compact; its stride is {expr0}", {analyzer_.Simplify(actual(0))});
      }
      for (size_t d = 0; d < param_->ndim(); ++d)
        fields.strides.push_back(Var(param_->name + "_s" + std::to_string(d)));
      return std::nullopt;
    }
    for (size_t d = 0; d < fields.strides.size(); ++d) {
      Expr& stride = fields.strides[d];
      if (const auto* var = dyn_cast<VarNode>(stride)) {
        stride = Var(param_->name + "_s" + std::to_string(d), var->dtype());
      } else if (!analyzer_.CanProveEqual(stride, actual(d))) {
        return Refuse("{text0} wants a stride of {text1} to be {expr0}; it is {expr1}",
                      {stride, analyzer_.Simplify(actual(d))});
      }
    }
    return std::nullopt;
  }

  const TensorIntrin& intrin_;
  const uint32_t block_;
  const BlockNode& root_;
  const Buffer& param_;
  const MatchedBuffer& matched_;
  arith::Analyzer& analyzer_;
};

// Pointers of parameters without an offset of their own count from the data; a view's data is the whole buffer's.
Stmt AddOffsets(const Stmt& body, const Buffer& param, const Expr& offset) {
  if (param->elem_offset && isa<VarNode>(param->elem_offset)) return body;  // substituted with the buffer
  return RewriteExprs(body, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    if (call == nullptr || call->op != kAccessPtr || call->args[1].get() != param->data.get()) return e;
    std::vector<Expr> args = call->args;
    args[2] = IsInt(args[2], 0) ? offset : offset + args[2];
    return Call(call->dtype(), call->op, std::move(args));
  });
}

Outcome<Function> Replace(const Function& function, const BlockRealizeNode& realize, const TensorIntrin& intrin) {
  const BlockNode& block = *realize.block;
  TW_ASSIGN_OR_RETURN(MatchedBuffers matched, MatchDescription(kName, block, intrin.description, intrin.name));
  arith::Analyzer analyzer;
  for (const IterVar& iter : block.iter_vars) analyzer.Bind(iter.var, iter.domain);

  BlockNode::Fields fields = block.fields();
  BlockNode::Fields root = cast<BlockRealizeNode>(intrin.implementation->body)->block->fields();
  BufferMap views;
  for (size_t i = 0; i < intrin.implementation->params.size(); ++i) {
    const Buffer& param = intrin.implementation->params[i].buffer;
    const auto found = matched.find(intrin.description->params[i].buffer);
    if (!param || found == matched.end()) {
      return Refusal{kName,
                     "the parameter {text1} of {text0} is not a buffer that its description accesses",
                     {block.id},
                     {},
                     {intrin.name, intrin.implementation->params[i].var.name()}};
    }
    TW_ASSIGN_OR_RETURN(MatchBuffer view,
                        View(intrin, block.id, *cast<BlockRealizeNode>(intrin.implementation->body)->block, param,
                             found->second, analyzer)
                            .Make());
    root.body = AddOffsets(root.body, param, view.buffer->elem_offset);
    views[param] = view.buffer;
    fields.match_buffers.push_back(view);
  }
  uint32_t next_id = function->next_id;
  root.reads.clear();
  root.writes.clear();
  const Stmt copy = CopyWithFreshNames(Substitute(Realize({}, True(), Block(std::move(root))), {}, views), &next_id);
  const BlockNode& implementation = *cast<BlockRealizeNode>(copy)->block;
  fields.alloc_buffers.insert(fields.alloc_buffers.end(), implementation.alloc_buffers.begin(),
                              implementation.alloc_buffers.end());
  fields.annotations.insert(implementation.annotations.begin(), implementation.annotations.end());
  // An init that is not described stays as it is.
  if (cast<BlockRealizeNode>(intrin.description->body)->block->init) fields.init = implementation.init;
  fields.body = implementation.body;
  const Stmt replacement = Realize(realize.bindings, realize.predicate, Block(std::move(fields)));
  return ReplaceIn(function, &realize, replacement, next_id);
}

}  // namespace

Outcome<TensorizeResult> Tensorize(const Function& function, uint32_t target, const TensorIntrin& intrin,
                                   bool preserve_unit_iters) {
  Function tiled = function;
  uint32_t block = target;
  if (FindLoop(function, target) != nullptr) {
    TW_ASSIGN_OR_RETURN(BlockizeResult blockized, Blockize(function, target, preserve_unit_iters));
    tiled = blockized.function;
    block = blockized.block;
  }
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, tiled, block));
  Outcome<Function> replaced = Replace(tiled, *cast<BlockRealizeNode>(path.back()), intrin);
  if (!replaced.ok()) {
    // The caller knows the function before it was blockized: name what it gave.
    Refusal refusal = replaced.refusal();
    if (block != target) refusal.objects[0] = BlocksBelow(FindPath(function, target).back())[0]->block->id;
    return refusal;
  }
  return TensorizeResult{*replaced, block};
}

}  // namespace tilewright
