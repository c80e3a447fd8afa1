// Windows that begin a few elements apart: their rows are vectors, and results are those of the program as it was
// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/lower/pipeline.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
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

// An element of an image, or what padding is.
constexpr char kElement[] =
    "T.if_then_else(PAD <= vi * STRIDE + vri and vi * STRIDE + vri < H + PAD and PAD <= vj * STRIDE + vrj and "
    "vj * STRIDE + vrj < W + PAD, X[vc, vi * STRIDE + vri - PAD, vj * STRIDE + vrj - PAD], T.min_value(\"TYPE\"))";

// Windows that reach beyond the image on all sides; `largest` of the largest element yet and OF, the next
// one.
Function PaddedPooling(const Window& window, const char* type, const char* largest) {
  const int padding = window.size / 2;
  const auto inputs = [&](int results) {
    return absl::StrCat((results - 1) * window.stride + window.size - 2 * padding);
  };
  const std::string program = R"(
@T.prim_func
def main(X: T.Buffer((3, H, W), "TYPE"), Y: T.Buffer((3, 5, ROW), "TYPE")):
    for c, i, j, ri, rj in T.grid(3, 5, ROW, SIZE, SIZE):
        with T.block("Y"):
            vc, vi, vj, vri, vrj = T.axis.remap("SSSRR", [c, i, j, ri, rj])
            with T.init():
                Y[vc, vi, vj] = T.min_value("TYPE")
            Y[vc, vi, vj] = )" +
                              absl::StrReplaceAll(largest, {{"OF", kElement}}) + "\n";
  return ParseFunctionOrDie(absl::StrReplaceAll(program, {{"H", inputs(5)},
                                                          {"W", inputs(window.row)},
                                                          {"PAD", absl::StrCat(padding)},
                                                          {"ROW", absl::StrCat(window.row)},
                                                          {"SIZE", absl::StrCat(window.size)},
                                                          {"STRIDE", absl::StrCat(window.stride)},
                                                          {"TYPE", type}}));
}

constexpr char kLarger[] = "T.max(Y[vc, vi, vj], OF)";
// NaN is passed on.
constexpr char kOrNan[] = "T.Select(T.isnan(Y[vc, vi, vj]), Y[vc, vi, vj], T.max(Y[vc, vi, vj], OF))";

TEST(StridedWindows, ReachBeyondTheImage) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const char* type : {"float32", "int8"}) {
    for (const Window& window : {Window{3, 2, 56}, Window{3, 2, 17}, Window{5, 3, 40}, Window{7, 2, 29}}) {
      const bool floats = std::string_view(type) == "float32";
      const Function before = PaddedPooling(window, type, floats ? kOrNan : kLarger);
      const AutoScheduled result = AutoSchedule(Module(before), HostTarget(), &intrins);
      EXPECT_EQ(testing::CompareWithInterpreter(result.schedule.module(), {.original = before}), "")
          << type << " " << window.size << " " << window.stride << " " << window.row;
    }
  }
}

// Borders of images make no lane that is loaded by itself.
TEST(StridedWindows, LoadVectorsAtBorders) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const char* name : {"x86-znver4", "x86-haswell"}) {
    const Target target = *NamedTarget(name);
    for (const Window& window : {Window{3, 2, 56}, Window{5, 3, 40}}) {
      const Function before = PaddedPooling(window, "float32", kOrNan);
      const AutoScheduled result = AutoSchedule(Module(before), target, &intrins);
      const absl::StatusOr<Module> lowered = Lower(result.schedule.module(), target);
      ASSERT_TRUE(lowered.ok()) << lowered.status();
      int by_lane = 0;
      PreOrderExprs(lowered->Main()->body, [&](const Expr& e) {
        const auto* load = dyn_cast<LoadNode>(e);
        const auto* ramp = load == nullptr ? nullptr : dyn_cast<RampNode>(load->indices[0]);
        by_lane += ramp != nullptr && !IsInt(ramp->stride, 1);
        return true;
      });
      EXPECT_EQ(by_lane, 0) << name << " " << window.size << Print(lowered->Main());
    }
  }
}

}  // namespace
}  // namespace tilewright
