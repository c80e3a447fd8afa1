// Sums: who reads them before they are whole, what adds to them again, what sets them anew.
#include <gtest/gtest.h>

#include <string>

#include "verify/testing.h"

namespace tilewright {
namespace {

using testing::Findings;
using testing::Texts;

TEST(VerifySums, ReadingAPartOfASum) {
  EXPECT_EQ(Findings(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    S = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * S[vi]
)"),
            Texts{"final values: block B reads S while loop k still carries the reduction of block S"});
}

// The copy itself ends up right, what others read of it before does not.
TEST(VerifySums, ReadingWhatIsMadeOfAPartOfASum) {
  const auto program = [](const std::string& k) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    S = T.alloc_buffer((4,), "float32")
    C = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = S[vi]
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.spatial(8, INDEX)
            B[vi, vk] = A[vi, vk] * C[vi]
)";
    return Findings(text.replace(text.find("INDEX"), 5, k).c_str());
  };
  EXPECT_EQ(program("k"),
            Texts{"final values: block B reads C, which block C makes of parts of sums until loop k ends"});
  EXPECT_EQ(program("3"), Texts{});
}

// In a fused loop each iteration of the reduction runs the reader of its own sum again.
TEST(VerifySums, ReadingASumInAFusedLoop) {
  const auto program = [](const std::string& vi, const std::string& index) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    S = T.alloc_buffer((4,), "float32")
    for f in range(32):
        with T.block("S"):
            vi = T.axis.spatial(4, f // 8)
            vk = T.axis.reduce(8, f % 8)
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
        with T.block("B"):
            vi = T.axis.spatial(4, BINDING)
            B[vi] = S[INDEX]
)";
    text.replace(text.find("BINDING"), 7, vi);
    return Findings(text.replace(text.find("INDEX"), 5, index).c_str());
  };
  const Texts partial = {"final values: block B reads S while loop f still carries the reduction of block S"};
  EXPECT_EQ(program("f // 8", "vi"), Texts{});
  // These read sums of other instances, or run where their sum is not.
  EXPECT_EQ(program("f // 8", "vi // 2"), partial);
  EXPECT_EQ(program("f % 4", "vi").empty(), false);
  EXPECT_EQ(program("f // 8", "vi * 0 + 0").empty(), false);
}

// Computed anew for each j, from the init on; inside of the reduction everything would be added twice.
// Sixteen iterations for eight terms, and tiles of three that move by two: terms are added again.
TEST(VerifySums, TermsThatAreRepeated) {
  const auto sum = [](const std::string& loops, const std::string& spatial, const std::string& reduce) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((9, 8), "float32"), S: T.Buffer((9,), "float32")):
    for LOOPS:
        with T.block("S"):
            vi = T.axis.spatial(9, SPATIAL)
            vk = T.axis.reduce(8, REDUCE)
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
)";
    text.replace(text.find("LOOPS"), 5, loops);
    text.replace(text.find("SPATIAL"), 7, spatial);
    text.replace(text.find("REDUCE"), 6, reduce);
    return Findings(text.c_str());
  };
  EXPECT_EQ(sum("i, k in T.grid(9, 8)", "i", "k"), Texts{});
  EXPECT_EQ(sum("i, k in T.grid(9, 16)", "i", "k % 8"),
            Texts{"bindings: block S: its instances run more than once inside of loop k, which carries the reduction"});
  EXPECT_EQ(sum("f, g, k in T.grid(4, 3, 8)", "f * 2 + g", "k"), Texts{});
  EXPECT_EQ(sum("k, f, g in T.grid(8, 4, 3)", "f * 2 + g", "k"),
            Texts{"bindings: block S: its instances run more than once inside of loop k, which carries the reduction"});
}

TEST(VerifySums, SumsThatAreRepeated) {
  const auto loops = [](const std::string& order) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((6, 16), "float32"), S: T.Buffer((6,), "float32")):
    for ORDER in T.grid(EXTENTS):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
)";
    text.replace(text.find("ORDER"), 5, order);
    std::string extents;
    for (const char loop : order) {
      if (loop != ' ') extents += loop == 'i' ? "6" : loop == 'j' ? "2" : loop == 'k' ? "16" : ", ";
    }
    return Findings(text.replace(text.find("EXTENTS"), 7, extents).c_str());
  };
  EXPECT_EQ(loops("i, j, k"), Texts{});
  EXPECT_EQ(loops("j, k, i"), Texts{});
  EXPECT_EQ(loops("i, k, j"),
            Texts{"bindings: block S: loop j repeats instances inside of loop k, which carries the reduction"});
}

