// Candidates that are right, wrong, or end their worker, through the real worker processes.
#include "autoschedule/measure/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_replace.h"
#include "autoschedule/database/apply_best.h"
#include "autoschedule/measure/protocol/add_one_testing.h"
#include "autoschedule/search/measured_record.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "intrin/registry.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

// The program with other text where it adds 1.
Module AddOne(std::string_view statement = "B[vi] = A[vi] + T.float32(1)") {
  return ParseOrDie(add_one::Text(1000, std::string(statement)));
}

std::unique_ptr<Runner> Start(const Module& program, RunnerOptions options = {}) {
  Target target = HostTarget();
  target.cores = 2;
  auto runner = LocalRunner::Start(program, target, options);
  EXPECT_TRUE(runner.ok()) << runner.status();
  return runner.ok() ? *std::move(runner) : nullptr;
}

const RunOptions kShort = {.seconds = 0.01};

TEST(Runner, MeasuresCandidatesInTurn) {
  const std::unique_ptr<Runner> runner = Start(AddOne());
  ASSERT_NE(runner, nullptr);
  const Module candidates[] = {AddOne(), AddOne("B[vi] = A[vi] + T.float32(1.0001)"), AddOne()};
  const std::vector<Measurement> results =
      runner->Run(candidates, {.half_width = 0, .seconds = 1, .most_samples = 5, .rounds = 3});
  EXPECT_EQ(results[0].seconds.size(), 15u);
  EXPECT_EQ(results[1].failure, MeasureFailure::kWrongResult);
  EXPECT_TRUE(results[1].seconds.empty());
  EXPECT_EQ(results[2].seconds.size(), 15u);
  // The library is still there: nothing is compiled, or that would have taken another time.
  const std::vector<Measurement> again = runner->Run({candidates, 1}, {.seconds = 1, .most_samples = 5});
  EXPECT_EQ(again[0].seconds.size(), 5u);
  EXPECT_EQ(again[0].compile_seconds, results[0].compile_seconds);
  EXPECT_EQ(results[2].compile_seconds, results[0].compile_seconds);
}

TEST(Runner, BadCandidatesCostOnlyThemselves) {
  const std::unique_ptr<Runner> runner = Start(AddOne(), {.run_timeout = 2});
  ASSERT_NE(runner, nullptr);
  const Module candidates[] = {
      AddOne(),
      AddOne("T.evaluate(T.call_extern(\"int32\", \"abort\"))"),
      AddOne(),
      AddOne("B[vi] = A[vi] + T.float32(1.0001)"),
      AddOne(),
      AddOne("T.evaluate(T.call_extern(\"int32\", \"pause\"))"),
      AddOne(),
      AddOne("T.evaluate(T.call_extern(\"int32\", \"no_such_function\"))"),
      ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
    C = T.alloc_buffer((100000000000,), "float32")
    for i in range(1000):
        with T.block("C"):
            vi = T.axis.spatial(1000, i)
            C[vi * 100000000] = A[vi]
    for i in range(1000):
        with T.block("B"):
            vi = T.axis.spatial(1000, i)
            B[vi] = C[vi * 100000000] + T.float32(1)
)"),
      ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((1000,), "float32")):
    for i in T.thread_binding(1000, thread="threadIdx.x"):
        A[i] = 1.0
)"),
      ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((1000,), "float32"), D: T.Buffer((1000,), "float32")):
    for i in range(1000):
        D[i] = A[i] + T.float32(1)
)"),
      AddOne(),
  };
  const std::vector<Measurement> results = runner->Run(candidates, kShort);
  const MeasureFailure expected[] = {
      MeasureFailure::kNone,   MeasureFailure::kCrash,        MeasureFailure::kNone,     MeasureFailure::kWrongResult,
      MeasureFailure::kNone,   MeasureFailure::kTimeout,      MeasureFailure::kNone,     MeasureFailure::kRunError,
      MeasureFailure::kMemory, MeasureFailure::kCompileError, MeasureFailure::kRunError, MeasureFailure::kNone,
  };
  ASSERT_EQ(results.size(), std::size(expected));
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].failure, expected[i]) << i << ": " << results[i].message;
    EXPECT_EQ(results[i].seconds.empty(), !results[i].ok()) << i;
  }
  EXPECT_LT(results[0].MedianSeconds(), 0.01);
  EXPECT_GT(results[0].code_bytes, 0);
  EXPECT_GT(results[0].compile_seconds, 0);
  EXPECT_THAT(results[1].message, HasSubstr("the worker ended with signal 6 (Aborted)"));
  EXPECT_THAT(results[3].message, HasSubstr("element 0 of B is "));
  EXPECT_THAT(results[5].message, HasSubstr("no answer within 2.01 seconds"));
  EXPECT_THAT(results[7].message, HasSubstr("no_such_function"));
  EXPECT_THAT(results[8].message, HasSubstr("no memory for "));
  EXPECT_THAT(results[9].message, HasSubstr("loop i is bound to threadIdx.x, which this CPU target does not support"));
  EXPECT_EQ(results[10].message, "parameter D is neither one of the program nor packed");
}

