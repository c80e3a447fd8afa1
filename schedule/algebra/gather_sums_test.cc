#include "schedule/algebra/gather_sums.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

struct Program {
  std::string image = R"(X: T.Buffer((10, 4), "float32"))";
  std::string weights = R"(W: T.Buffer((3, 4, 2), "float32"))";
  std::string extents = "8, 2, 3, 4";
  std::string term = "X[vh + vr, vc] * W[vr, vc, vo]";
  std::string type = "float32";
};

std::string Text(const Program& p) {
  const std::string first = p.extents.substr(0, p.extents.find(','));
  return "@T.prim_func\ndef main(" + p.image + ", " + p.weights + ", Y: T.Buffer((" + first + ", 2), \"" + p.type +
         "\")):\n    for h, o, r, c in T.grid(" + p.extents + R"():
        with T.block("Y"):
            vh, vo, vr, vc = T.axis.remap("SSRR", [h, o, r, c])
            with T.init():
                Y[vh, vo] = T.)" +
         p.type + "(0)\n            Y[vh, vo] = Y[vh, vo] + " + p.term + "\n";
}

std::string Refused(const std::string& text, Value::List window = {Value(2)}) {
  Schedule sch{Module(ParseOrDie(text))};
  const auto result = sch.Apply("gather_sums", {*sch.GetBlock("Y"), Value(std::move(window))});
  return result.ok() ? "" : RenderLine(result.refusal(), sch.refused_function());
}

// `shape`: of the sums.
void ExpectGathered(const std::string& text, const std::vector<int64_t>& shape, Value::List window = {Value(2)}) {
  Schedule sch{Module(ParseOrDie(text))};
  const Module before = sch.module();
  const auto result = sch.Apply("gather_sums", {*sch.GetBlock("Y"), Value(std::move(window))});
  ASSERT_TRUE(result.ok()) << RenderLine(result.refusal(), sch.refused_function());
  const Function function = sch.module().Main();
  const Buffer sums = FindBlock(function, sch.Get((*result)[0]).As<BlockRef>()->id)->block->writes[0].buffer;
  std::vector<int64_t> extents;
  for (const Expr& extent : sums->shape) extents.push_back(AsInt(extent).value_or(-1));
  EXPECT_EQ(extents, shape);
  testing::ExpectEquivalent(before.Main(), function);
}

TEST(GatherSums, SumsAtEachPlace) {
  ExpectGathered(Text({}), {2, 3, 10});
  ExpectGathered(
      Text({.image = R"(X: T.Buffer((4, 24), "float32"))", .term = "W[vr, vc, vo] * X[vc, vh * 2 + vr * 3]"}),
      {2, 3, 24});
}

// Weights that are the same for all of the window, or all columns.
TEST(GatherSums, HasDimensionsOfWhatDecides) {
  ExpectGathered(Text({.weights = R"(W: T.Buffer((4, 2), "float32"))", .term = "X[vh + vr, vc] * W[vc, vo]"}), {2, 10});
  ExpectGathered(Text({.weights = R"(W: T.Buffer((3, 4), "float32"))", .term = "X[vh + vr, vc] * W[vr, vc]"}), {3, 10});
}

// A group of channels for each output: the factor's own dimension stays what it is.
TEST(GatherSums, KeepsGroups) {
  ExpectGathered(
      Text({.image = R"(X: T.Buffer((8, 10), "float32"))", .term = "X[vo * 4 + vc, vh + vr] * W[vr, vc, vo]"}),
      {2, 3, 10});
}

// What a transposed convolution of stride 2 reads, of an image without a border.
TEST(GatherSums, ConditionsDecideWhatIsGathered) {
  const std::string at = "(vh + 2 - vr)";
  const std::string inside = at + " % 2 == 0 and 0 <= " + at + " and " + at + " < 8";
  ExpectGathered(Text({.image = R"(X: T.Buffer((4, 4), "float32"))",
                       .term = "T.if_then_else(" + inside + ", X[" + at + " // 2, vc], T.float32(0)) * W[vr, vc, vo]"}),
                 {2, 3, 4});
  ExpectGathered(Text({.image = R"(X: T.Buffer((4, 4), "float16"))",
                       .term = "T.Cast(\"float32\", T.if_then_else(" + inside + ", X[" + at +
                               " // 2, vc], T.float16(0))) * W[vr, vc, vo]"}),
                 {2, 3, 4});
}

