#include "target/target_json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_replace.h"

namespace tilewright {
namespace {

TEST(TargetJson, AllOfATargetIsReadBack) {
  for (const std::string& name : TargetNames()) {
    const Target target = *NamedTarget(name);
    const auto read = TargetFromJson(TargetToJson(target));
    ASSERT_TRUE(read.ok()) << name << ": " << read.status();
    EXPECT_EQ(*read, target) << TargetToJson(target);
  }
}

// What a worker is told is what was changed, not the preset of that name.
TEST(TargetJson, ChangesAreKept) {
  Target target = *NamedTarget("x86-znver4");
  target.levels[1].bytes_per_cycle = 31.25;
  target.units[0].latency = 7;
  target.mutable_cpu_part().fork_join_seconds = 1e-5;
  target.memory_gbs = 12.5;
  EXPECT_EQ(*TargetFromJson(TargetToJson(target)), target);
}

std::string MessageOf(const std::string& from, const std::string& to, const char* preset = "x86-znver4") {
  const std::string text = TargetToJson(*NamedTarget(preset));
  const std::string changed = absl::StrReplaceAll(text, {{from, to}});
  EXPECT_NE(changed, text) << from;
  const auto read = TargetFromJson(changed);
  return read.ok() ? "" : std::string(read.status().message());
}

TEST(TargetJson, MistakesAreNamed) {
  EXPECT_EQ(TargetFromJson("[]").status().message(), "target description: the text is not a JSON object");
  EXPECT_EQ(TargetFromJson("{").status().message(), "target description: the text is not a JSON object");
  EXPECT_EQ(MessageOf("\"x86\"", "\"vax\""), "target description: \"kind\" must be one of x86, arm, cuda");
  EXPECT_EQ(MessageOf("\"cores\"", "\"coers\""), "target description: \"cores\" is missing");
  EXPECT_EQ(MessageOf("\"cores\"", "\"more\": 1, \"cores\""),
            "target description: \"\" has a member that is not known");
  EXPECT_EQ(MessageOf("\"cores\": 2", "\"cores\": \"2\""), "target description: \"cores\" has a wrong value: \"2\"");
  EXPECT_EQ(MessageOf("\"cores\": 2", "\"cores\": 0"), "target description: \"cores\" must be positive");
  EXPECT_EQ(MessageOf("\"cores\": 2", "\"cores\": 100000"), "target description: \"cores\" must be at most 1024");
  EXPECT_EQ(MessageOf("\"cores\": 2", "\"cores\": -2"), "target description: \"cores\" has a wrong value: -2");
  EXPECT_EQ(MessageOf("\"bytes\": 32768", "\"bytes\": 1e300"),
            "target description: \"levels[0].bytes\" has a wrong value: 1e+300");
  EXPECT_EQ(MessageOf("\"bytes\": 32768", "\"bytes\": 64"),
            "target description: \"L1.usable_bytes\" is more than its bytes");
  EXPECT_EQ(MessageOf("\"ways\": 8", "\"ways\": 100000"), "target description: \"L1.ways\" is too many");
  EXPECT_EQ(MessageOf("\"levels\"", "\"lovels\""), "target description: \"levels\" is not a list");
  EXPECT_EQ(MessageOf("\"vector_bits\": 512", "\"vector_bits\": 500"),
            "target description: \"cpu_part.vector_bits\" must be a power of two from 64 to 2048");
  EXPECT_EQ(MessageOf("\"cpu_part\"", "\"gpu_part\""), "target description: \"cpu_part\" is missing");
  EXPECT_EQ(MessageOf("\"float32\"", "\"float33\""),
            "target description: \"units\" has no unit for a vector of float32");
  EXPECT_EQ(MessageOf("\"warp_size\": 32", "\"warp_size\": 0", "cuda-sm90"),
            "target description: \"gpu_part.warp_size\" must be positive");
  EXPECT_EQ(MessageOf("\"warpgroup_size\": 128", "\"warpgroup_size\": 100", "cuda-sm90"),
            "target description: \"gpu_part.warpgroup_size\" must be a multiple of warp_size");
  EXPECT_EQ(MessageOf("[2147483647,65535,65535]", "[2147483647,0,65535]", "cuda-sm90"),
            "target description: \"gpu_part.max_grid_dims\" must be positive");
  // Copying or printing the value would take stack for each level.
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(MessageOf("\"cores\": 2", "\"cores\": " + deep),
            "target description: \"cores\" has a wrong value: [[[[[[[[[]]]]]]]]]");
}

// What rules read of the nearest level and of the farthest one.
TEST(TargetJson, GpusHaveLevels) {
  Target target = *NamedTarget("cuda-sm90");
  target.levels.erase(target.levels.begin());
  EXPECT_EQ(TargetFromJson(TargetToJson(target)).status().message(),
            "target description: \"L2.shared_by\" must be 1: the first level of a GPU is that of each core");
  target.levels.clear();
  EXPECT_EQ(TargetFromJson(TargetToJson(target)).status().message(),
            "target description: \"levels\" is empty: a GPU has the level of each core, L1, and those behind it");
}

TEST(TargetJson, FilesAreTargets) {
  const std::string path = ::testing::TempDir() + "/target_" + std::to_string(getpid()) + ".json";
  Target target = *NamedTarget("x86-znver4");
  target.name = "mine";
  std::ofstream(path) << TargetToJson(target);
  const auto read = NamedTarget(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, target);
  std::ofstream(path) << "{}";
  EXPECT_EQ(NamedTarget(path).status().message(),
            path + ": target description: \"kind\" must be one of x86, arm, cuda");
  std::remove(path.c_str());
  EXPECT_EQ(NamedTarget(path).status().message(), "cannot read " + path);
}

}  // namespace
}  // namespace tilewright
