#include "schedule/movement/compute_inline.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/movement/reverse_compute_inline.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectEquivalent;
using testing::ExpectProgram;
using testing::ReasonOf;

// `between` (with its buffers) goes between block B, B[vi, vj] = A[vi, vj] * 2, and C.
std::string Program(const std::string& c_shape, const std::string& between) {
  return R"(
@T.prim_func
def main(A: T.Buffer((12, 8), "float32"), bias: T.Buffer((8,), "float32"), C: T.Buffer()" +
         c_shape + R"(, "float32")):
    B = T.alloc_buffer((12, 8))
    for i, j in T.grid(12, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
)" + between;
}
const char kStencil[] = R"(
    for i, j in T.grid(10, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 2, 7 - vj] * bias[vj]
)";
const char kTransposed[] = R"(
    for i, j in T.grid(12, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj, vi] = B[vi, vj] + bias[vj]
)";
const char kPart[] = R"(
    for i, j in T.grid(6, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi + 4, vj] + bias[vj]
)";

TEST(ComputeInline, PutsTheValueWhereItIsUsed) {
  const Function f = ParseFunctionOrDie(Program("(10, 8)", kStencil));
  Outcome<ComputeInlineResult> result = ComputeInline(f, BlockNamed(f, "B"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((12, 8), "float32"), bias: T.Buffer((8,), "float32"), C: T.Buffer((10, 8), "float32")):
    for i, j in T.grid(10, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2) + A[vi + 2, 7 - vj] * T.float32(2) * bias[vj]
)");
}

TEST(ComputeInline, DropsRegionsThatAreDeclaredAndNotRead) {
  const Function f = ParseFunctionOrDie(Program("(10, 8)", std::string(R"(
    D = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            T.reads(bias[vi], B[0:12, 0:8])
            T.writes(D[vi])
            D[vi] = bias[vi] * T.float32(3)
)") + kStencil));
  Outcome<ComputeInlineResult> result = ComputeInline(f, BlockNamed(f, "B"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  EXPECT_EQ(Print(result->function).find("B[0:12"), std::string::npos);
}

TEST(ComputeInline, InvertsIndicesAndEntersNestedBlocks) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), C: T.Buffer((128,), "float32")):
    B = T.alloc_buffer((128,))
    for i_0, i_1, j in T.grid(4, 5, 8):
        with T.block("B"):
            vi = T.axis.spatial(16, i_0 * 5 + i_1)
            vj = T.axis.spatial(8, j)
            T.where(i_0 * 5 + i_1 < 16)
            B[vi * 8 + vj] = A[vi, vj] * T.float32(2)
    for i in range(16):
        with T.block("tile"):
            vi = T.axis.spatial(16, i)
            T.reads(B[vi * 8:vi * 8 + 8])
            T.writes(C[vi * 8:vi * 8 + 8])
            for j in range(8):
                with T.block("C"):
                    vj = T.axis.spatial(8, j)
                    C[vi * 8 + vj] = B[vi * 8 + vj] + T.float32(1)
)");
  Outcome<ComputeInlineResult> result = ComputeInline(f, BlockNamed(f, "B"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  // Indices stay as they are substituted, as in TVM.
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), C: T.Buffer((128,), "float32")):
    for i in range(16):
        with T.block("tile"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi, 0:8])
            T.writes(C[vi * 8:vi * 8 + 8])
            for j in range(8):
                with T.block("C"):
                    vj = T.axis.spatial(8, j)
                    C[vi * 8 + vj] = A[(vi * 8 + vj) // 8, (vi * 8 + vj) % 8] * T.float32(2) + T.float32(1)
)");
}

