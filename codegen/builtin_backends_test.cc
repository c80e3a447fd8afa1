// The back ends of this build: each description of a machine has one, and code of it is loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

constexpr char kTwice[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i] * T.float32(2)
)";

// Each of its formats has a name of its own.
TEST(BuiltinBackends, ServeEveryTarget) {
  const BackendRegistry registry = BackendRegistry::Builtin();
  for (const std::string& name : TargetNames()) {
    const Target target = *NamedTarget(name);
    const auto backend = registry.For(target);
    ASSERT_TRUE(backend.ok()) << backend.status();
    EXPECT_EQ((*backend)->name(), target.is_gpu() ? "cuda" : "llvm") << name;
    std::vector<std::string> formats = (*backend)->formats();
    std::ranges::sort(formats);
    EXPECT_TRUE(std::ranges::adjacent_find(formats) == formats.end()) << name;
  }
}

TEST(BuiltinBackends, LoadsCodeThatRuns) {
  const auto code = CompileAndLoad(ParseOrDie(kTwice), HostTarget());
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_NE((*code)->Find("main"), nullptr);
  EXPECT_EQ((*code)->Find("other"), nullptr);
  EXPECT_EQ((*code)->Run("other", {}).message(), "no function other");
}

}  // namespace
}  // namespace tilewright