TEST(GatherSums, TakesSymbolicExtents) {
  ExpectGathered(R"(
@T.prim_func
def main(x: T.handle, W: T.Buffer((3, 4), "float32"), y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n, 4, 10), "float32")
    Y = T.match_buffer(y, (n, 8), "float32")
    for b, h, r, c in T.grid(n, 8, 3, 4):
        with T.block("Y"):
            vb, vh, vr, vc = T.axis.remap("SSRR", [b, h, r, c])
            with T.init():
                Y[vb, vh] = T.float32(0)
            Y[vb, vh] = Y[vb, vh] + X[vb, vc, vh + vr] * W[vr, vc]
)",
                 {-1, 3, 10});
}

// Sums of places that no window holds would read what nobody wrote.
TEST(GatherSums, BuffersAreWrittenEverywhere) {
  const auto text = [](const char* rows) {
    return std::string(R"(
@T.prim_func
def main(A: T.Buffer((10, 4), "float32"), W: T.Buffer((3, 4), "float32"), Y: T.Buffer((8,), "float32")):
    X = T.alloc_buffer((12, 4), "float32")
    for h, c in T.grid()") +
           rows + R"(, 4):
        with T.block("X"):
            vh, vc = T.axis.remap("SS", [h, c])
            X[vh, vc] = A[vh % 10, vc]
    for h, r, c in T.grid(8, 3, 4):
        with T.block("Y"):
            vh, vr, vc = T.axis.remap("SRR", [h, r, c])
            with T.init():
                Y[vh] = T.float32(0)
            Y[vh] = Y[vh] + X[vh + vr, vc] * W[vr, vc]
)";
  };
  ExpectGathered(text("12"), {3, 12}, {Value(1)});
  EXPECT_EQ(Refused(text("10"), {Value(1)}), "gather_sums: X is not known to be written everywhere");
}

TEST(GatherSums, Refuses) {
  const std::string none = "gather_sums: the window moves along no factor of block Y by itself";
  EXPECT_EQ(Refused(Text({.term = "X[vh, vc] * W[vr, vc, vo]"})), none);
  EXPECT_EQ(Refused(Text({.image = R"(X: T.Buffer((14,), "float32"))", .term = "X[vh + vr + vc] * W[vr, vc, vo]"})),
            none);
  EXPECT_EQ(Refused(Text({.term = "(X[vh + vr, vc] + T.float32(1)) * W[vr, vc, vo]"})), none);
  EXPECT_EQ(Refused(Text({.term = "X[vh + vr, vc]"})), none);
  // The condition is one on what is summed.
  EXPECT_EQ(Refused(Text({.term = "T.if_then_else(vc < vh, X[vh + vr, vc], T.float32(0)) * W[vr, vc, vo]"})), none);
  // A dimension that only the condition keeps inside.
  EXPECT_EQ(Refused(Text({.image = R"(X: T.Buffer((10, 3), "float32"))",
                          .term = "T.if_then_else(vh < 1, X[vh + vr, vo * 3], T.float32(0)) * W[vr, vc, vo]"})),
            none);
  EXPECT_EQ(Refused(Text({}), {Value(1)}), "gather_sums: 1 names no reduce iterator of block Y, or one twice");
  EXPECT_EQ(Refused(Text({}), {Value(2), Value(2)}),
            "gather_sums: 2 names no reduce iterator of block Y, or one twice");
  const std::string some = "gather_sums: some of the reduce iterators of block Y are a window, not none and not all";
  EXPECT_EQ(Refused(Text({}), {}), some);
  EXPECT_EQ(Refused(Text({}), {Value(2), Value(3)}), some);
  EXPECT_EQ(Refused(Text({.image = R"(X: T.Buffer((10, 4), "int32"))",
                          .weights = R"(W: T.Buffer((3, 4, 2), "int32"))",
                          .type = "int32"})),
            "gather_sums: Y is not kept in float32 or float64");
  EXPECT_EQ(Refused(Text({.term = "T.max(X[vh + vr, vc], Y[vh, vo])"})),
            "gather_sums: block Y does not add something to what it stores to");
}

}  // namespace
}  // namespace tilewright