TEST(VerifySums, AddingToASumAgain) {
  const auto program = [](bool inside) {
    const std::string indent = inside ? "    " : "";
    return Findings((R"(
@T.prim_func
def main(A: T.Buffer((6, 16), "float32"), S: T.Buffer((6,), "float32")):
    for i in range(6):
)" + std::string(inside ? "        for j in range(2):\n" : "") +
                     indent + "        with T.block(\"init\"):\n" +        //
                     indent + "            vi = T.axis.spatial(6, i)\n" +  //
                     indent + "            S[vi] = T.float32(0)\n" +       //
                     (inside ? "            for k in range(16):\n" : "        for j, k in T.grid(2, 16):\n") + R"(
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    S[vi] = S[vi] + A[vi, vk]
)")
                        .c_str());
  };
  EXPECT_EQ(program(true), Texts{});
  EXPECT_EQ(program(false),
            Texts{"final values: block update adds to S again in each iteration of loop j, which does not "
                  "set it anew"});
}

// Shared memory is each block's of threads, but what sets it runs once.
TEST(VerifySums, AddingToASumAgainInBlocksOfThreads) {
  EXPECT_EQ(
      Findings(R"(
@T.prim_func
def main(A: T.Buffer((6, 16), "float32"), B: T.Buffer((6,), "float32")):
    S = T.alloc_buffer((6,), scope="shared")
    for i in range(6):
        with T.block("init"):
            vi = T.axis.spatial(6, i)
            S[vi] = T.float32(0)
    for b in T.thread_binding(6, thread="blockIdx.x"):
        for i, k in T.grid(6, 16):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                S[vi] = S[vi] + A[vi, vk]
        with T.block("B"):
            vb = T.axis.spatial(6, b)
            B[vb] = S[vb]
)"),
      Texts{"final values: block update adds to S again in each iteration of loop b, which does not set it anew"});
}

TEST(VerifySums, AddingToASumAgainInAFusedLoop) {
  EXPECT_EQ(Findings(R"(
@T.prim_func
def main(A: T.Buffer((6, 16), "float32"), S: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("init"):
            vi = T.axis.spatial(6, i)
            S[vi] = T.float32(0)
    for f, k in T.grid(12, 16):
        with T.block("update"):
            vi = T.axis.spatial(6, f // 2)
            vk = T.axis.reduce(16, k)
            S[vi] = S[vi] + A[vi, vk]
)"),
            Texts{"final values: block update adds to S again in each iteration of loop f, which does not set it "
                  "anew"});
}

// A loop of at most one iteration runs nothing again.
TEST(VerifySums, AddingToASumInALoopOfAtMostOneIteration) {
  const auto program = [](const std::string& extent) {
    return Findings((R"(
@T.prim_func
def main(A: T.Buffer((9, 16), "float32"), S: T.Buffer((9,), "float32")):
    for i in range(9):
        with T.block("init"):
            vi = T.axis.spatial(9, i)
            S[vi] = T.float32(0)
    for i in range(9):
        for t in range()" +
                     extent + R"():
            for k in range(16):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    S[vi] = S[vi] + A[vi, vk]
)")
                        .c_str());
  };
  EXPECT_EQ(program("i // 8"), Texts{});
  EXPECT_EQ(program("(i % 2 + 1) // 2"), Texts{});
  EXPECT_EQ(
      program("i // 4"),
      Texts{"final values: block update adds to S again in each iteration of loop t, which does not set it anew"});
}

// The block that the loop runs again has no iterators; what is inside of it adds.
TEST(VerifySums, AddingToASumAgainInsideOfABlock) {
  const auto program = [](bool set_inside) {
    const std::string set = R"(            for i in range(6):
                with T.block("init"):
                    vi = T.axis.spatial(6, i)
                    S[vi] = T.float32(0)
)";
    return Findings((R"(
@T.prim_func
def main(A: T.Buffer((6, 16), "float32"), S: T.Buffer((6,), "float32")):
    with T.block("outer"):
        T.reads(A[0:6, 0:16])
        T.writes(S[0:6])
        with T.init():
)" + set + R"(
        for r in range(2):
          with T.block("again"):
            T.reads(S[0:6], A[0:6, 0:16])
            T.writes(S[0:6])
)" + (set_inside ? set : "") +
                     R"(
            for i, k in T.grid(6, 16):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    S[vi] = S[vi] + A[vi, vk]
)")
                        .c_str());
  };
  EXPECT_EQ(program(true), Texts{});
  EXPECT_EQ(program(false),
            Texts{"final values: block again adds to S again in each iteration of loop r, which does not set it anew"});
}

TEST(VerifySums, SettingASumAnew) {
  const auto fused = [](const std::string& condition) {
    std::string text = R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((4,), "float32"), n: T.int32):
    A = T.match_buffer(a, (4, n), "float32")
    for f in range(4 * n):
        with T.block("init"):
            vi = T.axis.spatial(4, f // n)
            T.where(CONDITION)
            B[vi] = T.float32(0)
        with T.block("update"):
            vi = T.axis.spatial(4, f // n)
            vk = T.axis.reduce(n, f % n)
            B[vi] = B[vi] + A[vi, vk]
)";
    return Findings(text.replace(text.find("CONDITION"), 9, condition).c_str());
  };
  EXPECT_EQ(fused("T.bool(True)"), Texts{"final values: block init writes B anew in each iteration of loop f, which "
                                         "carries the reduction of block update"});
  EXPECT_EQ(fused("f % n == 0"), Texts{});
}

}  // namespace
}  // namespace tilewright
