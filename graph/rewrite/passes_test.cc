#include "graph/rewrite/passes.h"

#include <gtest/gtest.h>

#include <sstream>

#include "graph/ir/basic_ops.h"
#include "graph/ir/functor.h"
#include "graph/ir/infer.h"
#include "graph/ir/parser.h"
#include "graph/ir/printer.h"
#include "graph/ir/structural.h"
#include "graph/ir/well_formed.h"
#include "graph/pipeline.h"
#include "graph/rewrite/basic_lowering.h"
#include "graph/rewrite/fuse_programs.h"
#include "graph/rewrite/interpreter.h"
#include "graph/rewrite/legalize.h"
#include "graph/testing/random_graph.h"

namespace tilewright::graph {
namespace {

class PassesTest : public testing::Test {
 protected:
  PassesTest() {
    AddBasicOps(&ops_);
    const auto same = [](InferContext& c) { return c.TypeOfArg(0); };
    ops_.Add({.name = "noise", .params = {"x"}, .infer = same, .pure = false});
    AddBasicLowerings(&lowerings_);
    environment_ = {.ops = &ops_,
                    .lowerings = &lowerings_,
                    .folder = InterpreterFolder(&ops_, &lowerings_),
                    .target = HostTarget()};
  }

  GraphModule Parse(const std::string& text) {
    const absl::StatusOr<GraphModule> module = ParseGraphModule(text, "graph.py", ops_);
    EXPECT_TRUE(module.ok()) << module.status().message();
    return module.ok() ? *module : GraphModule();
  }
  // Statements of a function main(x: (n, 4), y: (n, 4), c: bool).
  GraphModule ParseBody(const std::string& body) {
    return Parse(
        "@R.function\ndef main(x: R.Tensor((\"n\", 4), \"float32\"), y: R.Tensor((\"n\", 4), \"float32\"), "
        "c: R.Tensor((), \"bool\")):\n" +
        body);
  }
  void ExpectSame(const absl::StatusOr<GraphModule>& module, const GraphModule& expected) {
    ASSERT_TRUE(module.ok()) << module.status().message();
    std::string why;
    EXPECT_TRUE(StructuralEqual(*module, expected, &why)) << why << "\n" << Print(*module).text;
  }