// Peers say of what a product reads that its layout is free: of a buffer that is gone nothing is said.
TEST(ComputeInline, DropsAnnotationsThatNameTheBuffer) {
  const Function function = ParseFunctionOrDie(Program("(12, 8)", R"(
    for i, j in T.grid(12, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"free": [B], "kept": [A], "also": 1})
            C[vi, vj] = B[vi, vj] + T.float32(1)
)"));
  const auto inlined = ComputeInline(function, BlockNamed(function, "B"));
  ASSERT_TRUE(inlined.ok());
  const std::string text = Print(inlined->function);
  EXPECT_EQ(text.find("free"), std::string::npos) << text;
  EXPECT_NE(text.find("\"kept\": [A"), std::string::npos) << text;
  EXPECT_TRUE(StructuralEqual(ParseFunctionOrDie(text), inlined->function));
}

// A step of a recurrence reads its state before it overwrites it. `parts` in their order: r reads the state, n what r
// computes, k overwrites the state; n and k are in a loop of their own where it says so.
std::string ReasonOfStep(std::string_view parts, bool loop_of_their_own = false) {
  std::string text = R"(
@T.prim_func
def main(S: T.Buffer((8,), "float32"), N: T.Buffer((8,), "float32")):
    R = T.alloc_buffer((8,))
)";
  std::string indent = "    ";
  for (const char part : parts) {
    if (part != 'r' && loop_of_their_own && indent.size() == 4) {
      text += "    for u in range(2):\n";
      indent += "    ";
    }
    const std::string value = part == 'r' ? "R[v] = S[v] * T.float32(2)" : part == 'n' ? "N[v] = R[v]" : "S[v] = N[v]";
    text += indent + "for i in range(8):\n" + indent + "    with T.block(\"" + part + "\"):\n" + indent +
            "        v = T.axis.spatial(8, i)\n" + indent + "        " + value + "\n";
  }
  const Function f = ParseFunctionOrDie(text);
  const auto inlined = ComputeInline(f, BlockNamed(f, "r"));
  return inlined.ok() ? "accepted" : ReasonOf(inlined, f);
}

TEST(ComputeInline, WhatIsOverwrittenAfterAllUses) {
  EXPECT_EQ(ReasonOfStep("rnk"), "accepted");
  EXPECT_EQ(ReasonOfStep("rkn"), "k overwrites S, which r reads");
  EXPECT_EQ(ReasonOfStep("rnk", true), "k overwrites S, which r reads");
}

TEST(ComputeInline, Refuses) {
  auto reason = [](const std::string& text, const char* block) {
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(ComputeInline(f, BlockNamed(f, block)), f);
  };
  const std::string program = Program("(10, 8)", kStencil);
  EXPECT_EQ(reason(program, "C"), "C writes a buffer that outlives its scope");
  EXPECT_EQ(reason(program, "root"), "root is the root block");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]
)",
                   "C"),
            "C is the only block of its scope");
  // The store of block B, with the buffers of Program; C reads it.
  auto store = [&](const std::string& loops, const std::string& block) {
    return reason(R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for )" + loops + R"(:
        with T.block("B"):
)" + block + R"(
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
)",
                  "B");
  };
  EXPECT_EQ(store("i, k in T.grid(8, 8)", R"(
            v, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + A[v, vk])"),
            "B has an init");
  EXPECT_EQ(store("i in range(4)", R"(
            v = T.axis.spatial(4, i)
            B[v] = A[v, 0])"),
            "B may not store all elements of B");
  EXPECT_EQ(store("i, k in T.grid(8, 8)", R"(
            v, vk = T.axis.remap("SS", [i, k])
            B[v] = A[v, vk])"),
            "instances of B may store the same element");
  EXPECT_EQ(store("i in range(4)", R"(
            v = T.axis.spatial(4, i)
            for k in range(2):
                B[v * 2 + k] = A[v, k])"),
            "the body of B is not one store");
  EXPECT_EQ(store("i in range(8)", R"(
            v = T.axis.spatial(8, i)
            T.where(i < 4)
            B[v] = A[v, 0])"),
            "the predicate i < 4 of B says more than that its iterators are inside of their domains");
  EXPECT_EQ(store("i in range(8)", R"(
            v = T.axis.spatial(8, i)
            B[v] = T.call_extern("float32", "random"))"),
            "the value of B has effects");
}

