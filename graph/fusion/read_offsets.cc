#include "graph/fusion/read_offsets.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>

#include "graph/fusion/block_mutator.h"
#include "graph/fusion/program_form.h"
#include "ir/functor.h"

namespace tilewright::graph {
namespace {

// index = rest + offset
struct SplitIndex {
  Expr rest;
  int64_t offset = 0;
};

SplitIndex Split(const Expr& index) {
  if (!index.dtype().is_scalar()) return {index};
  if (const auto value = AsInt(index)) return {Const(index.dtype(), 0), *value};
  const auto* sum = dyn_cast<BinaryNode>(index);
  if (sum == nullptr) return {index};
  const auto value = AsInt(sum->b);
  if (value && sum->op == BinaryOp::kAdd) return {sum->a, *value};
  if (value && sum->op == BinaryOp::kSub) return {sum->a, -*value};
  return {index};
}

// Parameters whose loads have offsets.
std::unordered_set<const BufferNode*> OpenBuffers(const PrimFunc& program, const std::vector<int>& constants) {
  std::unordered_set<const BufferNode*> open;
  for (size_t i = 0; i < program->params.size(); ++i) {
    const bool is_constant = std::ranges::find(constants, static_cast<int>(i)) != constants.end();
    if (program->params[i].buffer && !is_constant) open.insert(program->params[i].buffer.get());
  }
  PreOrder(program->body, [&](const Stmt& stmt) {
    if (const auto* store = dyn_cast<StoreNode>(stmt)) open.erase(store->buffer.get());
    return true;
  });
  return open;
}

// Gives each index of an open buffer another one, in the order in which they are met.
class IndexReplacer : public BlockMutator {
 public:
  using Replace = std::function<Expr(const Expr& index, const SplitIndex& split)>;
  IndexReplacer(std::unordered_set<const BufferNode*> open, Replace replace)
      : open_(std::move(open)), replace_(std::move(replace)) {}

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const Expr mutated = BlockMutator::MutateLoad(op, self);
    const auto* load = cast<LoadNode>(mutated);
    if (!open_.contains(load->buffer.get())) return mutated;
    std::vector<Expr> indices;
    for (const Expr& index : load->indices) indices.push_back(replace_(index, Split(index)));
    return load->buffer.Load(std::move(indices));
  }

 private:
  const std::unordered_set<const BufferNode*> open_;
  const Replace replace_;
};

}  // namespace

ReadOffsets WithoutReadOffsets(const PrimFunc& program, const std::vector<int>& constants) {
  if (!IsRegular(program)) return {program, {}};
  ReadOffsets result;
  IndexReplacer replacer(OpenBuffers(program, constants), [&](const Expr&, const SplitIndex& split) {
    result.offsets.push_back(split.offset);
    return split.rest;
  });
  result.program = program.WithBody(replacer.Mutate(program->body), program->next_id);
  return result;
}

PrimFunc WithOffsetParameters(const PrimFunc& program, const std::vector<int>& constants,
                              const std::vector<int>& params) {
  std::vector<tilewright::Var> vars;
  size_t next = 0;
  IndexReplacer replacer(OpenBuffers(program, constants), [&](const Expr& index, const SplitIndex& split) {
    const int param = params[next++];
    if (param < 0) return index;
    const auto number = static_cast<size_t>(param);
    if (vars.size() <= number) vars.resize(number + 1);
    if (!vars[number]) vars[number] = tilewright::Var("offset" + std::to_string(number), index.dtype());
    const Expr offset = CastTo(index.dtype(), vars[number]);
    return AsInt(split.rest) == 0 ? offset : split.rest + offset;
  });
  tilewright::FunctionNode::Fields fields = program->fields();
  fields.body = replacer.Mutate(program->body);
  for (const tilewright::Var& var : vars) fields.params.push_back({var, Buffer()});
  return PrimFunc(std::move(fields));
}

}  // namespace tilewright::graph
