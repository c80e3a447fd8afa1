// Windows that begin a few elements apart: their rows are vectors, and results are those of the program as it was
// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/parse_or_die.h"
#include "schedule/script/trace_text.h"
#include "schedule/testing/equivalence.h"
#include "target/target.h"

namespace tilewright {
namespace {

struct Window {
  int size, stride, row;  // elements along each side, between neighbours, results in a row
};

Function Pooling(const Window& window, const char* type) {
  const auto inputs = [&](int results) { return absl::StrCat((results - 1) * window.stride + window.size); };
  return ParseFunctionOrDie(absl::StrReplaceAll(R"(
@T.prim_func
def main(X: T.Buffer((3, H, W), "TYPE"), Y: T.Buffer((3, 5, ROW), "TYPE")):
    for c, i, j, ri, rj in T.grid(3, 5, ROW, SIZE, SIZE):
        with T.block("Y"):
            vc, vi, vj, vri, vrj = T.axis.remap("SSSRR", [c, i, j, ri, rj])
            with T.init():
                Y[vc, vi, vj] = T.min_value("TYPE")
            Y[vc, vi, vj] = T.max(Y[vc, vi, vj], X[vc, vi * STRIDE + vri, vj * STRIDE + vrj])
)",
                                                {{"H", inputs(5)},
                                                 {"W", inputs(window.row)},
                                                 {"ROW", absl::StrCat(window.row)},
                                                 {"SIZE", absl::StrCat(window.size)},
                                                 {"STRIDE", absl::StrCat(window.stride)},
                                                 {"TYPE", type}}));
}

TEST(StridedWindows, RunOnVectors) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const char* name : {"x86-znver4", "x86-haswell", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    for (const char* type : {"float32", "float16", "int8"}) {
      for (const Window& window : {Window{2, 2, 32}, Window{3, 2, 17}, Window{3, 3, 40}, Window{5, 4, 24}}) {
        SCOPED_TRACE(absl::StrCat(name, " ", type, " ", window.size, " ", window.stride, " ", window.row));
        const Function before = Pooling(window, type);
        const AutoScheduled result = AutoSchedule(Module(before), target, &intrins);
        EXPECT_TRUE(result.left_alone.empty());
        EXPECT_THAT(ToText(result.schedule.trace()), ::testing::HasSubstr("vectorize"));
        EXPECT_TRUE(testing::SameResults(before, result.schedule.module().Find("main")));
      }
    }
  }
}

// Loads end with the last lane, also where a row ends with the memory.
TEST(StridedWindows, CompileForThisMachine) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const char* type : {"float32", "float16", "int8"}) {
    for (const Window& window : {Window{2, 2, 32}, Window{3, 2, 56}, Window{3, 3, 40}, Window{4, 4, 57}}) {
      const AutoScheduled result = AutoSchedule(Module(Pooling(window, type)), HostTarget(), &intrins);
      EXPECT_EQ(testing::CompareWithInterpreter(result.schedule.module()), "")
          << type << " " << window.size << " " << window.stride << " " << window.row;
    }
  }
}

}  // namespace
}  // namespace tilewright
