#include "autoschedule/measure/sizes_runner.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

TEST(SizesRunner, TakesTheGeometricMean) {
  const Measurement fast{.seconds = {1e-3, 1e-3}}, slow{.seconds = {1e-1}};
  EXPECT_NEAR(Together({fast, slow}, {1, 1}).MedianSeconds(), 1e-2, 1e-9);
  EXPECT_NEAR(Together({fast, slow}, {3, 1}).MedianSeconds(), 3.1623e-3, 1e-6);
  const Measurement wrong{.failure = MeasureFailure::kWrongResult, .message = "element 3"};
  EXPECT_EQ(Together({fast, wrong}, {1, 1}).message, "element 3");
}

constexpr char kTwice[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(FACTOR)
)";
Module Twice(const std::string& factor) {
  std::string text = kTwice;
  return ParseOrDie(text.replace(text.find("FACTOR"), 6, factor));
}

TEST(SizesRunner, MeasuresACandidateAtEverySize) {
  auto runner = StartAtSizes(Twice("2"), HostTarget(), {{{"n", 3}}, {{"n", 5000}}, {{"n", 3}}}, {});
  ASSERT_TRUE(runner.ok()) << runner.status();
  const std::vector<Module> candidates = {Twice("2"), Twice("3")};
  const std::vector<Measurement> measured = (*runner)->Run(candidates, {.seconds = 0.02});
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_TRUE(measured[0].ok()) << measured[0].message;
  EXPECT_GT(measured[0].MedianSeconds(), 0);
  EXPECT_EQ(measured[1].failure, MeasureFailure::kWrongResult);
}

}  // namespace
}  // namespace tilewright
