#include "graph/executor/in_place.h"

#include "graph/executor/executor.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

// `value` is what y[b, j, d] becomes.
std::string FormOf(const std::string& value) {
  const Module module = ParseOrDie(R"(
@T.prim_func
def main(fresh_: T.handle, past_: T.handle, x_: T.handle, y_: T.handle):
    n = T.int64()
    c = T.int64()
    e = T.int64()
    fresh = T.match_buffer(fresh_, (T.int64(2), n, T.int64(4)))
    past = T.match_buffer(past_, (T.int64(2),), "int64")
    x = T.match_buffer(x_, (T.int64(2), c, T.int64(4)))
    y = T.match_buffer(y_, (T.int64(2), e, T.int64(4)))
    for i0, i1, i2 in T.grid(T.int64(2), e, T.int64(4)):
        with T.block("y"):
            b, j, d = T.axis.remap("SSS", [i0, i1, i2])
            y[b, j, d] = )" + value +
                                   "\n");
  const auto form = InPlaceForm(module.Find("main"), 2, 3);
  return form ? Print(*form) : "none";
}

constexpr char kAppend[] =
    "T.Select(T.int64(0) <= j - past[b] and j - past[b] < n, fresh[b, T.max(T.min(j - past[b], n - T.int64(1)), "
    "T.int64(0)), d], T.if_then_else(j < c, x[b, j, d], T.float32(0)))";

TEST(InPlaceForm, WritesTheIntervalAlone) {
  const std::string form = FormOf(kAppend);
  // The loop of the second dimension has as many iterations as there are new elements, and x is gone.
  EXPECT_NE(form.find("T.grid(T.int64(2), n, T.int64(4))"), std::string::npos) << form;
  EXPECT_EQ(form.find("x["), std::string::npos) << form;
  EXPECT_NE(form.find("y[b, past[b] + j, d] = fresh[b, j, d]"), std::string::npos) << form;
}

TEST(InPlaceForm, BranchesMayBeTheOtherWayRound) {
  EXPECT_NE(FormOf("T.if_then_else(j < past[b] or past[b] + T.int64(3) <= j, x[b, j, d], T.float32(1))"), "none");
}

TEST(InPlaceForm, RefusesWhatReadsOtherElements) {
  EXPECT_EQ(FormOf("T.Select(T.int64(0) <= j - past[b] and j - past[b] < n, fresh[b, T.int64(0), d], "
                   "x[b, c - T.int64(1) - j, d])"),
            "none");
  EXPECT_EQ(FormOf("T.Select(T.int64(0) <= j - past[b] and j - past[b] < n, x[b, T.int64(0), d], x[b, j, d])"), "none");
}

TEST(InPlaceForm, RefusesWhatIsNoInterval) {
  // Without an end, and one whose length depends on data.
  EXPECT_EQ(FormOf("T.Select(past[b] <= j, T.float32(0), x[b, j, d])"), "none");
  EXPECT_EQ(FormOf("T.Select(past[b] <= j and j < past[T.int64(0)] * T.int64(2), T.float32(0), x[b, j, d])"), "none");
  EXPECT_EQ(FormOf("x[b, j, d] + T.float32(1)"), "none");
}

}  // namespace
}  // namespace tilewright::graph