TEST(ReverseComputeInline, StoresWhatTheConsumerMakes) {
  const Function f = ParseFunctionOrDie(Program("(8, 12)", kTransposed));
  Outcome<ReverseComputeInlineResult> result = ReverseComputeInline(f, BlockNamed(f, "C"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((12, 8), "float32"), bias: T.Buffer((8,), "float32"), C: T.Buffer((8, 12), "float32")):
    for i, j in T.grid(12, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj, vi] = A[vi, vj] * T.float32(2) + bias[vj]
)");
}

TEST(ReverseComputeInline, RunsOnlyWhatIsUsed) {
  const Function f = ParseFunctionOrDie(Program("(6, 8)", kPart));
  Outcome<ReverseComputeInlineResult> result = ReverseComputeInline(f, BlockNamed(f, "C"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((12, 8), "float32"), bias: T.Buffer((8,), "float32"), C: T.Buffer((6, 8), "float32")):
    for i, j in T.grid(12, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(4 <= i and i < 10)
            C[vi - 4, vj] = A[vi, vj] * T.float32(2) + bias[vj]
)");
}

// A reduction B over k and a consumer C of its values.
std::string AfterReduction(const std::string& value) {
  return R"(
@T.prim_func
def main(A: T.Buffer((12, 8, 5), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((12, 8))
    for i, j, k in T.grid(12, 8, 5):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.float32(0)
            B[vi, vj] = B[vi, vj] + A[vi, vj, vk]
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = )" +
         value + "\n";
}

// A gate and what it gates: the one that is made last takes what is made of both.
constexpr char kGated[] = R"(
@T.prim_func
def main(X: T.Buffer((7, 5), "float32"), O: T.Buffer((7, 5), "float32")):
    G = T.alloc_buffer((7, 5))
    U = T.alloc_buffer((7, 5))
    for i, j in T.grid(7, 5):
        with T.block("G"):
            vi, vj = T.axis.remap("SS", [i, j])
            G[vi, vj] = X[vi, vj] + T.float32(1)
    for i, j in T.grid(7, 5):
        with T.block("U"):
            vi, vj = T.axis.remap("SS", [i, j])
            U[vi, vj] = X[vi, vj] * T.float32(2)
    for i, j in T.grid(7, 5):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = G[6 - vi, vj] * U[vi, vj]
)";

TEST(ReverseComputeInline, JoinsTheLastOfSeveralProducers) {
  const Function f = ParseFunctionOrDie(kGated);
  const auto result = ReverseComputeInline(f, BlockNamed(f, "O"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  EXPECT_NE(Print(result->function).find("O[vi, vj] = G[6 - vi, vj] * (X[vi, vj] * T.float32(2))"), std::string::npos)
      << Print(result->function);
}

TEST(ReverseComputeInline, MovesElementsOfAReduction) {
  const Function f = ParseFunctionOrDie(AfterReduction("B[vj, vi]"));
  Outcome<ReverseComputeInlineResult> result = ReverseComputeInline(f, BlockNamed(f, "C"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((12, 8, 5), "float32"), C: T.Buffer((8, 12), "float32")):
    for i, j, k in T.grid(12, 8, 5):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vj, vi] = T.float32(0)
            C[vj, vi] = C[vj, vi] + A[vi, vj, vk]
)");
}

// What S declares of its gather is less than anyone can see; what C reads of the same table is more.
TEST(ReverseComputeInline, KeepsWhatTheConsumerDeclares) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((16,), "float32"), First: T.Buffer((4,), "int32"), Second: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")):
          S = T.alloc_buffer((4,), "float32")
          for i in range(4):
              with T.block("S"):
                  vi = T.axis.spatial(4, i)
                  T.reads(X[vi], First[vi])
                  T.writes(S[vi])
                  S[vi] = X[First[vi]]
          for i in range(4):
              with T.block("C"):
                  vi = T.axis.spatial(4, i)
                  T.reads(S[vi], X[0:16], Second[vi])
                  T.writes(C[vi])
                  C[vi] = S[vi] + X[Second[vi]])");
  Outcome<ReverseComputeInlineResult> result = ReverseComputeInline(f, BlockNamed(f, "C"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  testing::ExpectContains(result->function, "T.reads(X[0:16], First[vi], Second[vi])");
}

TEST(ReverseComputeInline, Refuses) {
  auto reason = [](const std::string& text, const char* block) {
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(ReverseComputeInline(f, BlockNamed(f, block)), f);
  };
  EXPECT_EQ(reason(AfterReduction("B[vj, vi] * T.float32(2)"), "C"),
            "B is a reduction, and C does more than move its elements");
  EXPECT_EQ(reason(AfterReduction("B[vj, vi]"), "B"), "B has an init");
  EXPECT_EQ(reason(Program("(10, 8)", kStencil), "C"), "C reads B at different indices");
  EXPECT_EQ(reason(Program("(10, 8)", kStencil), "B"), "B has no producer");
  EXPECT_EQ(reason(Program("(12, 8)", R"(
    for i, j in T.grid(12, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, 0]
)"),
                   "C"),
            "instances of C may read the same element of B");
  EXPECT_EQ(reason(Program("(12, 8)", R"(
    D = T.alloc_buffer((12, 8))
    for i, j in T.grid(12, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj]
    for i, j in T.grid(12, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
)"),
                   "C"),
            "D also reads B");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
)",
                   "C"),
            "B, which B writes, outlives the scope");
}

