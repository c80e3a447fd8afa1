// The table "kind of fault x kernel": each fault that can be planted in a kernel
// (codegen/cuda/testing/planted_faults.h) is reported by the emulator, or the result is wrong. A right result does not
// hide what only other timing shows.
#include "codegen/cuda/testing/planted_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "base/files.h"
#include "codegen/cuda/testing/scheduled_kernels.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// Sites of a kind in one kernel that are tried, in equal distances.
constexpr size_t kMostSites = 6;

struct Row {
  const char *name, *program, *schedule, *target;  // without a schedule: by the rules, with these choices
  const char* faults;                              // kinds that have a site in it
  double tolerance = 0;                            // of the right result
  int64_t magnitude = 4;                           // of inputs
  // Changes of the program: it becomes so deep that each stage of a pipeline is used several times.
  cuda::testing::Edits edits = {};
  std::vector<Choice> choices = {};
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::string Script(const std::string& name) { return *ReadFile("examples/schedules/" + name + ".py"); }

Function ScheduledByRules(const Function& function, const Row& row) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::GivenOrPreferred(row.choices);
  const AutoScheduled result = AutoSchedule(Module(function), *NamedTarget(row.target), &intrins, choices);
  for (const RuleRefusal& refusal : result.refused) ADD_FAILURE() << refusal.ToString();
  return result.schedule.module().Main();
}

class PlantedFaults : public ::testing::TestWithParam<Row> {};
TEST_P(PlantedFaults, AreReported) {
  const Row& row = GetParam();
  std::string program = Script(row.program);
  for (const auto& [what, by] : row.edits) program = cuda::testing::Replaced(program, what, by);
  const Function scheduled = row.schedule == nullptr ? ScheduledByRules(ParseFunctionOrDie(program), row)
                                                     : cuda::testing::Scheduled(program, Script(row.schedule));
  const auto trial = cuda::testing::KernelTrial::Make(scheduled, row.target, row.magnitude);
  ASSERT_TRUE(trial.ok()) << trial.status();
  ASSERT_EQ(trial->Run(trial->program(), row.tolerance), "");
  std::vector<std::string> planted;
  for (const std::string_view kind : cuda::testing::FaultKinds()) {
    const auto faults = cuda::testing::PlantAndRun(*trial, kind, kMostSites, row.tolerance);
    if (faults.planted > 0) planted.emplace_back(kind);
    EXPECT_THAT(faults.missed, ::testing::IsEmpty()) << kind;
  }
  EXPECT_EQ(absl::StrJoin(planted, " "), row.faults);
}

// Faults of warpgroups whose operands come by bulk copies; where the sums go through fragments in shared memory, too.
constexpr char kBulk[] =
    "barrier wait parity commit fence swizzle descriptor early_release expect_bytes arrivals overlap "
    "grid_wait grid_order";
constexpr char kBulkOfFragments[] =
    "barrier wait parity commit fence swizzle descriptor fragment early_release expect_bytes arrivals overlap "
    "grid_wait grid_order";

// A product of f16 by the rules for warpgroups: tiles of m x n in three stages, and these choices.
Row ByWarpgroups(const char* name, const char* faults, int64_t m, int64_t n, std::vector<Choice> choices,
                 cuda::testing::Edits edits = {}) {
  choices.insert(
      choices.begin(),
      {{.name = "C.tile_m", .value = m}, {.name = "C.tile_n", .value = n}, {.name = "C.stages", .value = 3}});
  return {name, "half_matmul", nullptr, "cuda-sm90a", faults, 0, 4, std::move(edits), std::move(choices)};
}

// The second operand of a product is constant in all calls.
const cuda::testing::Edits kWeights = {
    {"\"float16\")):\n", "\"float16\")):\n    T.func_attr({\"tilewright.constant_params\": [1]})\n"}};

