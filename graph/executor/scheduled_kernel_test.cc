#include "graph/executor/scheduled_kernel.h"

#include "gmock/gmock.h"
#include "graph/executor/kernel_pace.h"
#include "graph/fusion/canonical_program.h"
#include "gtest/gtest.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/ops/matmul.h"
#include "ir/script/printer.h"
#include "target/target.h"

namespace tilewright::graph {
namespace {

using testing::ElementsAre;

const DataType kFloat = DataType::Float(32);

// A residual product: `add` = x * w + `add`. Input and result have one name, as those of a graph's fused programs may.
PrimFunc ResidualProduct() {
  FunctionBuilder f("residual");
  const Buffer x = f.Input("x", {Expr(50), Expr(256)}, kFloat);
  const Buffer w = f.Input("w", {Expr(256), Expr(100)}, kFloat);
  const Buffer residual = f.Input("add", {Expr(50), Expr(100)}, kFloat);
  const Buffer product = ops::AddMatmul(f, x, w, kFloat, /*transposed=*/false);
  return f.Build({f.Compute("add", {Expr(50), Expr(100)}, [&](const std::vector<Var>& at) {
    return product(at[0], at[1]) + residual(at[0], at[1]);
  })});
}

std::vector<std::string> ParamNames(const PrimFunc& program) {
  std::vector<std::string> names;
  for (const Param& param : program->params) names.push_back(param.buffer->name);
  return names;
}

TEST(KernelPace, SaysHowFarAndWhy) {
  KernelPace kernel{.pace = {.seconds = 1.02e-3, .limit_seconds = 1.4e-6, .limiter = "latency", .slow = true}};
  EXPECT_EQ(kernel.ToString(), "1.02 ms, 729 times its speed of light of 1.4 us: limited by latency");
  kernel.why_not = "compute_at: no loop";
  kernel.pace.limit_seconds = 0;
  EXPECT_EQ(kernel.ToString(), "1.02 ms, which has nothing to move or to multiply: not scheduled: compute_at: no loop");
}

TEST(KernelPace, IsThatOfTheSchedule) {
  const PrimFunc program = CanonicalProgram(ResidualProduct());
  const Target target = *NamedTarget("x86-haswell");
  const auto scheduled = ScheduleKernel(program, {}, target, "");
  ASSERT_TRUE(scheduled.ok()) << scheduled.status();
  const ScheduledKernel written = AsWritten(program, target, "a reason");
  EXPECT_FALSE(scheduled->pace.slow()) << scheduled->pace.ToString();
  EXPECT_TRUE(written.pace.slow());
  EXPECT_EQ(written.pace.why_not, "a reason");
  EXPECT_GT(written.pace.pace.seconds, scheduled->pace.pace.seconds);
}

TEST(ScheduledKernel, ParametersOfCanonicalProgramsHaveDistinctNames) {
  const PrimFunc program = ResidualProduct();
  ASSERT_THAT(ParamNames(program), ElementsAre("x", "w", "add", "add"));
  EXPECT_THAT(ParamNames(CanonicalProgram(program)), ElementsAre("x", "w", "add", "add_1"));
}

TEST(ScheduledKernel, ExtentsFollowTheNamesOfTheirScalars) {
  const Var a("n", DataType::Int(64)), b("n", DataType::Int(64));
  FunctionBuilder f("sum");
  f.Input(Buffer("x", {Expr(1)}, kFloat));
  FunctionNode::Fields fields =
      f.Build({f.Compute("y", {Expr(a) + Expr(b)}, [&](Var) { return ConstFloat(kFloat, 1); })})->fields();
  fields.params.push_back({a, Buffer()});
  fields.params.push_back({b, Buffer()});
  const PrimFunc canonical = CanonicalProgram(PrimFunc(std::move(fields)));
  const Var second = canonical->params[3].var;
  EXPECT_EQ(second.name(), "n_1");
  EXPECT_TRUE(UsesVar(canonical->params[1].buffer->shape[0], second));
}

// The weights were packed again in every call where two parameters had one name.
TEST(ScheduledKernel, PacksConstantsOfProgramsWhoseParametersShareAName) {
  const auto kernel = ScheduleKernel(CanonicalProgram(ResidualProduct()), {false, true, false, false},
                                     *NamedTarget("x86-skylake-avx512"), /*database=*/"");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_FALSE(kernel->pack.empty());
  EXPECT_THAT(kernel->pack_params, ElementsAre(1, ~0));
  EXPECT_THAT(kernel->main_params, ElementsAre(0, ~0, 2, 3));
}

// What is not known of a program is not held against its schedule: the graph may know that both extents are equal.
TEST(ScheduledKernel, ProgramsThatAreNotProvenAreScheduled) {
  FunctionBuilder f("sum");
  const Var n("n", DataType::Int(64)), m("m", DataType::Int(64));
  const Buffer x = f.Input("x", {Expr(n), Expr(1024)}, kFloat), y = f.Input("y", {Expr(m), Expr(1024)}, kFloat);
  const PrimFunc program =
      f.Build({f.Compute("z", {Expr(n), Expr(1024)}, [&](Var i, Var j) { return x(i, j) + y(i, j); })});
  const auto kernel = ScheduleKernel(CanonicalProgram(program), {}, HostTarget(), /*database=*/"");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_THAT(Print(kernel->module), testing::HasSubstr("T.vectorized"));
}

}  // namespace
}  // namespace tilewright::graph