// The column is an iterator of one value: what is stored says which instances of the producer store it.
TEST(ReverseComputeInline, ReadsOneColumn) {
  const Function f = ParseFunctionOrDie(Program("(6, 1)", R"(
    for i, j in T.grid(6, 1):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi + 4, vj + 3] + bias[vj]
)"));
  Outcome<ReverseComputeInlineResult> result = ReverseComputeInline(f, BlockNamed(f, "C"));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  testing::ExpectContains(result->function, "C[vi - 4, vj - 3] = A[vi, vj] * T.float32(2) + bias[vj - 3]");
  ExpectEquivalent(f, result->function);
}

// C reads `read`, where B has the elements of A in tiles of 16.
Function ReadsTiles(const std::string& extent, const std::string& read) {
  return ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((128,), "float32"), C: T.Buffer(()" +
                            extent + R"(,), "float32")):
          B = T.alloc_buffer((8, 16), "float32")
          for i, j in T.grid(8, 16):
              with T.block("B"):
                  vi, vj = T.axis.remap("SS", [i, j])
                  B[vi, vj] = A[vi * 16 + vj] * T.float32(2)
          for i in range()" +
                            extent + R"():
              with T.block("C"):
                  vi = T.axis.spatial()" +
                            extent + R"(, i)
                  C[vi] = )" +
                            read + R"( + T.float32(1))");
}

// The last tile of 127 elements, or of 100, is not full.
TEST(ReverseComputeInline, ReadsPartOfTiles) {
  for (const auto& [extent, read, condition] :
       {std::tuple("127", "B[vi // 16, vi % 16]", "T.where(i * 16 + j < 127)"),
        {"100", "B[vi // 16, vi % 16]", "T.where(i * 16 + j < 100)"},
        {"121", "B[(vi + 7) // 16, (vi + 7) % 16]", "T.where(7 <= i * 16 + j)"}}) {
    const Function f = ReadsTiles(extent, read);
    Outcome<ReverseComputeInlineResult> result = ReverseComputeInline(f, BlockNamed(f, "C"));
    ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
    testing::ExpectContains(result->function, condition);
    ExpectEquivalent(f, result->function);
  }
  const Function twice = ReadsTiles("127", "B[vi // 16, vi % 8]");
  EXPECT_EQ(ReasonOf(ReverseComputeInline(twice, BlockNamed(twice, "C")), twice),
            "instances of C may read the same element of B");
}

}  // namespace
}  // namespace tilewright
