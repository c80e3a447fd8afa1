#include "target/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

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
    EXPECT_GT(target->FmaLatency(), 0) << name;
    EXPECT_GT(target->FmaPerCycle(), 0) << name;
    EXPECT_GT(target->clock_ghz, 0.5) << name;
    EXPECT_GT(target->memory_gbs, 0) << name;
    const int bf16 = target->ProductsPerCycle("bfloat16");
    EXPECT_TRUE(bf16 == 0 || target->ProductsPerCycle("int8") >= bf16) << name;
    EXPECT_EQ(target->is_gpu(), target->kind == TargetKind::kCuda) << name;
    EXPECT_FALSE(target->levels.empty()) << name;
    for (const MemoryLevel& level : target->levels) {
      EXPECT_FALSE(level.name.empty()) << name;
      EXPECT_GT(level.usable_bytes, 0) << name;
      EXPECT_LT(level.usable_bytes, level.bytes) << name;
    }
    if (target->is_gpu()) {
      EXPECT_GE(target->gpu_part().max_shared_bytes_per_block, 64 << 10) << name;
      EXPECT_EQ(target->gpu_part().warp_size, 32);
      EXPECT_EQ(target->gpu_part().warpgroup_size, 128);
      EXPECT_EQ(target->Nearest().name, "L1") << name;
      EXPECT_EQ(target->Nearest().shared_by, 1) << name;
      EXPECT_EQ(target->Farthest().name, "L2") << name;
      EXPECT_GT(target->Farthest().bytes_per_cycle, 0) << name;
      EXPECT_EQ(target->Farthest().shared_by, target->cores) << name;
      // L1 and shared memory are one memory.
      EXPECT_GT(target->Nearest().bytes, target->gpu_part().shared_bytes_per_core) << name;
      EXPECT_EQ(target->gpu_part().max_cluster_blocks > 1, target->has("cluster")) << name;
      EXPECT_EQ(target->gpu_part().shared_fill_bytes_per_cycle > 0, target->has("tma")) << name;
      EXPECT_GT(target->gpu_part().launch_seconds, 0) << name;
      EXPECT_EQ(target->cpu_part(), CpuTarget()) << name;
    } else {
      const CpuTarget& cpu = target->cpu_part();
      EXPECT_GE(cpu.vector_bits, 128);
      EXPECT_GE(target->levels.size(), 2u);
      EXPECT_GE(target->Nearest().bytes, 16 << 10);
      EXPECT_GT(cpu.loads_per_cycle, 0) << name;
      EXPECT_GT(cpu.stores_per_cycle, 0) << name;
      EXPECT_GT(cpu.issue_per_cycle, 0) << name;
      EXPECT_GT(cpu.fork_join_seconds, 0) << name;
      EXPECT_EQ(target->gpu_part(), GpuTarget()) << name;
      for (size_t i = 1; i < target->levels.size(); ++i) {
        EXPECT_GT(target->levels[i].bytes_per_cycle, 0) << name;
        EXPECT_LE(target->levels[i].bytes_per_cycle, target->levels[i - 1].bytes_per_cycle) << name;
      }
    }
  }
}

// Sets an environment variable while it lives.
class ScopedCap {
 public:
  explicit ScopedCap(const char* value) {
    if (const char* old = std::getenv(kName)) old_ = old;
    setenv(kName, value, /*overwrite=*/1);
  }
  ~ScopedCap() { old_ ? setenv(kName, old_->c_str(), /*overwrite=*/1) : unsetenv(kName); }

 private:
  static constexpr char kName[] = "TILEWRIGHT_HOST_FEATURES";
  std::optional<std::string> old_;
};

#if defined(__x86_64__)
TEST(Target, HostShowsNoFeatureAboveItsCap) {
  const ScopedCap none("");
  const Target whole = HostTarget();
  const struct {
    const char* cap;
    const char* preset;
  } kCaps[] = {{"avx2", "x86-haswell"}, {"avx512", "x86-skylake-avx512"}, {"avx512vnni", "x86-cascadelake"}};
  for (const auto& [cap, preset] : kCaps) {
    const ScopedCap scoped(cap);
    const Target capped = NamedTarget("host").value();
    const std::vector<std::string> shown = NamedTarget(preset)->features;
    std::vector<std::string> expected;
    std::ranges::set_intersection(whole.features, shown, std::back_inserter(expected));
    EXPECT_EQ(capped.features, expected) << cap;
    if (capped.features == whole.features) continue;
    EXPECT_TRUE(capped.cpu.starts_with("x86-64-v")) << capped.cpu;
    EXPECT_EQ(capped.cpu_part().vector_registers, capped.has("avx512f") ? 32 : 16) << cap;
    EXPECT_EQ(capped.UnitFor("int8") != nullptr, capped.has("avx512vnni")) << cap;
  }
}
#endif

TEST(Target, UnknownCapIsRefusedByName) {
  const ScopedCap cap("vax");
  const absl::StatusOr<Target> host = NamedTarget("host");
  ASSERT_FALSE(host.ok());
  EXPECT_NE(host.status().message().find("TILEWRIGHT_HOST_FEATURES=vax: unknown; known are "), std::string::npos)
      << host.status().message();
  EXPECT_FALSE(HostTarget().has("avx512f"));
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
  EXPECT_EQ(zen4.ProductsPerCycle("bfloat16"), 32);  // twice the f32 rate
  EXPECT_EQ(zen4.ProductsPerCycle("int8"), 64);
  EXPECT_EQ(NamedTarget("x86-sapphirerapids")->ProductsPerCycle("int8"), 1024);
  EXPECT_EQ(NamedTarget("x86-haswell")->ProductsPerCycle("bfloat16"), 0);
  EXPECT_EQ(NamedTarget("cuda-sm90")->gpu_part().max_shared_bytes_per_block, 227 << 10);
  EXPECT_FALSE(NamedTarget("cuda-sm90")->has("wgmma"));
  const Target sm120 = *NamedTarget("cuda-sm120");
  EXPECT_EQ(sm120.gpu_part().max_shared_bytes_per_block, 99 << 10);
  EXPECT_TRUE(sm120.has("tma") && sm120.has("stmatrix") && sm120.has("mma"));
  EXPECT_FALSE(sm120.has("wgmma"));
  EXPECT_TRUE(NamedTarget("cuda-sm90a")->has("wgmma"));
  const Target h100 = *NamedTarget("cuda-sm90a"), h200 = *NamedTarget("cuda-h200");
  EXPECT_EQ(h200.cpu, h100.cpu);
  EXPECT_EQ(h200.features, h100.features);
  EXPECT_EQ(h200.gpu_part(), h100.gpu_part());
  EXPECT_EQ(h200.memory_gbs, 4800);
  EXPECT_EQ(h200.Farthest().bytes, 60 << 20);
  EXPECT_EQ(h200.ProductsPerCycle("bfloat16"), 2048);
  EXPECT_EQ(zen4.FmaPerCycle(), 1);
  EXPECT_EQ(NamedTarget("x86-sapphirerapids")->UnitFor("int8")->name, "matrix");
  EXPECT_EQ(zen4.UnitFor("int16")->name, "dot");
  EXPECT_EQ(zen4.UnitFor("float64"), nullptr);
  EXPECT_EQ(zen4.Near().name, "L2");
  EXPECT_EQ(zen4.Farthest().name, "L3");
  EXPECT_NE(zen4.FeatureString().find("+avx512vnni"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
