#include "graph/ir/functor.h"

#include <gtest/gtest.h>

#include "graph/ir/basic_ops.h"
#include "graph/ir/parser.h"
#include "graph/ir/printer.h"
#include "graph/ir/structural.h"
#include "graph/ir/well_formed.h"
#include "graph/testing/random_graph.h"

namespace tilewright::graph {
namespace {

class FunctorTest : public testing::Test {
 protected:
  FunctorTest() { AddBasicOps(&ops_); }
  OpTable ops_;
};

TEST_F(FunctorTest, NothingChangedIsTheSameFunction) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const GraphModule module = RandomGraph(seed, ops_);
    BlockBuilder builder(&ops_, module);
    Mutator identity(&builder);
    for (const ModuleEntry& entry : module.entries()) {
      if (!entry.function) continue;
      const absl::StatusOr<Function> same = identity.MutateFunction(entry.function);
      ASSERT_TRUE(same.ok()) << same.status().message();
    }
    std::string why;
    EXPECT_TRUE(StructuralEqual(module, builder.module(), &why)) << why << Print(builder.module()).text;
    EXPECT_EQ(StructuralHash(module.Main()), StructuralHash(builder.module().Main()));
  }
}

// Every call becomes a nested one of itself, twice: the mutator binds it (the builder shares it) and infers the types
// again.
TEST_F(FunctorTest, NestedCallsAreBound) {
  class Doubler : public Mutator {
   public:
    using Mutator::Mutator;

   protected:
    absl::StatusOr<Value> MutateCall(const CallNode*, const Value& self) override {
      return builder().CallOp("concat", {self, self}, {{"axis", 0}});
    }
  };
  const absl::StatusOr<GraphModule> module = ParseGraphModule(
      "@R.function\ndef main(x: R.Tensor((\"n\", 4), \"float32\")):\n    with R.dataflow():\n        a = R.exp(x)\n"
      "        b = R.tanh(a)\n        R.output(b)\n    return b\n",
      "graph.py", ops_);
  ASSERT_TRUE(module.ok()) << module.status().message();
  BlockBuilder builder(&ops_, *module, {.cse = true});
  ASSERT_TRUE(Doubler(&builder).MutateFunction(module->Main()).ok());
  EXPECT_TRUE(FindViolations(builder.module()).empty());
  EXPECT_EQ(Print(builder.module().Main()).text, R"(@R.function
def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n * 4", 4), dtype="float32"):
    n = T.int64()
    with R.dataflow():
        lv: R.Tensor((n, 4), dtype="float32") = R.exp(x)
        a: R.Tensor((n * 2, 4), dtype="float32") = R.concat((lv, lv), axis=0)
        lv1: R.Tensor((n * 2, 4), dtype="float32") = R.tanh(a)
        b: R.Tensor((n * 4, 4), dtype="float32") = R.concat((lv1, lv1), axis=0)
        R.output(b)
    return b
)");
}

TEST_F(FunctorTest, UsesAreCounted) {
  const absl::StatusOr<GraphModule> module = ParseGraphModule(
      "@R.function\ndef main(x: R.Tensor((4,), \"float32\"), c: R.Tensor((), \"bool\")):\n    a = R.exp(x)\n"
      "    b = R.add(a, a)\n    if c:\n        r = R.tanh(a)\n    else:\n        r = b\n    return (r, b)\n",
      "graph.py", ops_);
  ASSERT_TRUE(module.ok()) << module.status().message();
  const Function main = module->Main();
  const std::vector<Binding>& bindings = main->body->blocks[0].bindings;
  const std::unordered_map<const VarNode*, int> uses = CountUses(main);
  EXPECT_EQ(uses.at(bindings[0].var.get()), 3);  // twice in add, once in the branch
  EXPECT_EQ(uses.at(bindings[1].var.get()), 2);  // the result of a branch and of the function
}

}  // namespace
}  // namespace tilewright::graph
