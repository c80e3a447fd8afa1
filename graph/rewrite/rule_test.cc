#include "graph/rewrite/rule.h"

#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "graph/ir/basic_ops.h"
#include "graph/ir/parser.h"
#include "graph/ir/printer.h"
#include "graph/ir/structural.h"
#include "graph/ir/well_formed.h"
#include "graph/rewrite/basic_lowering.h"

namespace tilewright::graph {
namespace {

const DataType kF32 = DataType::Float(32);

class RuleTest : public testing::Test {
 protected:
  RuleTest() {
    AddBasicOps(&ops_);
    AddBasicLowerings(&lowerings_);
  }

  // Statements of a function main(x: (4, 4), y: (4, 4), z: (4, 4), c: bool).
  GraphModule Parse(const std::string& body) {
    const std::string type = "R.Tensor((4, 4), \"float32\")";
    const absl::StatusOr<GraphModule> module = ParseGraphModule(
        "@R.function\ndef main(x: " + type + ", y: " + type + ", z: " + type + ", c: R.Tensor((), \"bool\")):\n" + body,
        "graph.py", ops_);
    EXPECT_TRUE(module.ok()) << module.status().message();
    return module.ok() ? *module : GraphModule();
  }

  // How many bindings of main are the first root of a match.
  static int CountMatches(const GraphModule& module, const PatternGraph& pattern) {
    const Function main = module.Main();
    const FunctionUses uses(main);
    int count = 0;
    for (int block = 0; block < uses.num_blocks(); ++block) {
      for (const Binding& binding : uses.BindingsOf(block)) count += FindMatch(pattern, uses, binding).has_value();
    }
    return count;
  }
  int CountMatches(const std::string& body, const PatternGraph& pattern) {
    return CountMatches(Parse("    with R.dataflow():\n" + body + "        R.output(r)\n    return r\n"), pattern);
  }

  // a * b + c as one operation.
  static RewriteRule FmaRule() {
    const Pattern a = Wildcard(), b = Wildcard(), c = Wildcard();
    const Pattern product = IsOp("multiply", {a, b});
    return {.name = "Fma",
            .pattern = IsOp("add", {product, c}) | IsOp("add", {c, product}),
            .replacement = [=](RuleContext& r) -> absl::StatusOr<std::vector<Value>> {
              return std::vector<Value>{r.builder().CallOp("ewise_fma", {r.Of(a), r.Of(b), r.Of(c)})};
            },
            .example = [](std::mt19937_64& random, const OpTable& ops) -> absl::StatusOr<RuleExample> {
              BlockBuilder builder(&ops);
              std::vector<Var> params;
              RuleExample example;
              for (const char* name : {"a", "b", "c"}) {
                const NDArray array(kF32, {3, 4});
                FillUniform(array, random());
                params.emplace_back(name, TensorType(kF32, {3, 4}));
                example.arguments.emplace_back(array);
              }
              builder.BeginFunction("main", params);
              const Value product_value = builder.CallOp("multiply", {params[0], params[1]});
              const Value sum = random() % 2 ? builder.CallOp("add", {product_value, params[2]})
                                             : builder.CallOp("add", {params[2], product_value});
              TW_RETURN_IF_ERROR(builder.EndFunction(sum).status());
              example.module = builder.module();
              return example;
            }};
  }

