#include "graph/fusion/inline_chains.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "intrin/registry.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "target/target.h"

namespace tilewright::graph {
namespace {

// A step of a program: buffer[i, j] = value.
using Step = std::pair<std::string, std::string>;

// Elementwise steps over 5 by 13 elements, the last one of which stores Y.
std::string Program(const std::vector<Step>& steps) {
  std::string text =
      "@T.prim_func\n"
      "def main(X: T.Buffer((5, 13), \"float32\"), B: T.Buffer((13,), \"float32\"), Y: T.Buffer((5, 13), "
      "\"float32\")):\n";
  for (const Step& step : steps) {
    if (step.first != "Y") absl::StrAppend(&text, "    ", step.first, " = T.alloc_buffer((5, 13))\n");
  }
  for (const Step& step : steps) {
    absl::StrAppend(&text, "    for i, j in T.grid(5, 13):\n        with T.block(\"", step.first,
                    "\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            ", step.first,
                    "[vi, vj] = ", step.second, "\n");
  }
  return text;
}

std::vector<std::string> Blocks(const PrimFunc& program) {
  std::vector<std::string> names;
  PreOrder(program->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize != nullptr && realize->block->name != "root") names.push_back(realize->block->name);
    return true;
  });
  return names;
}

NDArray Interpret(const PrimFunc& program) {
  std::vector<NDArray> arrays;
  for (const Param& param : program->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value());
    arrays.emplace_back(param.buffer->dtype, shape);
    FillUniform(arrays.back(), arrays.size());
  }
  const auto compiled = interp::Compile(program, {.check_bounds = true});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  const std::vector<interp::Argument> arguments(arrays.begin(), arrays.end());
  const absl::Status status = compiled->Run(absl::MakeConstSpan(arguments));
  EXPECT_TRUE(status.ok()) << status;
  return arrays.back();
}

// The program keeps these blocks, and computes the same.
void ExpectBlocks(const std::string& text, const std::vector<std::string>& blocks) {
  const PrimFunc program = ParseFunctionOrDie(text), inlined = InlineChains(program);
  EXPECT_EQ(Blocks(inlined), blocks) << Print(inlined);
  EXPECT_TRUE(BitEqual(Interpret(program), Interpret(inlined))) << Print(inlined);
}

PrimFunc Scheduled(const PrimFunc& program) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const auto result = AutoSchedule(Module(program), *NamedTarget("x86-znver3"), &intrins);
  return result.schedule.module().Main();
}

TEST(InlineChains, ChainsBecomeOneBlock) {
  ExpectBlocks(Program({{"C", "T.tanh(X[vi, vj])"},
                        {"D", "C[vi, vj] + B[vj]"},
                        {"E", "D[vi, vj] * X[vi, vj]"},
                        {"Y", "T.exp(E[vi, vj])"}}),
               {"Y"});
}

TEST(InlineChains, RulesMakeTheSameOfBoth) {
  const PrimFunc program = ParseFunctionOrDie(Program({{"C", "T.exp(X[vi, vj])"},
                                                       {"D", "C[vi, vj] + B[vj]"},
                                                       {"E", "D[vi, vj] * D[vi, vj]"},
                                                       {"Y", "T.max(E[vi, vj], X[vi, vj])"}}));
  const PrimFunc inlined = InlineChains(program);
  EXPECT_EQ(Blocks(inlined), (std::vector<std::string>{"D", "Y"}));
  EXPECT_TRUE(StructuralEqual(Scheduled(program), Scheduled(inlined))) << Print(Scheduled(inlined));
}

// Squares of squares would have 2^n factors.
TEST(InlineChains, ValuesThatAreReadTwiceStay) {
  ExpectBlocks(Program({{"C", "X[vi, vj] + B[vj]"}, {"D", "C[vi, vj] * C[vi, vj]"}, {"Y", "D[vi, vj] * D[vi, vj]"}}),
               {"C", "D", "Y"});
  ExpectBlocks(Program({{"C", "T.exp(X[vi, vj])"}, {"D", "C[vi, vj] + B[vj]"}, {"Y", "C[vi, vj] * D[vi, vj]"}}),
               {"C", "Y"});
}

TEST(InlineChains, ValuesThatAreReadElsewhereStay) {
  ExpectBlocks(Program({{"C", "T.exp(X[vi, vj])"}, {"Y", "C[vi, 12 - vj]"}}), {"C", "Y"});
  ExpectBlocks(Program({{"C", "T.exp(X[vi, vj])"}, {"Y", "C[vi, 0]"}}), {"C", "Y"});
}

TEST(InlineChains, LongValuesStayInParts) {
  std::string sum = "X[vi, vj]";
  for (int k = 0; k < 90; ++k) absl::StrAppend(&sum, " + B[vj]");
  ExpectBlocks(Program({{"C", sum}, {"D", absl::StrCat("C[vi, vj] * B[vj] + ", sum)}, {"Y", "T.exp(D[vi, vj])"}}),
               {"C", "Y"});
}

TEST(InlineChains, ResultsAndReductionsStay) {
  ExpectBlocks(R"(
@T.prim_func
def main(X: T.Buffer((5, 13), "float32"), Z: T.Buffer((5, 13), "float32"), Y: T.Buffer((5,), "float32")):
    C = T.alloc_buffer((5, 13))
    for i, j in T.grid(5, 13):
        with T.block("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = T.exp(X[vi, vj])
    for i, j in T.grid(5, 13):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = Z[vi, vj] + T.float32(1)
    for i, j in T.grid(5, 13):
        with T.block("Y"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + C[vi, vj]
)",
               {"Z", "C", "Y"});
}

// Its operand has another value where the result is read.
TEST(InlineChains, ValuesWhoseOperandsChangeStay) {
  ExpectBlocks(R"(
@T.prim_func
def main(X: T.Buffer((13,), "float32"), Y: T.Buffer((13,), "float32")):
    A = T.alloc_buffer((13,))
    C = T.alloc_buffer((13,))
    for i in range(13):
        with T.block("A"):
            vi = T.axis.spatial(13, i)
            A[vi] = T.exp(X[vi])
    for i in range(13):
        with T.block("C"):
            vi = T.axis.spatial(13, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(13):
        with T.block("again"):
            vi = T.axis.spatial(13, i)
            A[vi] = T.float32(0)
    for i in range(13):
        with T.block("Y"):
            vi = T.axis.spatial(13, i)
            Y[vi] = C[vi] * A[vi]
)",
               {"A", "C", "again", "Y"});
}

TEST(InlineChains, ExtentsMayBeSymbolicAndParametersHaveUnitDimensions) {
  const PrimFunc program = InlineChains(ParseFunctionOrDie(R"(
@T.prim_func
def main(x: T.handle, y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (1, n))
    Y = T.match_buffer(y, (1, n))
    C = T.alloc_buffer((n,))
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = T.exp(X[0, vi])
    for i in range(n):
        with T.block("Y"):
            vi = T.axis.spatial(n, i)
            Y[0, vi] = C[vi] + T.float32(1)
)"));
  EXPECT_EQ(Blocks(program), std::vector<std::string>{"Y"}) << Print(program);
}

}  // namespace
}  // namespace tilewright::graph