// Copies of weights into all stages but the one that the loop fills first come before the wait, others behind.
TEST(EarlyWeights, ComeBeforeTheWait) {
  const Row row = ByWarpgroups("", "", 64, 32, {Choice::Of("C.store", "lanes")}, kWeights);
  std::string program = Script(row.program);
  for (const auto& [what, by] : row.edits) program = cuda::testing::Replaced(program, what, by);
  const std::string text = cuda::testing::KernelText(ScheduledByRules(ParseFunctionOrDie(program), row), row.target);
  const size_t wait = text.find("tw::grid_dependency_wait();");
  ASSERT_NE(wait, std::string::npos);
  const auto loads_before = [&](const std::string& map) {
    int count = 0;
    for (size_t at = text.find(map + ", full"); at < wait; at = text.find(map + ", full", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(loads_before("&B_map"), 2);
  EXPECT_EQ(loads_before("&A_map"), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, PlantedFaults,
    ::testing::Values(
        Row{"shared_memory", "shared_matmul", "shared_matmul_schedule", "cuda-sm80", "barrier overlap"},
        Row{"pipeline", "pipelined_matmul", "pipelined_matmul_schedule", "cuda-sm80", "barrier overlap"},
        Row{"transpose", "shared_transpose", "shared_transpose_schedule", "cuda-sm80", "barrier"},
        Row{"lane_sums", "thread_gemv", "thread_gemv_schedule", "cuda-sm80", "barrier lane"},
        Row{"block_sums", "thread_softmax", "thread_softmax_schedule", "cuda-sm80", "barrier overlap lane", 1e-5,
            // Another element than the greatest of a row makes exponentials that overflow.
            1000000},
        Row{"mma",
            "mma_matmul",
            "mma_matmul_schedule",
            "cuda-sm80",
            "barrier wait commit fragment early_release overlap",
            0,
            4,
            {{"(128, 128), \"float16\"), B: T.Buffer((128, 128)", "(128, 320), \"float16\"), B: T.Buffer((320, 128)"},
             {"T.grid(128, 128, 128)", "T.grid(128, 128, 320)"}}},
        // By the rules: fragments from swizzled tiles, sums in registers.
        Row{"mma_by_rules",
            "half_matmul",
            nullptr,
            "cuda-sm80",
            "barrier wait commit swizzle fragment early_release overlap",
            0,
            4,
            {},
            {{.name = "C.tile_m", .value = 64},
             {.name = "C.tile_n", .value = 32},
             {.name = "C.tile_k", .value = 32},
             {.name = "C.warps_m", .value = 2},
             {.name = "C.warps_n", .value = 1},
             {.name = "C.stages", .value = 3}}},
        Row{"mma_attention", "mma_attention", "mma_attention_schedule", "cuda-sm80", "barrier fragment overlap lane",
            2e-3},
        Row{"wgmma_attention", "mma_attention", "wgmma_attention_schedule", "cuda-sm90a",
            "barrier wait commit fence swizzle descriptor overlap lane grid_wait grid_order", 2e-3},
        Row{"wgmma_async_copies", "wgmma_matmul", "wgmma_matmul_schedule", "cuda-sm90a",
            "barrier wait commit fence swizzle descriptor early_release overlap grid_wait grid_order"},
        Row{"wgmma_bulk_copies", "wgmma_matmul", "wgmma_matmul_bulk_schedule", "cuda-sm90a", kBulk},
        Row{"wgmma_roles_clusters",
            "hopper_matmul",
            "hopper_matmul_schedule",
            "cuda-sm90a",
            kBulk,
            0,
            4,
            {{"192", "576"}}},
        ByWarpgroups("wgmma_bulk_stores", kBulkOfFragments, 128, 64, {Choice::Of("C.store", "bulk")}),
        ByWarpgroups("wgmma_vector_stores", kBulkOfFragments, 128, 64, {Choice::Of("C.store", "vectors")}),
        ByWarpgroups("wgmma_clipped_stores", kBulk, 128, 64, {Choice::Of("C.store", "bulk")},
                     {{"256, 64", "200, 88"}, {"(448, 64)", "(448, 88)"}, {"(256, 448)", "(200, 448)"}}),
        // Blocks that stay for several tiles, of 7 steps in 3 stages each.
        ByWarpgroups("wgmma_turns", kBulk, 64, 32, {{.name = "C.turns", .value = 3}, Choice::Of("C.store", "lanes")}),
        ByWarpgroups("wgmma_turns_stores", kBulkOfFragments, 64, 32,
                     {{.name = "C.turns", .value = 3}, Choice::Of("C.store", "bulk")}),
        ByWarpgroups(
            "wgmma_turns_clusters", kBulkOfFragments, 64, 32,
            {{.name = "C.cluster", .value = 2}, {.name = "C.turns", .value = 2}, Choice::Of("C.store", "bulk")}),
        // Weights are loaded before the wait for the kernel in front.
        ByWarpgroups("wgmma_weights", kBulk, 64, 32, {Choice::Of("C.store", "lanes")}, kWeights),
        ByWarpgroups("wgmma_weights_clusters", kBulk, 64, 32,
                     {{.name = "C.cluster", .value = 2}, Choice::Of("C.store", "lanes")}, kWeights),
        Row{"wgmma_roles_pixels", "im2col_convolution", "im2col_convolution_schedule", "cuda-sm90a", kBulk}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright
