#include "verify/rewrite/known_contents.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// A table, filled by `fill` (statements of a block over v below 8), that says which elements of X a block reads.
Verdict Judge(const std::string& fill, const std::string& reads, const std::string& value) {
  return Worst(VerifyProgram(ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((8,), "int32"), X: T.Buffer((5,), "float32"), Y: T.Buffer((8,), "float32")):
    table = T.alloc_buffer((8,), "int32")
    fits = T.alloc_buffer((8,), "bool")
    for i in range(8):
        with T.block("table"):
            v = T.axis.spatial(8, i)
            table[v] = )" + fill + R"(
    for i in range(8):
        with T.block("fits"):
            v = T.axis.spatial(8, i)
            fits[v] = table[v] < 5
    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            T.reads()" + reads + R"()
            T.writes(Y[v])
            Y[v] = )" + value + "\n"))
                   .diagnostics);
}

TEST(KnownContents, ATableOfPlacesSaysWhereElementsAreWritten) {
  // B is filled at places from the table; all of it is read.
  const auto judge = [](const std::string& fill) {
    return Worst(VerifyProgram(ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((8,), "int32"), X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    table = T.alloc_buffer((8,), "int32")
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("table"):
            v = T.axis.spatial(8, i)
            table[v] = )" + fill + R"(
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.reads(X[v], table[v])
            T.writes(B[table[v]])
            B[table[v]] = X[v]
    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = B[v]
)"))
                     .diagnostics);
  };
  EXPECT_NE(judge("7 - v"), Verdict::kRefuted);
  EXPECT_NE(judge("(v * 3 + 1) % 8"), Verdict::kRefuted);
  EXPECT_EQ(judge("v // 2"), Verdict::kRefuted);
  EXPECT_EQ(judge("7 - v + P[v]"), Verdict::kRefuted);
}

TEST(KnownContents, ATableOfConditionsGuards) {
  const std::string reads = "X[0:5], fits[v]";
  EXPECT_EQ(Judge("v", reads, "T.if_then_else(fits[v], X[v], T.float32(0))"), Verdict::kProven);
  EXPECT_EQ(Judge("v // 2 * 2", reads, "T.if_then_else(fits[v], X[v], T.float32(0))"), Verdict::kRefuted);
  EXPECT_EQ(Judge("v - 1", reads, "T.if_then_else(fits[v], X[v], T.float32(0))"), Verdict::kRefuted);
  EXPECT_EQ(Judge("P[v]", reads, "T.if_then_else(fits[v], X[v], T.float32(0))"), Verdict::kRefuted);
  EXPECT_EQ(Judge("T.Select(P[v] > 0, v, 5)", reads, "T.if_then_else(fits[v], X[v], T.float32(0))"), Verdict::kRefuted);
}

size_t Known(const std::string& statements) {
  return FindKnownContents(ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((8,), "int32"), Q: T.Buffer((8,), "float32")):
    a = T.alloc_buffer((8,), "int32")
    b = T.alloc_buffer((8,), "int32")
)" + statements))
      .size();
}

TEST(KnownContents, StoresThatInputsDecideTakeThemAway) {
  EXPECT_EQ(Known("    for i in range(8):\n        a[i] = i\n        b[i] = a[i]\n"), 2U);
  EXPECT_EQ(
      Known("    f = T.alloc_buffer((8,), \"float32\")\n    for i in range(8):\n        f[i] = T.Cast(\"float32\", i)\n"
            "        a[i] = T.Cast(\"int32\", f[i])\n"),
      3U);
  EXPECT_EQ(Known("    for i in range(8):\n        b[i] = a[i]\n        a[i] = P[i]\n"), 0U);
  EXPECT_EQ(Known("    for i in range(8):\n        a[P[i]] = i\n        b[i] = i\n"), 1U);
  EXPECT_EQ(Known("    for i in range(8):\n        if P[i] > 0:\n            a[i] = i\n"), 1U);
  EXPECT_EQ(Known("    for i in range(8):\n        if b[i] > 0:\n            a[i] = i\n"), 2U);
  EXPECT_EQ(Known("    for i in range(P[0]):\n        a[i] = 1\n"), 1U);
  EXPECT_EQ(Known("    while b[0] < 8:\n        a[0] = 1\n"), 1U);
  EXPECT_EQ(Known("    for i in range(8):\n        a[i] = T.Cast(\"int32\", T.exp(T.Cast(\"float32\", i)))\n"), 1U);
}

TEST(KnownContents, OtherNamesOfTheirMemoryTakeThemAway) {
  EXPECT_EQ(Known("    T.evaluate(T.call_extern(\"int32\", \"fill\", T.address_of(a[0])))\n"), 1U);
  EXPECT_EQ(Known("    T.evaluate(T.call_extern(\"int32\", \"fill\", a.data))\n"), 1U);
  EXPECT_EQ(Known(R"(    with T.block("part"):
        T.reads()
        T.writes(a[0:4])
        part = T.match_buffer(a[0:4], (4,), "int32")
        for i in range(4):
            part[i] = i
)"),
            1U);
  EXPECT_EQ(Known(R"(    with T.block("outside"):
        T.reads()
        T.writes(b[0:8])
        T.evaluate(T.call_extern("int32", "fill"))
)"),
            1U);
}

}  // namespace
}  // namespace tilewright