  OpTable ops_;
  LoweringTable lowerings_;
};

TEST_F(RuleTest, InnerValuesAreUsedOnlyInside) {
  const Pattern inner = IsOp("multiply");
  const PatternGraph pattern = IsOp("add", {inner, Wildcard()});
  EXPECT_EQ(CountMatches("        p = R.multiply(x, y)\n        r = R.add(p, z)\n", pattern), 1);
  // Another reader, and the one value as both operands.
  EXPECT_EQ(CountMatches("        p = R.multiply(x, y)\n        q = R.add(p, z)\n        r = R.add(q, p)\n", pattern),
            0);
  EXPECT_EQ(CountMatches("        p = R.multiply(x, y)\n        r = R.add(p, p)\n", pattern), 0);
  EXPECT_EQ(CountMatches("        p = R.multiply(x, y)\n        q = R.add(p, z)\n        r = R.add(q, p)\n",
                         IsOp("add", {inner.Shared(), Wildcard()})),
            1);
  // An output of the function.
  const GraphModule output = Parse(
      "    with R.dataflow():\n        p = R.multiply(x, y)\n        r = R.add(p, z)\n        R.output(r, p)\n"
      "    return (r, p)\n");
  EXPECT_EQ(CountMatches(output, pattern), 0);
  // A reader in a branch.
  const GraphModule branch = Parse(
      "    with R.dataflow():\n        p = R.multiply(x, y)\n        r = R.add(p, z)\n        R.output(r, p)\n"
      "    if c:\n        q = R.exp(p)\n    else:\n        q = x\n    return (r, q)\n");
  EXPECT_EQ(CountMatches(branch, pattern), 0);
}

TEST_F(RuleTest, PatternsAndConditions) {
  const std::string body =
      "        p = R.sum(x, axis=[1], keepdims=True)\n"
      "        q = R.add(x, p)\n"
      "        s = R.split(q, indices_or_sections=[2], axis=0)\n"
      "        t = s[1]\n"
      "        u = R.concat((t, R.const([[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]], \"float32\")))\n"
      "        r = R.multiply(u, u)\n";
  const Pattern x = Wildcard();
  EXPECT_EQ(CountMatches(body, IsOp("multiply", {x, x})), 1);
  EXPECT_EQ(CountMatches(body, IsOp("add", {x, x})), 0);
  EXPECT_EQ(CountMatches(body, IsOp("add", {x, IsOp("sum", {x})})), 1);
  EXPECT_EQ(CountMatches(body, IsOp("add", {x, IsOp("sum", {x}).HasAttr("keepdims", true)})), 1);
  EXPECT_EQ(CountMatches(body, IsOp("add", {x, IsOp("sum", {x}).HasAttr("keepdims", false)})), 0);
  EXPECT_EQ(CountMatches(body, IsTupleGetItem(IsOp("split"))), 1);
  EXPECT_EQ(CountMatches(body, IsTupleGetItem(IsOp("split"), 0)), 0);
  EXPECT_EQ(CountMatches(body, IsOp("concat", {IsVar(), IsConst()})), 1);
  EXPECT_EQ(CountMatches(body, IsOp("concat", {IsVar(), IsSplat(2)})), 1);
  EXPECT_EQ(CountMatches(body, IsOp("concat", {IsVar(), IsSplat(3)})), 0);
  EXPECT_EQ(CountMatches(body, IsOp("concat", {IsVar(), !IsSplat(3)})), 1);
  EXPECT_EQ(CountMatches(body, IsOp("multiply") | IsOp("add")), 2);
  EXPECT_EQ(CountMatches(body, IsOp("sum").HasShape({Expr(4), Expr(1)}) | IsOp("add").HasShape({Expr(4), Expr(1)})), 1);
  EXPECT_EQ(CountMatches(body, IsOp("add") & IsOp("add", {Wildcard(), IsOp("sum")})), 1);
  EXPECT_EQ(CountMatches(body, IsOp("add").HasDtype(DataType::Float(16))), 0);
  EXPECT_EQ(CountMatches(body, IsOp("sum").HasRank(2)), 1);
  EXPECT_EQ(CountMatches("        t = (x, y)\n        r = t[0]\n", IsTupleGetItem(IsTuple({x, Wildcard()}), 0)), 1);
  EXPECT_EQ(ToString(IsOp("add", {IsOp("sum").HasAttr("keepdims", true), IsConst() | IsSplat(0)})),
            "add(sum(...){keepdims=True}, (const | 0.0))");
}

TEST_F(RuleTest, UsesAndSequences) {
  const std::string body =
      "        a = R.exp(x)\n        b = R.tanh(a)\n        d = R.negative(b)\n        e = R.add(b, x)\n"
      "        f = R.exp(y)\n        g = R.tanh(f)\n        h = R.negative(g)\n        i = R.add(e, h)\n        r = "
      "R.maximum(i, d)\n";
  // tanh has two readers on the left.
  EXPECT_EQ(CountMatches(body, PatternGraph::Sequence({IsOp("exp"), IsOp("tanh")})), 2);
  EXPECT_EQ(CountMatches(body, PatternGraph::Sequence({IsOp("exp"), IsOp("tanh"), IsOp("negative")})), 1);
  const Pattern tanh = IsOp("tanh").Shared(), negative = IsOp("negative");
  EXPECT_EQ(CountMatches(body, PatternGraph::Sequence({tanh, negative}, /*only=*/false)), 2);
  // Several roots, found by an edge and by what they share.
  const Pattern sum = IsOp("add");
  EXPECT_EQ(CountMatches(body, PatternGraph({IsOp("tanh"), sum}).UsedBy(tanh, sum)), 0);
  const Pattern p = IsOp("tanh"), q = IsOp("add");
  EXPECT_EQ(CountMatches(body, PatternGraph({p, q}).UsedBy(p, q, 0)), 1);
  EXPECT_EQ(CountMatches(body, PatternGraph({p, q}).UsedBy(p, q, 1)), 0);
  EXPECT_EQ(CountMatches(body, PatternGraph({p, q}).OnlyUsedBy(p, q)), 0);
}

TEST_F(RuleTest, FmaIsApplied) {
  const absl::StatusOr<RewriteResult> result = ApplyRules({FmaRule()}, Parse(R"(    with R.dataflow():
        p = R.multiply(x, y)
        q = R.add(z, p)
        s = R.multiply(q, y)
        t = R.add(s, x)
        u = R.multiply(t, t)
        r = R.add(u, u)
        R.output(r)
    return r
)"),
                                                          ops_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->applied.at("Fma"), 2);
  std::string why;
  EXPECT_TRUE(StructuralEqual(result->module, Parse(R"(    with R.dataflow():
        q = R.ewise_fma(x, y, z)
        t = R.ewise_fma(q, y, x)
        u = R.multiply(t, t)
        r = R.add(u, u)
        R.output(r)
    return r
)"),
                              &why))
      << why << Print(result->module).text;
}

TEST_F(RuleTest, RulesAreCheckedOnTheirExamples) {
  EXPECT_TRUE(CheckRule(FmaRule(), ops_, lowerings_, 1, 20).ok())
      << CheckRule(FmaRule(), ops_, lowerings_, 1, 20).message();
  RewriteRule wrong = FmaRule();
  const Pattern a = Wildcard(), b = Wildcard(), c = Wildcard();
  wrong.pattern = IsOp("add", {IsOp("multiply", {a, b}), c});
  wrong.replacement = [=](RuleContext& r) -> absl::StatusOr<std::vector<Value>> {
    return std::vector<Value>{r.builder().CallOp("ewise_fma", {r.Of(a), r.Of(c), r.Of(b)})};
  };
  EXPECT_FALSE(CheckRule(wrong, ops_, lowerings_, 1, 20).ok());
  wrong.replacement = [=](RuleContext& r) -> absl::StatusOr<std::vector<Value>> {
    return std::vector<Value>{r.builder().CallOp("sum", {r.Of(a)})};
  };
  const absl::Status status =
      ApplyRules({wrong}, Parse("    p = R.multiply(x, y)\n    r = R.add(p, z)\n    return r\n"), ops_).status();
  EXPECT_EQ(status.message(),
            "main: Fma changes a type from R.Tensor((4, 4), dtype=\"float32\") to R.Tensor((), dtype=\"float32\")");
}

TEST_F(RuleTest, EndlessRulesAreStopped) {
  const Pattern a = Wildcard(), b = Wildcard();
  const RewriteRule swap{.name = "Swap",
                         .pattern = IsOp("add", {a, b}),
                         .replacement = [=](RuleContext& r) -> absl::StatusOr<std::vector<Value>> {
                           return std::vector<Value>{r.builder().CallOp("add", {r.Of(b), r.Of(a)})};
                         }};
  EXPECT_EQ(ApplyRules({swap}, Parse("    r = R.add(x, y)\n    return r\n"), ops_, 5).status().message(),
            "Swap still matches in main after 5 rounds");
}

// Two products of one value become one: what the second reads is bound after the first.
TEST_F(RuleTest, SeveralRootsAreReplacedTogether) {
  const Pattern x = Wildcard(), w1 = Wildcard(), w2 = Wildcard();
  const Pattern first = IsOp("matmul", {x, w1}), second = IsOp("matmul", {x, w2});
  const RewriteRule merge{.name = "MergeProducts",
                          .pattern = PatternGraph({first, second}),
                          .replacement = [=](RuleContext& r) -> absl::StatusOr<std::vector<Value>> {
                            BlockBuilder& b = r.builder();
                            const Value weights = b.CallOp("concat", {r.Of(w1), r.Of(w2)}, {{"axis", 1}});
                            const Value both = b.CallOp("matmul", {r.Of(x), weights});
                            TW_ASSIGN_OR_RETURN(
                                const Var parts,
                                b.Emit(b.CallOp("split", {both}, {{"indices_or_sections", IntList{4}}, {"axis", 1}})));
                            return std::vector<Value>{TupleGetItem(parts, 0), TupleGetItem(parts, 1)};
                          }};
  const GraphModule module = Parse(R"(    with R.dataflow():
        p = R.matmul(x, y)
        u = R.exp(p)
        w = R.exp(z)
        q = R.matmul(x, w)
        r = R.add(u, q)
        R.output(r)
    return r
)");
  const absl::StatusOr<RewriteResult> result = ApplyRules({merge}, module, ops_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->applied.at("MergeProducts"), 1);
  EXPECT_TRUE(FindViolations(result->module).empty());
  std::vector<RuntimeValue> args;
  for (uint64_t i = 0; i < 3; ++i) {
    const NDArray array(kF32, {4, 4});
    FillIntegers(array, i);
    args.emplace_back(array);
  }
  args.emplace_back(NDArray(DataType::Bool(), {}));
  const absl::StatusOr<RuntimeValue> before = LegalizeAndRun(module, ops_, lowerings_, "main", args);
  const absl::StatusOr<RuntimeValue> after = LegalizeAndRun(result->module, ops_, lowerings_, "main", args);
  ASSERT_TRUE(before.ok() && after.ok()) << before.status().message() << after.status().message();
  EXPECT_TRUE(BitEqual(before->tensor, after->tensor));
  // The second product depends on the first: they cannot be one.
  const GraphModule chain = Parse(R"(    with R.dataflow():
        p = R.matmul(x, y)
        q = R.matmul(x, p)
        R.output(q)
    return q
)");
  const absl::StatusOr<RewriteResult> kept = ApplyRules({merge}, chain, ops_);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_TRUE(kept->applied.empty());
}

}  // namespace
}  // namespace tilewright::graph
