#include "autoschedule/sketch/auto_schedule.h"

#include <gtest/gtest.h>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/script/trace_text.h"
#include "schedule/testing/equivalence.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

NDArray ArrayFor(const Buffer& buffer, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  NDArray array(buffer->dtype, std::move(shape));
  FillIntegers(array, seed);
  return array;
}

void RunWithAllChecks(const Function& function, const std::vector<interp::Argument>& arguments) {
  absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::Status status = program->Run(arguments);
  ASSERT_TRUE(status.ok()) << status;
}

// Schedules an operator over (activation, constant weight, output) and runs both forms on small integers. `refusals`:
// of sketches that are preferred.
void ExpectScheduledRight(const Function& op, const char* target_name, size_t refusals = 0) {
  const Target target = *NamedTarget(target_name);
  const Module module(MarkConstant(op, {1}));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(module, target, &intrins);
  ASSERT_EQ(result.refused.size(), refusals) << result.refused[0].ToString();
  const Function main = result.schedule.module().Find("main"), prepack = result.schedule.module().Find("main_prepack");
  ASSERT_TRUE(main);
  ASSERT_TRUE(prepack);
  for (const Function& function : {main, prepack}) {
    const VerifyResult verified = VerifyProgram(function);
    EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, function);
  }
  const NDArray activation = ArrayFor(op->params[0].buffer, 1), weight = ArrayFor(op->params[1].buffer, 2);
  const NDArray expected = ArrayFor(op->params[2].buffer, 3), actual = ArrayFor(op->params[2].buffer, 4);
  const NDArray packed = ArrayFor(prepack->params[1].buffer, 5);
  RunWithAllChecks(op, {activation, weight, expected});
  RunWithAllChecks(prepack, {weight, packed});
  RunWithAllChecks(main, {activation, packed, actual});
  EXPECT_TRUE(BitEqual(expected, actual));

  // The trace is an ordinary one: it gives the same program again.
  Schedule again(module, {.intrins = &intrins});
  ASSERT_TRUE(again.Replay(result.schedule.trace()).ok());
  EXPECT_EQ(StructuralHash(again.module()), StructuralHash(result.schedule.module()));
}

Function Convolution(int64_t extent, int64_t channels) {
  return ops::Conv({.spatial = {extent, extent},
                    .in_channels = channels,
                    .out_channels = channels,
                    .windows = ops::Same({3, 1, 1}, 2)});
}

TEST(AutoSchedule, Matmul) {
  ExpectScheduledRight(ops::Matmul(24, 64, 10), "x86-znver5");
  ExpectScheduledRight(ops::Matmul(24, 64, 10), "x86-haswell");
  ExpectScheduledRight(ops::BatchMatmul(2, 12, 32, 5, ops::OperandTypes::Float32(), true), "x86-znver4");
}

TEST(AutoSchedule, Convolution) {
  ExpectScheduledRight(
      ops::Conv({.spatial = {8, 8}, .in_channels = 3, .out_channels = 32, .windows = ops::Same({3, 1, 1}, 2)}),
      "x86-znver5");
  ExpectScheduledRight(
      ops::Conv({.spatial = {9, 9}, .in_channels = 4, .out_channels = 16, .windows = ops::Same({1, 2}, 2)}),
      "x86-znver4");
  ExpectScheduledRight(ops::Conv({.spatial = {16}, .in_channels = 3, .out_channels = 16, .windows = {{3, 1, 1}}}),
                       "x86-haswell");
}

TEST(AutoSchedule, EdgesThatNoTileDivides) {
  ExpectScheduledRight(ops::Matmul(23, 37, 7), "x86-znver5");
  ExpectScheduledRight(ops::Matmul(27, 131, 5), "x86-znver4");
  ExpectScheduledRight(ops::BatchMatmul(3, 10, 50, 7), "x86-haswell");
  ExpectScheduledRight(
      ops::Conv(
          {.batch = 2, .spatial = {11, 13}, .in_channels = 3, .out_channels = 19, .windows = ops::Same({5, 2, 2}, 2)}),
      "x86-znver5");
}