  OpTable ops_;
  LoweringTable lowerings_;
  PassEnvironment environment_;
};

TEST_F(PassesTest, CommonSubexpressions) {
  ExpectSame(EliminateCommonSubexpressions(ParseBody("    with R.dataflow():\n"
                                                     "        a = R.exp(x)\n"
                                                     "        b = R.exp(x)\n"
                                                     "        r = R.add(a, b)\n"
                                                     "        R.output(r)\n"
                                                     "    s = R.noise(x)\n"
                                                     "    t = R.noise(x)\n"
                                                     "    with R.dataflow():\n"
                                                     "        d = R.add(a, b)\n"
                                                     "        e = R.subtract(s, t)\n"
                                                     "        R.output(d, e)\n"
                                                     "    return (r, d, e)\n"),
                                           ops_),
             ParseBody("    with R.dataflow():\n"
                       "        a = R.exp(x)\n"
                       "        r = R.add(a, a)\n"
                       "        R.output(r, a)\n"
                       "    s = R.noise(x)\n"
                       "    t = R.noise(x)\n"
                       "    with R.dataflow():\n"
                       "        e = R.subtract(s, t)\n"
                       "        R.output(e)\n"
                       "    return (r, r, e)\n"));
}

TEST_F(PassesTest, DeadCode) {
  ExpectSame(EliminateDeadCode(ParseBody("    with R.dataflow():\n"
                                         "        a = R.exp(x)\n"
                                         "        b = R.tanh(a)\n"
                                         "        d = R.tanh(x)\n"
                                         "        R.output(a, b)\n"
                                         "    s = R.noise(x)\n"
                                         "    if c:\n"
                                         "        u = R.exp(y)\n"
                                         "        r = R.exp(a)\n"
                                         "    else:\n"
                                         "        r = x\n"
                                         "    if c:\n"
                                         "        q = R.exp(a)\n"
                                         "    else:\n"
                                         "        q = x\n"
                                         "    return r\n"),
                               ops_),
             ParseBody("    with R.dataflow():\n"
                       "        a = R.exp(x)\n"
                       "        R.output(a)\n"
                       "    s = R.noise(x)\n"
                       "    if c:\n"
                       "        r = R.exp(a)\n"
                       "    else:\n"
                       "        r = x\n"
                       "    return r\n"));
}

TEST_F(PassesTest, DeadParametersAndFunctions) {
  const std::string signature = "(x: R.Tensor((\"n\", 4), \"float32\"), y: R.Tensor((\"n\", 4), \"float32\")):\n";
  const GraphModule module = Parse("@R.function(private=True)\ndef unused" + signature +
                                   "    return x\n"
                                   "@R.function(private=True)\ndef inner" +
                                   signature +
                                   "    a = R.exp(y)\n"
                                   "    return a\n"
                                   "@R.function\ndef main" +
                                   signature +
                                   "    p = R.tanh(x)\n"
                                   "    r = cls.inner(p, y)\n"
                                   "    return r\n");
  ExpectSame(EliminateDeadCode(module, ops_), Parse("@R.function(private=True)\n"
                                                    "def inner(y: R.Tensor((\"n\", 4), \"float32\")):\n"
                                                    "    a = R.exp(y)\n"
                                                    "    return a\n"
                                                    "@R.function\ndef main" +
                                                    signature +
                                                    "    r = cls.inner(y)\n"
                                                    "    return r\n"));
}

TEST_F(PassesTest, ConstantsAreFolded) {
  ExpectSame(
      FoldConstants(ParseBody("    a = R.add(R.const([1.0, 2.0, 3.0, 4.0], \"float32\"), R.const(1.0, \"float32\"))\n"
                              "    b = R.multiply(x, a)\n"
                              "    s = R.concat((R.shape_to_tensor(R.shape([n])), R.const([-1], \"int64\")))\n"
                              "    t = R.add(R.const([2], \"int64\"), R.const([2], \"int64\"))\n"
                              "    u = R.reshape(b, R.concat((t, R.const([-1], \"int64\"))))\n"
                              "    v = R.noise(R.const([1.0], \"float32\"))\n"
                              "    w = R.broadcast_to(R.const([1.0], \"float32\"), R.shape([100]))\n"
                              "    return (u, s, v, w)\n"),
                    ops_, environment_.folder),
      ParseBody("    b = R.multiply(x, R.const([2.0, 3.0, 4.0, 5.0], \"float32\"))\n"
                "    s0 = R.shape_to_tensor(R.shape([n]))\n"
                "    s = R.concat((s0, R.const([-1], \"int64\")))\n"
                "    u = R.reshape(b, R.const([4, -1], \"int64\"))\n"
                "    v = R.noise(R.const([1.0], \"float32\"))\n"
                "    w = R.broadcast_to(R.const([1.0], \"float32\"), R.shape([100]))\n"
                "    return (u, s, v, w)\n"));
}

TEST_F(PassesTest, WhichPassesRun) {
  const auto nothing = [](const GraphModule& m) -> absl::StatusOr<GraphModule> { return m; };
  const std::vector<Pass> passes = {{.name = "A", .opt_level = 3, .run = nothing},
                                    {.name = "B", .opt_level = 1, .run = nothing},
                                    {.name = "C", .opt_level = 2, .required = {"A"}, .run = nothing},
                                    {.name = "D", .opt_level = 0, .run = nothing}};
  const auto names = [&](const PassContext& context) -> std::string {
    const absl::StatusOr<std::vector<Pass>> selected = SelectPasses(passes, context);
    if (!selected.ok()) return std::string(selected.status().message());
    std::string all;
    for (const Pass& pass : *selected) all += pass.name;
    return all;
  };
  EXPECT_EQ(names({.opt_level = 0}), "D");
  EXPECT_EQ(names({.opt_level = 1}), "BD");
  EXPECT_EQ(names({.opt_level = 2}), "ABCD");
  EXPECT_EQ(names({.opt_level = 2, .disabled = {"C"}}), "BD");
  EXPECT_EQ(names({.opt_level = 2, .disabled = {"A"}}), "pass A is disabled, but another one requires it");
  EXPECT_EQ(names({.disabled = {"E"}}), "there is no pass E to disable; the passes are A, B, C, D");
}

TEST_F(PassesTest, Instruments) {
  const GraphModule module = ParseBody("    a = R.exp(x)\n    b = R.exp(x)\n    r = R.add(a, b)\n    return r\n");
  PassTiming timing;
  std::ostringstream printed;
  PassPrinting printing(&printed, {"EliminateCommonSubexpressions"});
  const PassContext context{.opt_level = 1, .instruments = {&timing, &printing}, .check = true};
  const absl::StatusOr<GraphModule> result = RunPasses(GraphPasses(environment_), module, context);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(timing.entries().size(), 7u);
  EXPECT_EQ(timing.entries()[1].name, "EliminateCommonSubexpressions");
  EXPECT_EQ(printed.str(), R"(# after EliminateCommonSubexpressions
@R.function
def main(x: R.Tensor(("n", 4), dtype="float32"), y: R.Tensor(("n", 4), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(("n", 4), dtype="float32"):
    n = T.int64()
    a: R.Tensor((n, 4), dtype="float32") = R.exp(x)
    r: R.Tensor((n, 4), dtype="float32") = R.add(a, a)
    return r

)");
}

TEST_F(PassesTest, ErrorsNameThePass) {
  const Pass bad{.name = "Bad",
                 .run = [](const GraphModule&) -> absl::StatusOr<GraphModule> { return absl::InternalError("no"); }};
  EXPECT_EQ(RunPasses({bad}, GraphModule(), {}).status().message(), "Bad: no");
  const Pass breaks{.name = "Breaks", .run = [](const GraphModule& m) -> absl::StatusOr<GraphModule> {
                      GraphModule broken = m;
                      FunctionNode::Fields fields = m.Main()->fields();
                      fields.body = Seq(fields.body->blocks, fields.params[1]);
                      fields.params.pop_back();
                      fields.params.pop_back();
                      broken.Set(Function(std::move(fields)));
                      return broken;
                    }};
  EXPECT_EQ(RunPasses({breaks}, ParseBody("    return x\n"), {.check = true}).status().message(),
            "Breaks breaks the module: main: result: y is not visible here");
}

// Every pass and the whole pipeline keep what random graphs compute.
TEST_F(PassesTest, RandomGraphsKeepTheirResults) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const GraphModule module = RandomGraph(seed, ops_);
    const int64_t n = 3 + static_cast<int64_t>(seed % 2);
    std::vector<RuntimeValue> args;
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{n, 4}, {n, 4}, {n, 4}, {4, 4}}) {
      const NDArray array(DataType::Float(32), shape);
      FillUniform(array, seed * 10 + args.size());
      args.emplace_back(array);
    }
    const NDArray flag(DataType::Bool(), {});
    flag.SetInt(0, static_cast<int64_t>(seed / 2 % 2));
    args.emplace_back(flag);
    const absl::StatusOr<RuntimeValue> expected = LegalizeAndRun(module, ops_, lowerings_, "main", args);
    if (!expected.ok()) {
      EXPECT_EQ(expected.status().code(), absl::StatusCode::kInvalidArgument) << expected.status().message();
      continue;  // a guard does not hold
    }
    ++compared;
    std::vector<GraphModule> results;
    for (const Pass& pass : GraphPasses(environment_)) {
      const absl::StatusOr<GraphModule> result = RunPasses({pass}, module, {.check = true});
      ASSERT_TRUE(result.ok()) << result.status().message();
      results.push_back(*result);
    }
    // Level 2 may round differently.
    const absl::StatusOr<GraphModule> all =
        RunPasses(GraphPasses(environment_), module, {.opt_level = 1, .check = true});
    ASSERT_TRUE(all.ok()) << all.status().message();
    results.push_back(*all);
    const absl::StatusOr<GraphModule> fused = FusePrograms(*all, ops_);
    ASSERT_TRUE(fused.ok()) << fused.status().message();
    EXPECT_TRUE(FindViolations(*fused).empty());
    results.push_back(*fused);
    for (const GraphModule& result : results) {
      const absl::StatusOr<RuntimeValue> actual = LegalizeAndRun(result, ops_, lowerings_, "main", args);
      ASSERT_TRUE(actual.ok()) << actual.status().message() << Print(result).text;
      const std::vector<NDArray> a = TensorsOf(*expected), b = TensorsOf(*actual);
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(BitEqual(a[i], b[i])) << i << Print(result).text;
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace tilewright::graph
