#include "examples/graph_mlp/mlp.h"

#include <map>

#include "base/check.h"
#include "base/status_macros.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/functor.h"
#include "graph/ir/parser.h"
#include "graph/rewrite/fuse_programs.h"
#include "graph/rewrite/legalize.h"
#include "graph/rewrite/pass.h"
#include "graph/rewrite/passes.h"
#include "graph/rewrite/standard_rules.h"

namespace tilewright::graph {
namespace {

const DataType kF32 = DataType::Float(32);

Constant Weights(std::vector<int64_t> shape, uint64_t seed) {
  const NDArray array(kF32, std::move(shape));
  FillUniform(array, seed, -0.1, 0.1);
  return Constant(array);
}

// multiply(a, b) + c becomes ewise_fma(a, b, c); the product stays, and is removed as dead code.
class EwiseFmaRewriter : public Mutator {
 public:
  using Mutator::Mutator;

 protected:
  absl::StatusOr<Value> MutateCall(const CallNode* call, const Value& self) override {
    if (call->op->name != "add") return self;
    const CallNode* product = CallOf(call->args[0], "multiply");
    if (product == nullptr) return self;
    return builder().CallOp("ewise_fma", {product->args[0], product->args[1], call->args[1]});
  }
};

Pass RulePass(const RewriteRule& rule, const OpTable& ops) {
  return {.name = rule.name, .opt_level = 2, .run = [rule, &ops](const GraphModule& m) -> absl::StatusOr<GraphModule> {
            TW_ASSIGN_OR_RETURN(RewriteResult result, ApplyRules({rule}, m, ops));
            return std::move(result.module);
          }};
}

// Keeps the module after each pass.
class Recorder : public PassInstrument {
 public:
  Recorder(std::map<std::string, std::string> files, std::vector<Step>* steps)
      : files_(std::move(files)), steps_(*steps) {}
  void After(const Pass& pass, const GraphModule&, const GraphModule& after, double) override {
    if (const auto it = files_.find(pass.name); it != files_.end()) steps_.push_back({it->second, after});
  }

 private:
  const std::map<std::string, std::string> files_;
  std::vector<Step>& steps_;
};

}  // namespace

GraphModule FashionMnistMlp(const OpTable& ops) {
  BlockBuilder b(&ops);
  const Var x("x", TensorType(kF32, {1, 784}));
  b.BeginFunction("main", {x});
  b.BeginDataflow();
  const Value hidden = b.CallOp("add", {b.CallOp("matmul", {x, Weights({784, 128}, 1)}), Weights({128}, 2)});
  const Value relu = b.CallOp("nn.relu", {hidden});
  const Value logits = b.CallOp("add", {b.CallOp("matmul", {relu, Weights({128, 10}, 3)}), Weights({10}, 4)});
  TW_CHECK(b.EndFunction(logits).ok()) << "the model is built from known shapes";
  return b.module();
}

absl::StatusOr<GraphModule> MultiplyAddModule(const OpTable& ops) {
  return ParseGraphModule(R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), dtype="float32"), y: R.Tensor((3, 4), dtype="float32")):
        with R.dataflow():
            lv0 = R.multiply(x, y)
            gv0 = R.add(lv0, y)
            R.output(gv0)
        return gv0
)",
                          "multiply_add.py", ops);
}

absl::StatusOr<GraphModule> RewriteByMutator(const GraphModule& module, const OpTable& ops) {
  BlockBuilder builder(&ops, module);
  EwiseFmaRewriter rewriter(&builder);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(rewriter.MutateFunction(entry.function).status());
  }
  return EliminateDeadCode(builder.module(), ops);
}

absl::StatusOr<std::vector<Step>> Walkthrough(const OpTable& ops, const LoweringTable& lowerings) {
  std::vector<Step> steps;
  TW_ASSIGN_OR_RETURN(GraphModule multiply_add, MultiplyAddModule(ops));
  steps.push_back({"1_multiply_add.py", multiply_add});
  TW_ASSIGN_OR_RETURN(RewriteResult fma, ApplyRules({MultiplyAddRule()}, multiply_add, ops));
  steps.push_back({"2_ewise_fma.py", std::move(fma.module)});

  const GraphModule mlp = FashionMnistMlp(ops);
  steps.push_back({"3_mlp.py", mlp});
  Recorder recorder({{"fused_dense_add", "4_fused_dense_add.py"},
                     {"LegalizeOps", "5_lowered.py"},
                     {"EliminateDeadCode", "6_one_program_each.py"}},
                    &steps);
  const std::vector<Pass> passes = {
      RulePass(FuseDenseAddRule(), ops),
      {.name = "LegalizeOps", .run = [&](const GraphModule& m) { return LegalizeOps(m, ops, lowerings); }},
      {.name = "FusePrograms",
       .opt_level = 2,
       .required = {"LegalizeOps"},
       .run = [&](const GraphModule& m) { return FusePrograms(m, ops); }},
      {.name = "EliminateDeadCode",
       .opt_level = 1,
       .run = [&](const GraphModule& m) { return EliminateDeadCode(m, ops); }},
  };
  TW_RETURN_IF_ERROR(RunPasses(passes, mlp, {.instruments = {&recorder}, .check = true}).status());
  return steps;
}

}  // namespace tilewright::graph