// What was tuned is the program that is compiled, with the rules again.
TEST(AutoSchedule, KeepsWhatIsScheduled) {
  const Target target = *NamedTarget("x86-sapphirerapids");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const Function& op : {ops::Matmul(64, 64, 64), Convolution(28, 64), Convolution(9, 4)}) {
    const Function main = AutoSchedule(Module(MarkConstant(op, {1})), target, &intrins).schedule.module().Find("main");
    const Function again = AutoSchedule(Module(main), target, &intrins).schedule.module().Find("main");
    EXPECT_TRUE(StructuralEqual(main, again));
  }
}

TEST(AutoSchedule, LeavesAloneWhatCannotBeVectorized) {
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {}, DataType::Float(32));
  Buffer b = f.Compute("B", {}, [&](const std::vector<Var>&) { return a.Load({}) + 1; });
  const Module module(f.Build({b}));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(module, *NamedTarget("x86-znver5"), &intrins);
  EXPECT_TRUE(result.left_alone.empty());
  EXPECT_TRUE(StructuralEqual(result.schedule.module(), module));
}

TEST(AutoSchedule, TakesTheUsersIntrinsicWhereItFits) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  // C[4] += A[4] * b: a product of a column with a scalar.
  ASSERT_TRUE(intrins
                  .LoadScript(R"(
@T.prim_func
def axpy_desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "float32", offset_factor=1)
    B = T.match_buffer(b, (1,), "float32", offset_factor=1)
    C = T.match_buffer(c, (4,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:1])
        T.writes(C[0:4])
        for i, j in T.grid(4, 1):
            with T.block("axpy"):
                vi, vj = T.axis.remap("SR", [i, j])
                C[vi] = C[vi] + A[vi] * B[vj]

@T.prim_func
def axpy_impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "float32", offset_factor=1, strides=[1])
    B = T.match_buffer(b, (1,), "float32", offset_factor=1, strides=[1])
    C = T.match_buffer(c, (4,), "float32", offset_factor=1, strides=[1])
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:1])
        T.writes(C[0:4])
        for i in range(4):
            C[i] = C[i] + A[i] * B[0]
)",
                              "axpy.py")
                  .ok());
  const Function op = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((6,), "float32"), B: T.Buffer((5,), "float32"), C: T.Buffer((6,), "float32")):
    for i, j in T.grid(6, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi] * B[vj]
)");
  const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-znver4"), &intrins);
  EXPECT_TRUE(result.refused.empty()) << result.refused[0].ToString();
  EXPECT_NE(ToText(result.schedule.trace()).find("axpy"), std::string::npos) << ToText(result.schedule.trace());
  EXPECT_TRUE(testing::SameResults(op, result.schedule.module().Main()));
}

// Constants that a vector is multiplied by lie in panels: rows of the matrix are far apart.
TEST(AutoSchedule, AVectorReadsConstantsInPanels) {
  const auto product = [](int columns) {
    const std::string n = std::to_string(columns);
    return ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((96,), "float32"), W: T.Buffer((96, )" +
                              n + R"(), "float32"), Y: T.Buffer(()" + n + R"(,), "float32")):
    for j, k in T.grid()" + n +
                              R"(, 96):
        with T.block("Y"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                Y[vj] = T.float32(0)
            Y[vj] = Y[vj] + X[vk] * W[vk, vj]
)");
  };
  ExpectScheduledRight(product(512), "x86-znver4", 1);
  ExpectScheduledRight(product(320), "x86-haswell", 1);
}

TEST(AutoSchedule, SaysWhyAContractionGetsNoTiles) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const DataType type = DataType::Float(64);
  const Module module(ops::Matmul(24, 64, 10, {type, type, type}));
  const AutoScheduled result = AutoSchedule(module, *NamedTarget("arm-neoverse-n1"), &intrins);
  ASSERT_EQ(result.refused.size(), 1u);
  EXPECT_EQ(result.refused[0].ToString(),
            "contraction_rule: the target has no tiles that multiply float64 by float64 and add in float64");
  // Another rule schedules it.
  EXPECT_TRUE(result.left_alone.empty());
  EXPECT_FALSE(StructuralEqual(result.schedule.module(), module));
}

