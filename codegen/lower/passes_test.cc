// Each pass on a small program: what it makes of it, what it leaves alone, what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "codegen/lower/common/compact_buffers.h"
#include "codegen/lower/common/flatten_buffers.h"
#include "codegen/lower/common/lower_blocks.h"
#include "codegen/lower/common/lower_init.h"
#include "codegen/lower/common/lower_match_buffers.h"
#include "codegen/lower/common/pass_testing.h"
#include "codegen/lower/common/plan_allocations.h"
#include "codegen/lower/common/simplify.h"
#include "codegen/lower/common/substitute_iterators.h"
#include "codegen/lower/common/unroll.h"
#include "codegen/lower/common/verify_lowered.h"
#include "codegen/lower/pipeline.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::Body;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Opaque;

constexpr char kRowSums[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 16):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
)";

TEST(LowerInit, BranchesOnTheFirstIteration) {
  const std::string body = Body(*LowerInit(ParseFunctionOrDie(kRowSums)));
  EXPECT_THAT(body,
              HasSubstr("if vk == 0:\n                B[vi] = T.float32(0)\n            B[vi] = B[vi] + A[vi, vk]"));
  EXPECT_THAT(body, Not(HasSubstr("T.init")));
}

TEST(LowerInit, LeavesBlocksWithoutInit) {
  const Function function = Opaque(kRowSums);
  EXPECT_TRUE((*LowerInit(function))->body.same_as(function->body));
}

TEST(LowerInit, RefusesSumsOfThreads) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for k in T.thread_binding(16, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
)");
  EXPECT_EQ(
      LowerInit(function).status().message(),
      "block B reduces over vk, which depends on threadIdx.x; code generation does not combine the partial results "
      "of threads: let each thread reduce into an element of its own (rfactor) and add these up in one thread");
}

TEST(SubstituteIterators, InlinesBindings) {
  EXPECT_EQ(Body(Opaque(kRowSums)),
            R"(    for i, k in T.grid(8, 16):
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
)");
}

TEST(LowerBlocks, PredicatesBecomeBranches) {
  EXPECT_EQ(Body(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("A"):
            vi = T.axis.spatial(30, i * 8 + j)
            T.where(i * 8 + j < 30)
            A[vi] = T.float32(1)
)")),
            R"(    for i, j in T.grid(4, 8):
        if i * 8 + j < 30:
            A[i * 8 + j] = T.float32(1)
)");
}

constexpr char kTwoSteps[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((8, 16), "float32")
        for i in range(8):
            for j in range(16):
                with T.block("X"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    X[vi, vj] = A[vi, vj]
            for j in range(16):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = X[vi, vj]
)";

TEST(PlanAllocations, GoesToTheLoopAroundAllUses) {
  EXPECT_THAT(Body(Opaque(kTwoSteps)), HasSubstr("    for i in range(8):\n        X = T.decl_buffer((8, 16))\n"));
}

TEST(PlanAllocations, StaysOutsideOfReductions) {
  // All uses lie in the loops, but sums live from one k to the next.
  EXPECT_THAT(Body(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((8,), "float32")
        for k, i in T.grid(16, 8):
            with T.block("X"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    X[vi] = T.float32(0)
                X[vi] = X[vi] + A[vi, vk]
)")),
              HasSubstr("    X = T.decl_buffer((8,))\n    for k, i in T.grid(16, 8):\n"));
}

TEST(PlanAllocations, StaysOutsideOfLoopsThatReadEarlierIterations) {
  EXPECT_THAT(Body(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((16,), "float32")
        for i in range(16):
            with T.block("X"):
                vi = T.axis.spatial(16, i)
                X[vi] = A[vi]
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = T.if_then_else(vi > 0, X[vi - 1], T.float32(0)) + X[vi]
)")),
              HasSubstr("    X = T.decl_buffer((16,))\n    for i in range(16):\n"));
}

// Each block has shared memory for itself, whether or not what it reads is seen to be what it wrote.
TEST(PlanAllocations, MemoryOfBlocksBelongsToThem) {
  EXPECT_THAT(Body(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), P: T.Buffer((8,), "int32"), B: T.Buffer((8, 64), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((8, 64), "float32", scope="shared")
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("X"):
                    vb, v = T.axis.remap("SS", [b, t])
                    X[vb, v] = A[vb, v]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    vb, v = T.axis.remap("SS", [b, t])
                    B[vb, v] = X[vb, P[vb]]
)")),
              HasSubstr("    for b in T.thread_binding(8, thread=\"blockIdx.x\"):\n"
                        "        X = T.decl_buffer((8, 64), scope=\"shared\")\n"));
}

TEST(CompactBuffers, KeepsTheTouchedPart) {
  const std::string body = Body(CompactBuffers(Opaque(kTwoSteps)));
  EXPECT_THAT(body, HasSubstr("X = T.decl_buffer((1, 16))"));
  EXPECT_THAT(body, HasSubstr("X[0, j] = A[i, j]"));
}

TEST(CompactBuffers, TakesTheHullOfOverlappingParts) {
  const std::string body = Body(CompactBuffers(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((66,), "float32"), B: T.Buffer((64,), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((66,), "float32")
        for o in range(8):
            for i in range(10):
                with T.block("X"):
                    vi = T.axis.spatial(66, o * 8 + i)
                    X[vi] = A[vi]
            for i in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(64, o * 8 + i)
                    B[vi] = X[vi] + X[vi + 1] + X[vi + 2]
)")));
  EXPECT_THAT(body, HasSubstr("X = T.decl_buffer((10,))"));
  EXPECT_THAT(body, HasSubstr("B[o * 8 + i] = X[i] + X[i + 1] + X[i + 2]"));
}

// What vectors in registers may reach at most is allocated where that is little: not for a slice to the far end.
TEST(CompactBuffers, BoundsOfSymbolicExtentsAreAllocatedWhereTheyAreSmall) {
  const auto allocated = [](const std::string& extent) {
    const std::string text = absl::Substitute(R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((1,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    X = T.alloc_buffer(($0,), scope="register")
    for i in range($0):
        with T.block("X"):
            vi = T.axis.spatial($0, i)
            X[vi] = A[n - vi - T.int64(1)]
    for k, l in T.grid(($0 + T.int64(63)) // T.int64(64), T.int64(64)):
        with T.block("B"):
            vk = T.axis.reduce($0, k * T.int64(64) + l)
            T.where(k * T.int64(64) + l < $0)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + X[vk]
)",
                                              extent);
    const std::string body = Body(CompactBuffers(Opaque(text)));
    const size_t begin = body.find("X = T.decl_buffer(") + 18;
    return body.substr(begin, body.find(", scope", begin) - begin);
  };
  const auto flipped = [](const std::string& end) {
    return "T.int64(0) - T.max(T.int64(" + end + "), T.int64(0) - n - T.int64(1)) - T.int64(1)";
  };
  EXPECT_EQ(allocated(flipped("-1000")), "(T.int64(1024),)");
  for (const std::string far : {"-2147483648", "-1152921504606846976"}) {
    EXPECT_EQ(allocated(flipped(far)), "(" + flipped(far) + ",)");
  }
}

TEST(CompactBuffers, LeavesGathersAlone) {
  const std::string body = Body(CompactBuffers(Opaque(R"(
@T.prim_func
def main(I: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((100,), "float32")
        for i in range(8):
            with T.block("X"):
                vi = T.axis.spatial(8, i)
                X[I[vi]] = T.float32(1)
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = X[vi]
)")));
  EXPECT_THAT(body, HasSubstr("X = T.decl_buffer((100,))"));
}

// The message, or "" where the match is lowered.
std::string MatchProblem(const std::string& match) {
  auto lowered = LowerMatchBuffers(SubstituteIterators(PlanAllocations(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32")):
    for i in range(4):
        with T.block("part"):
            vi = T.axis.spatial(4, i)
            T.reads()
            T.writes(A[vi * 16:vi * 16 + 16, 0:64])
            )" + match + R"(
            X[0, 0] = T.float32(0)
)"))));
  return lowered.ok() ? "" : std::string(lowered.status().message());
}

TEST(LowerMatchBuffers, RefusesWhatItCannotProve) {
  EXPECT_EQ(MatchProblem("X = T.match_buffer(A[vi * 16:vi * 16 + 16, 0:64], (16, 64), \"float32\")"), "");
  EXPECT_EQ(MatchProblem("X = T.match_buffer(A[vi * 16:vi * 16 + 16, 0:64], (16, 64), \"float32\", strides=[64, 1], "
                         "offset_factor=1024)"),
            "");
  EXPECT_EQ(MatchProblem("X = T.match_buffer(A[vi * 16:vi * 16 + 16, 0:64], (16, 32), \"float32\")"),
            "block part: match_buffer X: its shape differs from the part of A");
  EXPECT_EQ(MatchProblem("X = T.match_buffer(A[vi * 16:vi * 16 + 16, 0:64], (16, 64), \"float32\", strides=[16, 1])"),
            "block part: match_buffer X: cannot prove the stride");
  EXPECT_EQ(
      MatchProblem("X = T.match_buffer(A[vi * 16:vi * 16 + 16, 0:64], (16, 64), \"float32\", offset_factor=2048)"),
      "block part: match_buffer X: cannot prove that the offset is a multiple of offset_factor");
  EXPECT_EQ(
      MatchProblem("X = T.match_buffer(A[vi * 16:vi * 16 + 16, 0:64], (16, 64), \"float32\", scope=\"register\")"),
      "block part: match_buffer X: scope \"register\" of a part of A, which lies in \"global\"");
}

TEST(Simplify, RemovesWhatCannotRun) {
  EXPECT_EQ(Body(SimplifyFunction(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for o in range(1):
        for i in range(16):
            if o * 16 + i < 16:
                A[o * 16 + i] = T.float32(1)
            if i > 20:
                A[0] = T.float32(2)
)"))),
            "    for i in range(16):\n        A[i] = T.float32(1)\n");
}

// A loop's ends are evaluated where it may turn out to have no iteration.
TEST(Simplify, ExtentsMayBeZero) {
  for (const char* extent : {"i // 4", "(i % 4 + 3) // 4", "T.min(i, 1)", "i % 2"}) {
    const std::string body = Body(SimplifyFunction(Opaque(std::string(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in range(8):
        for t in range()") + extent + R"():
            A[i] = A[i] + T.float32(1)
)")));
    EXPECT_THAT(body, HasSubstr(std::string("for t in range(") + extent)) << body;
  }
}

TEST(FlattenBuffers, MultipliesOut) {
  auto flat = FlattenBuffers(Opaque(kTwoSteps));
  ASSERT_TRUE(flat.ok());
  EXPECT_THAT(Body(*flat), HasSubstr("X[i * 16 + j] = A_1[i * 16 + j]"));
  EXPECT_THAT(Body(*flat), HasSubstr("A_1 = T.decl_buffer((128,), data=A.data)"));
}

TEST(Unroll, WritesOut) {
  EXPECT_EQ(Body(UnrollLoops(Opaque(R"(
@T.prim_func
def main(A: T.Buffer((2, 2), "int32")):
    for i, j in T.grid(2, 2):
        A[i, j] = 0
    for i in T.unroll(2):
        for j in T.unroll(2):
            A[i, j] = i
)"))),
            R"(    for i, j in T.grid(2, 2):
        A[i, j] = 0
    A[0, 0] = 0
    A[0, 1] = 0
    A[1, 0] = 1
    A[1, 1] = 1
)");
}

TEST(VerifyLowered, NamesWhatIsLeft) {
  EXPECT_EQ(VerifyLowered(ParseFunctionOrDie(kRowSums)).message(), "block root is left");
  EXPECT_EQ(VerifyLowered(Opaque(kRowSums)).message(), "buffer A is not flat");
}

TEST(Pipeline, DependsOnTheKindOfMachine) {
  const std::vector<std::string_view> cpu = LoweringPassNames(*NamedTarget("arm-neoverse-n1")),
                                      gpu = LoweringPassNames(*NamedTarget("cuda-sm80"));
  EXPECT_EQ(cpu, LoweringPassNames(*NamedTarget("x86-znver4")));
  EXPECT_THAT(cpu, ::testing::Contains("insert_cache_hints"));
  EXPECT_THAT(cpu, Not(::testing::Contains("place_barriers")));
  EXPECT_THAT(gpu, ::testing::Contains("place_barriers"));
  EXPECT_THAT(gpu, Not(::testing::Contains("insert_cache_hints")));
}

// A thread of a GPU moves at most 128 bits at once, and all passes leave a program that is lowered.
TEST(Pipeline, LowersForGpus) {
  const auto lowered = Lower(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 8), "float32"), B: T.Buffer((64, 8), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        for j in T.vectorized(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
)"),
                             *NamedTarget("cuda-sm80"));
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  EXPECT_THAT(Body(lowered->Main()), HasSubstr("B_1[i * 8:i * 8 + 4] = A_1[i * 8:i * 8 + 4]"));
}

TEST(Pipeline, TimesPassesAndShowsOnlyChanges) {
  std::vector<PassTime> times;
  std::vector<std::string> changed;
  LowerOptions options;
  options.after_pass = [&](std::string_view pass, const Function& before, const Function& after) {
    EXPECT_FALSE(before->body.same_as(after->body));
    changed.emplace_back(pass);
  };
  auto lowered = Lower(ParseOrDie(kRowSums), HostTarget(), options, &times);
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  EXPECT_EQ(times.size(), LoweringPassNames(HostTarget()).size());
  EXPECT_THAT(changed, ::testing::Contains("lower_init"));
  EXPECT_THAT(changed, Not(::testing::Contains("skip_padding")));
}

}  // namespace
}  // namespace tilewright
