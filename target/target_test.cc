#include "target/target.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright {
namespace {

TEST(Target, PresetsAreComplete) {
  for (const std::string& name : TargetNames()) {
    absl::StatusOr<Target> target = NamedTarget(name);
    ASSERT_TRUE(target.ok()) << name;
    EXPECT_EQ(target->name, name);
    EXPECT_TRUE(std::is_sorted(target->features.begin(), target->features.end())) << name;
    EXPECT_GE(target->cores, 1);
    EXPECT_FALSE(target->cpu.empty());
    EXPECT_GT(target->fma_latency, 0) << name;
    EXPECT_GT(target->clock_ghz, 0.5) << name;
    EXPECT_GT(target->memory_gbs, 0) << name;
    EXPECT_TRUE(target->bf16_dot_per_cycle == 0 || target->int8_dot_per_cycle >= target->bf16_dot_per_cycle) << name;
    if (target->kind == TargetKind::kCuda) {
      EXPECT_GE(target->max_shared_bytes_per_block, 64 << 10) << name;
      EXPECT_EQ(target->warp_size, 32);
    } else {
      EXPECT_GE(target->vector_bits, 128);
      EXPECT_GE(target->caches.size(), 2u);
      EXPECT_GE(target->caches[0].bytes, 16 << 10);
      EXPECT_GT(target->loads_per_cycle, 0) << name;
      EXPECT_GT(target->stores_per_cycle, 0) << name;
      EXPECT_GT(target->issue_per_cycle, 0) << name;
      for (size_t i = 1; i < target->caches.size(); ++i) {
        EXPECT_GT(target->caches[i].bytes_per_cycle, 0) << name;
        EXPECT_LE(target->caches[i].bytes_per_cycle, target->caches[i - 1].bytes_per_cycle) << name;
      }
    }
  }
}

TEST(Target, UnknownNameListsTheKnown) {
  absl::StatusOr<Target> target = NamedTarget("vax");
  ASSERT_FALSE(target.ok());
  const std::string message(target.status().message());
  EXPECT_NE(message.find("unknown target \"vax\"; known are host, x86-haswell"), std::string::npos) << message;
}

TEST(Target, RunsWhereAllFeaturesAre) {
  const Target haswell = *NamedTarget("x86-haswell"), zen4 = *NamedTarget("x86-znver4");
  EXPECT_TRUE(CheckRunsOn(haswell, haswell).ok());
  EXPECT_TRUE(CheckRunsOn(haswell, zen4).ok());
  EXPECT_TRUE(CheckRunsOn(HostTarget(), HostTarget()).ok());
  const std::string message(CheckRunsOn(zen4, haswell).message());
  EXPECT_EQ(message.find("this machine does not run code for x86-znver4: it lacks avx512"), 0u) << message;
  EXPECT_EQ(CheckRunsOn(*NamedTarget("cuda-sm90"), zen4).message(),
            "this machine does not run code for cuda-sm90: it is of another kind");
  EXPECT_FALSE(CheckRunsOn(haswell, *NamedTarget("arm-neoverse-n1")).ok());
}

TEST(Target, Features) {
  const Target zen4 = *NamedTarget("x86-znver4");
  EXPECT_TRUE(zen4.has("avx512bf16"));
  EXPECT_FALSE(zen4.has("amx-int8"));
  EXPECT_EQ(zen4.lanes(32), 16);
  EXPECT_EQ(zen4.bf16_dot_per_cycle, 32);  // twice the f32 rate
  EXPECT_EQ(zen4.int8_dot_per_cycle, 64);
  EXPECT_EQ(NamedTarget("x86-sapphirerapids")->int8_dot_per_cycle, 1024);
  EXPECT_EQ(NamedTarget("x86-haswell")->bf16_dot_per_cycle, 0);
  EXPECT_EQ(NamedTarget("cuda-sm90")->max_shared_bytes_per_block, 227 << 10);
  EXPECT_FALSE(NamedTarget("cuda-sm90")->has("wgmma"));
  EXPECT_TRUE(NamedTarget("cuda-sm90a")->has("wgmma"));
  EXPECT_NE(zen4.FeatureString().find("+avx512vnni"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
