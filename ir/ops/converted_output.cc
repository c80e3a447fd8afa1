#include "ir/ops/converted_output.h"

#include <utility>
#include <vector>

#include "ir/builder.h"

namespace tilewright::ops {

Function WithElementwiseOutput(const Function& function, const std::string& name,
                               const std::function<Expr(const Expr&)>& value) {
  const Buffer elements = function->params.back().buffer;
  FunctionBuilder f;
  Buffer output;
  const Stmt compute = f.Collect([&] {
    output = f.Compute(name, elements->shape,
                       [&](const std::vector<Var>& v) { return value(elements.Load({v.begin(), v.end()})); });
  });
  const auto* root = cast<BlockRealizeNode>(function->body);
  BlockNode::Fields block = root->block->fields();
  block.alloc_buffers.push_back(elements);
  block.body = Sequence({block.body, compute});
  FunctionNode::Fields fields = function->fields();
  fields.body = Realize({}, True(), Block(std::move(block)));
  fields.params.back() = {output->data, output};
  return Function(std::move(fields));
}

Function WithConvertedOutput(const Function& function, DataType to) {
  return WithElementwiseOutput(function, "convert", [&](const Expr& element) { return CastTo(to, element); });
}

}  // namespace tilewright::ops