TEST(Runner, MeasuresWhatPacksItsConstantsAheadOfTime) {
  FunctionNode::Fields fields = MarkConstant(ops::Matmul(32, 32, 32), {1})->fields();
  fields.name = "multiply";
  const Module program{Function(fields)};
  Schedule schedule(program);
  const auto block = *schedule.GetBlock("C", "multiply");
  const auto packed = schedule.CacheRead(block, 1, "global");
  ASSERT_TRUE(packed.ok());
  ASSERT_TRUE(schedule.HoistPrepack(*packed).ok());
  const std::unique_ptr<Runner> runner = Start(program);
  ASSERT_NE(runner, nullptr);
  const Module candidates[] = {program, schedule.module()};
  const std::vector<Measurement> results = runner->Run(candidates, kShort);
  for (const Measurement& result : results) {
    EXPECT_TRUE(result.ok()) << result.message;
    EXPECT_GT(result.max_error, 0);
    EXPECT_LT(result.max_error, 1);
  }
  // What was measured is what the database gives back.
  const std::string path = testing::TempDir() + "/measured.db";
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
  auto database = Database::Open(path);
  ASSERT_TRUE(database.ok()) << database.status();
  const Target target = HostTarget();
  ASSERT_TRUE(database->Put(RecordOf(program, target, target.cores, schedule, results[1], nullptr)).ok());
  const auto best = ApplyBest(program, target, *database, nullptr);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_TRUE(StructuralEqual(best->module(), schedule.module()));
}

TEST(Runner, WhatPacksAheadOfTimeIsALibraryOfItsOwn) {
  const Module program(MarkConstant(ops::Matmul(32, 32, 32), {1}));
  Schedule schedule(program);
  const auto block = *schedule.GetBlock("C");
  const auto packed = schedule.CacheRead(block, 1, "global");
  ASSERT_TRUE(packed.ok() && schedule.HoistPrepack(*packed).ok());
  Schedule parallel = schedule;
  const auto loops = parallel.GetLoops(block);
  ASSERT_TRUE(loops.ok() && parallel.Parallel((*loops)[0]).ok());
  // The same main, and others of which each does not pack what it should.
  const auto packs = [&](std::string_view statement) {
    const std::string text = Print(schedule.module());
    constexpr char kCopy[] = "B_global[v0, v1] = B[v0, v1]";
    EXPECT_THAT(text, HasSubstr(kCopy));
    return ParseOrDie(absl::StrReplaceAll(text, {{kCopy, std::string(statement)}}));
  };
  const Module candidates[] = {
      schedule.module(),
      packs("B_global[v0, v1] = B[v0, v1] + T.float32(1)"),
      packs("T.evaluate(T.call_extern(\"int32\", \"abort\"))"),
      packs("T.evaluate(T.call_extern(\"int32\", \"no_such_function\"))"),
      parallel.module(),
  };
  const std::unique_ptr<Runner> runner = Start(program);
  ASSERT_NE(runner, nullptr);
  const std::vector<Measurement> results = runner->Run(candidates, kShort);
  EXPECT_TRUE(results[0].ok()) << results[0].message;
  EXPECT_EQ(results[1].failure, MeasureFailure::kWrongResult);
  EXPECT_EQ(results[2].failure, MeasureFailure::kCrash);
  EXPECT_EQ(results[3].failure, MeasureFailure::kRunError);
  EXPECT_THAT(results[3].message, HasSubstr("no_such_function"));
  EXPECT_TRUE(results[4].ok()) << results[4].message;
  // Both parts count.
  Module main = schedule.module();
  main.Remove("main_prepack");
  const Measurement without = runner->Run({&main, 1}, kShort)[0];
  EXPECT_LT(without.code_bytes, results[0].code_bytes);
}

TEST(Runner, MeasuresWhatTheRulesMake) {
  const ops::Window window{.kernel = 3, .padding = 1};
  const ops::ConvShape conv{
      .batch = 1, .spatial = {8, 8}, .in_channels = 16, .out_channels = 32, .windows = ops::Same(window, 2)};
  std::vector<Function> programs = {MarkConstant(ops::Conv(conv), {1}), ops::ConvBnRelu(conv),
                                    ops::Depthwise(1, 16, 16, 32, window), ops::Softmax(16, 100),
                                    ops::LayerNorm(16, 100)};
  for (const char* types : {"f32", "bf16", "u8s8", "s8s8"}) {
    programs.push_back(MarkConstant(ops::Matmul(64, 64, 64, *ops::OperandTypes::Parse(types)), {1}));
  }
  for (const Function& function : programs) {
    SCOPED_TRACE(Print(function));
    const Module program(function);
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const Module candidate = AutoSchedule(program, HostTarget(), &intrins).schedule.module();
    const std::unique_ptr<Runner> runner = Start(program);
    ASSERT_NE(runner, nullptr);
    const Measurement result = runner->Run({&candidate, 1}, kShort)[0];
    EXPECT_TRUE(result.ok()) << FailureName(result.failure) << ": " << result.message;
  }
}

