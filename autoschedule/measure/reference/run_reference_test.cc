#include "autoschedule/measure/reference/run_reference.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// Y[0] is the sum of `term` over the elements of X, whose length is an argument.
Function Sum(const std::string& term) {
  return ParseOrDie(R"(
@T.prim_func
def main(x: T.handle, Y: T.Buffer((1,), "float32")):
    n = T.int32()
    X = T.match_buffer(x, (n,), "float32")
    for i in range(n):
        with T.block("Y"):
            vi = T.axis.reduce(n, i)
            with T.init():
                Y[0] = T.float32(0)
            Y[0] = Y[0] + )" +
                    term + "\n")
      .Main();
}

TEST(RunReference, BoundsASumByItsTerms) {
  const NDArray x(DataType::Float(32), {14}), y(DataType::Float(32), {1});
  for (int64_t i = 0; i < 14; ++i) x.Set(i, i % 2 == 0 ? 1 : -0.5);
  y.Set(0, 7);
  const auto results = RunReference(Sum("X[vi]"), HostTarget(), {x, y});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_FALSE((*results)[0].has_value()) << "only read";
  ASSERT_TRUE((*results)[1].has_value());
  EXPECT_EQ((*results)[1]->value.dtype(), DataType::Float(64));
  EXPECT_EQ((*results)[1]->value.Get(0), 3.5);
  // 16 roundings at the most of terms whose magnitudes sum up to 10.5.
  EXPECT_DOUBLE_EQ((*results)[1]->error.Get(0), 16 * 0x1p-24 * 10.5);
  EXPECT_EQ(y.Get(0), 7) << "arguments keep their contents";
}

TEST(RunReference, RefusesWhatHasNoBound) {
  const NDArray x(DataType::Float(32), {3}), y(DataType::Float(32), {1});
  const auto results = RunReference(Sum("T.call_extern(\"float32\", \"f\", X[vi])"), HostTarget(), {x, y});
  EXPECT_EQ(results.status().message(), "no reference for a call of call_extern");
}

}  // namespace
}  // namespace tilewright