TEST(AutoSchedule, LeavesBlocksAloneWhoseInstancesHaveAnOrder) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module module(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((12,), "float32"), Y: T.Buffer((13,), "float32")):
    for t in range(12):
        with T.block("Y"):
            vt = T.axis.spatial(12, t)
            Y[vt + 1] = X[vt] - Y[vt]
)"));
  const AutoScheduled result = AutoSchedule(module, *NamedTarget("cuda-sm90"), &intrins);
  ASSERT_EQ(result.left_alone.size(), 1u);
  EXPECT_EQ(result.left_alone[0].ToString(),
            "bind: instances of block Y that depend on each other by Y run in different iterations of a loop or block "
            "that is gone");
  EXPECT_TRUE(StructuralEqual(result.schedule.module(), module));
}

// The blocks of a step that runs again and again are vectorized, on one core unless a step is worth threads.
TEST(AutoSchedule, SchedulesBlocksInsideOfBlocks) {
  const Module module = ParseOrDie(R"(
@T.prim_func
def main(W: T.Buffer((64, 64), "float32"), X: T.Buffer((20, 64), "float32"), H: T.Buffer((64,), "float32")):
    for t in range(20):
        with T.block("step"):
            vt = T.axis.opaque(20, t)
            P = T.alloc_buffer((64,), "float32")
            for i, k in T.grid(64, 64):
                with T.block("product"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        P[vi] = T.float32(0)
                    P[vi] = P[vi] + W[vi, vk] * H[vk]
            for i in range(64):
                with T.block("state"):
                    vi = T.axis.spatial(64, i)
                    H[vi] = T.min(T.max(P[vi] + X[vt, vi], T.float32(-1)), T.float32(1))
)");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(module, *NamedTarget("x86-znver4"), &intrins);
  const Function before = module.Main(), after = result.schedule.module().Main();
  EXPECT_EQ(VerifyProgram(after).verdict(), Verdict::kProven) << Render(VerifyProgram(after), after);
  const std::string text = Print(after);
  EXPECT_NE(text.find("product_rf"), std::string::npos) << text;
  EXPECT_EQ(text.find("T.parallel"), std::string::npos) << text;
  EXPECT_LT(text.find("T.vectorized"), text.find("T.block(\"state\")")) << text;
  testing::ExpectEquivalent(before, after);
}

TEST(AutoSchedule, LongStepsRunOnAllCores) {
  const Module module = ParseOrDie(R"(
@T.prim_func
def main(W: T.Buffer((256, 512), "float32"), H: T.Buffer((256,), "float32")):
    for t in range(3):
        with T.block("step"):
            vt = T.axis.opaque(3, t)
            P = T.alloc_buffer((512,), "float32")
            for i, k in T.grid(512, 256):
                with T.block("product"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        P[vi] = T.float32(0)
                    P[vi] = P[vi] + W[vk, vi] * H[vk]
            for i in range(256):
                with T.block("state"):
                    vi = T.axis.spatial(256, i)
                    H[vi] = T.min(T.max(P[vi] + P[vi + 256], T.float32(-1)), T.float32(1))
)");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(module, *NamedTarget("x86-znver4"), &intrins);
  const Function after = result.schedule.module().Main();
  EXPECT_EQ(VerifyProgram(after).verdict(), Verdict::kProven) << Render(VerifyProgram(after), after);
  EXPECT_NE(Print(after).find("T.parallel"), std::string::npos) << Print(after);
  testing::ExpectEquivalent(module.Main(), after);
}

// Every query is of something that a later step uses.
TEST(AutoSchedule, TracesHoldNoUnusedQueries) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const Function& op : {ops::Matmul(64, 64, 64), Convolution(28, 64)}) {
    const Module module(MarkConstant(op, {1}));
    const AutoScheduled result = AutoSchedule(module, *NamedTarget("x86-znver4"), &intrins);
    const Trace& trace = result.schedule.trace();
    EXPECT_EQ(trace.instructions.size(), WithoutUnusedQueries(trace).instructions.size());
    EXPECT_EQ(ToText(trace).find("name=\"root\""), ToText(trace).rfind("name=\"root\"")) << ToText(trace);
  }
}

}  // namespace
}  // namespace tilewright