TEST(Runner, ColdCachesAreSlower) {
  const std::unique_ptr<Runner> runner = Start(AddOne());
  ASSERT_NE(runner, nullptr);
  const Module candidate = AddOne();
  // Other processes may disturb one of the two; not time and again.
  double ratio = 0;
  for (int attempt = 0; attempt < 10 && ratio <= 2; ++attempt) {
    RunOptions options = {.seconds = 0.1};
    options.caches = Caches::kWarm;
    const Measurement warm = runner->Run({&candidate, 1}, options)[0];
    options.caches = Caches::kCold;
    const Measurement cold = runner->Run({&candidate, 1}, options)[0];
    ASSERT_TRUE(warm.ok() && cold.ok()) << warm.message << cold.message;
    ratio = cold.MedianSeconds() / warm.MedianSeconds();
  }
  EXPECT_GT(ratio, 2);
}

TEST(Runner, AHopelessCandidateRunsOnce) {
  const std::unique_ptr<Runner> runner = Start(AddOne());
  ASSERT_NE(runner, nullptr);
  // Ends the worker when it runs there again: that is the first of the C library's random numbers.
  const Module candidate = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
    if T.call_extern("int32", "rand") != 1804289383:
        T.evaluate(T.call_extern("int32", "abort"))
    for i in range(1000):
        B[i] = A[i] + T.float32(1)
)");
  RunOptions options{.seconds = 1e-8, .give_up_seconds = 1e-8};
  const Measurement once = runner->Run({&candidate, 1}, options)[0];
  EXPECT_TRUE(once.ok()) << once.message;
  EXPECT_EQ(once.seconds.size(), 1u);
  options.give_up_seconds = 0;
  EXPECT_EQ(runner->Run({&candidate, 1}, options)[0].failure, MeasureFailure::kCrash);
}

TEST(Runner, LeavesOutWhatIsOverALimit) {
  const std::unique_ptr<Runner> runner = Start(AddOne());
  ASSERT_NE(runner, nullptr);
  const Module candidate = AddOne();
  EXPECT_TRUE(runner->Run({&candidate, 1}, {.seconds = 0.01, .limits = {{kSpillsCounter, 0}}})[0].ok());
  if (HostTarget().kind != TargetKind::kX86) return;  // nothing is counted elsewhere
  const Measurement over = runner->Run({&candidate, 1}, {.seconds = 0.01, .limits = {{kSpillsCounter, -1}}})[0];
  EXPECT_EQ(over.failure, MeasureFailure::kOverLimit);
  EXPECT_EQ(over.message, "0 spills, at most -1 are allowed");
}

TEST(Runner, SaysWhatHasNoReference) {
  const auto started = LocalRunner::Start(AddOne("B[vi] = T.call_extern(\"float32\", \"sqrtf\", A[vi])"), HostTarget());
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_EQ((*started)->caution(),
            "no reference for a call of call_extern: candidates are compared with the program as it stands");
  const Module right = AddOne("B[vi] = T.call_extern(\"float32\", \"sqrtf\", A[vi])"), wrong = AddOne();
  EXPECT_TRUE((*started)->Run({&right, 1}, kShort)[0].ok());
  EXPECT_EQ((*started)->Run({&wrong, 1}, kShort)[0].failure, MeasureFailure::kWrongResult);
  EXPECT_EQ(std::string(LocalRunner::Start(Module(), HostTarget()).status().message()),
            "which function? there are several, and none is main");
}

TEST(Runner, MeasuresFunctionsOfScalars) {
  const Module program = ParseOrDie(R"(
@T.prim_func
def scale(factor: T.float32, p: T.int32, A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            v = T.axis.spatial(16, i)
            B[v] = A[v] * factor + A[p]
)");
  const auto started = LocalRunner::Start(program, HostTarget());
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_TRUE((*started)->Run({&program, 1}, kShort)[0].ok());
}

TEST(Runner, MeasuresFunctionsOfMemoryWithGaps) {
  const Module program = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((5, 6), "float32", strides=(8, 1)), O: T.Buffer((6, 5), "float32", strides=(9, 1))):
    for i, j in T.grid(6, 5):
        with T.block("o"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = A[vj, vi] + T.float32(1)
)");
  const auto started = LocalRunner::Start(program, HostTarget());
  ASSERT_TRUE(started.ok()) << started.status().message();
  const Measurement result = (*started)->Run({&program, 1}, kShort)[0];
  EXPECT_TRUE(result.ok()) << result.message;
}

}  // namespace
}  // namespace tilewright
