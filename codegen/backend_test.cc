#include "codegen/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kTwice[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i] * T.float32(2)
)";

TEST(Backend, WritesEveryFormat) {
  const Module module = ParseOrDie(kTwice);
  const BackendRegistry registry = BackendRegistry::Builtin();
  for (const char* name : {"x86-znver4", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    const auto backend = registry.For(target);
    ASSERT_TRUE(backend.ok()) << backend.status();
    for (const std::string& format : (*backend)->formats()) {
      if (format == "so" && target.kind == TargetKind::kArm) continue;  // its linker may not be installed
      const auto artifact = Compile(module, target, {.format = format});
      ASSERT_TRUE(artifact.ok()) << artifact.status();
      EXPECT_THAT(artifact->entry_points, ElementsAre("main"));
      EXPECT_GT(artifact->bytes.size(), 100u);
      EXPECT_TRUE(artifact->counters.empty());
      if (format == "o" || format == "so")
        EXPECT_THAT(artifact->bytes, StartsWith("\x7f"
                                                "ELF"));
      if (format == "ll") EXPECT_THAT(artifact->bytes, HasSubstr("define"));
    }
  }
}

TEST(Backend, CountsWhereItIsAsked) {
  const Module module = ParseOrDie(kTwice);
  for (const char* format : {"o", "so", "s"}) {
    const auto artifact = Compile(module, *NamedTarget("x86-haswell"), {.format = format, .count = true});
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    EXPECT_EQ(artifact->counters, Counters({{kSpillsCounter, 0}}));
  }
}

TEST(Backend, RefusesTargetsAndFormatsByName) {
  const Module module = ParseOrDie(kTwice);
  const std::string none = "no back end of this build generates code for cuda-sm90";
  EXPECT_EQ(BackendRegistry().Compile(module, *NamedTarget("cuda-sm90"), {}).status().message(), none);
  EXPECT_EQ(BackendRegistry().CompileAndLoad(module, *NamedTarget("cuda-sm90"), {}).status().message(), none);
  EXPECT_EQ(Compile(module, *NamedTarget("cuda-sm90"), {.format = "o"}).status().message(),
            "code for cuda-sm90 is written as one of .so, .cu, .ptx, .cubin, not as .o");
  EXPECT_EQ(Compile(module, *NamedTarget("x86-haswell"), {.format = "ptx"}).status().message(),
            "code for x86-haswell is written as one of .o, .so, .ll, .s, not as .ptx");
}

TEST(Counters, OnlyThoseThatAreKnownAreLimited) {
  EXPECT_EQ(ExceededLimit({{"spills", 8}}, {{"spills", 8}}), std::nullopt);
  EXPECT_EQ(ExceededLimit({{"spills", 9}}, {{"registers", 1}}), std::nullopt);
  EXPECT_EQ(ExceededLimit({{"registers", 3}, {"spills", 17}}, {{"registers", 3}, {"spills", 8}}),
            "17 spills, at most 8 are allowed");
}

}  // namespace
}  // namespace tilewright
