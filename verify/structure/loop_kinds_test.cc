#include "verify/structure/loop_kinds.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

const DataType kF32 = DataType::Float(32);

// C[i] += A[i, k], the loop over k of the given kind
Function RowSum(ForKind i_kind, ForKind k_kind, std::string k_thread = "") {
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {8, 16}, kF32), c = f.Input("C", {8}, kF32);
  f.Loop(
      "i", 8,
      [&](Var i) {
        f.Loop(
            "k", 16,
            [&](Var k) {
              f.Block("C", [&](BlockBuilder& block) {
                Var vi = block.Spatial(8, i, "vi"), vk = block.Reduce(16, k, "vk");
                block.Init([&] { f.Store(c, 0, {vi}); });
                f.Store(c, c(vi) + a(vi, vk), {vi});
              });
            },
            k_kind, k_thread);
      },
      i_kind);
  return f.Build();
}

std::vector<std::string> Reasons(const Function& function) {
  std::vector<std::string> reasons;
  for (const Diagnostic& diagnostic : CheckLoopKinds(function)) reasons.push_back(diagnostic.reason);
  return reasons;
}

TEST(LoopKinds, SpatialLoopsMayBeConcurrent) {
  EXPECT_TRUE(Reasons(RowSum(ForKind::kParallel, ForKind::kSerial)).empty());
  EXPECT_TRUE(Reasons(RowSum(ForKind::kVectorized, ForKind::kUnrolled)).empty());
}

TEST(LoopKinds, ReductionsMayNot) {
  const std::vector<std::string> expected = {
      "loop k is bound to the reduce iterator vk of block C, so its iterations are not independent"};
  EXPECT_EQ(Reasons(RowSum(ForKind::kSerial, ForKind::kParallel)), expected);
  EXPECT_EQ(Reasons(RowSum(ForKind::kSerial, ForKind::kVectorized)), expected);
  EXPECT_EQ(Reasons(RowSum(ForKind::kSerial, ForKind::kThreadBound, "blockIdx.x")), expected);
}

// The fuzzer's seed 1001690: blockize took the update of a sum across threads into a block of its own.
TEST(LoopKinds, NestedBlocksDoNotSumIntoMemoryOfEachThread) {
  const auto reasons = [](const char* update) {
    return Reasons(ParseFunctionOrDie(std::string(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    L = T.alloc_buffer((4,), scope="local")
    for i in range(4):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("L"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(L[vi])
                with T.init():
                    L[vi] = T.float32(0)
)") + update + R"(
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = L[vi]
)"));
  };
  EXPECT_TRUE(reasons("                L[vi] = L[vi] + A[vi, vk]\n").empty());
  const std::vector<std::string> expected = {
      "the threads of loop k reduce by the blocks inside of block L into L, of which each thread has its own"};
  EXPECT_EQ(reasons("                with T.block(\"update\"):\n"
                    "                    T.reads(L[vi], A[vi, vk])\n"
                    "                    T.writes(L[vi])\n"
                    "                    L[vi] = L[vi] + A[vi, vk]\n"),
            expected);
}

// What their iterations touch decides about opaque iterators.
TEST(LoopKinds, OpaqueIterators) {
  const auto verdict = [](const std::string& loop, const std::string& statement, const std::string& scope) {
    return Worst(VerifyProgram(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((9,), "float32"), C: T.Buffer((9,), "float32")):
    L = T.alloc_buffer((9,), scope=")" + scope + R"(")
    for i in )" + loop + R"(:
        with T.block("C"):
            vi = T.axis.opaque(8, i)
            )" + statement + "\n"))
                     .diagnostics);
  };
  for (const std::string loop :
       {"T.parallel(8)", "T.vectorized(8)", "T.thread_binding(8, thread=\"blockIdx.x\")",
        "T.thread_binding(8, thread=\"threadIdx.x\")", "T.thread_binding(8, thread=\"vthread.x\")"}) {
    EXPECT_EQ(verdict(loop, "C[vi + 1] = A[vi]", "global"), Verdict::kProven) << loop;
    EXPECT_EQ(verdict(loop, "C[vi + 1] = C[vi + 1] * A[vi]", "global"), Verdict::kProven) << loop;
    EXPECT_EQ(verdict(loop, "C[vi + 1] = C[vi] + A[vi]", "global"), Verdict::kRefuted) << loop;
    EXPECT_EQ(verdict(loop, "C[vi // 2] = A[vi]", "global"), Verdict::kRefuted) << loop;
    EXPECT_EQ(verdict(loop, "C[0] = A[vi]", "global"), Verdict::kRefuted) << loop;
    // Memory of a thread does not hold what another one wrote.
    EXPECT_EQ(verdict(loop, "L[vi + 1] = L[vi] + A[vi]", "local"), Verdict::kRefuted) << loop;
  }
}

TEST(LoopKinds, ThreadsOfABlockMayReduce) {
  EXPECT_TRUE(Reasons(RowSum(ForKind::kSerial, ForKind::kThreadBound, "threadIdx.x")).empty());
}

TEST(LoopKinds, ThreadsReduceByBlocksWithoutThreads) {
  for (const char* inner : {"threadIdx.y", "vthread.x"}) {
    FunctionBuilder f("main");
    Buffer a = f.Input("A", {16, 4}, kF32), c = f.Input("C", {1}, kF32);
    f.Loop(
        "k", 16,
        [&](Var k) {
          f.Block("C", [&](BlockBuilder& block) {
            Var vk = block.Reduce(16, k, "vk");
            block.Init([&] { f.Store(c, 0, {Expr(0)}); });
            f.Loop("j", 4, [&](Var j) { f.Store(c, c(0) + a(vk, j), {Expr(0)}); }, ForKind::kThreadBound, inner);
          });
        },
        ForKind::kThreadBound, "threadIdx.x");
    const std::vector<std::string> reasons = Reasons(f.Build());
    ASSERT_FALSE(reasons.empty());
    EXPECT_EQ(reasons[0], "the threads of loop k reduce by block C, in which loop j runs over threads again");
  }
}

// for tx: for c, of the given kind: threads meet before and after the loop over them, or at a barrier.
TEST(LoopKinds, ThreadsDoNotMeetInTheirParallelLoops) {
  const auto program = [](ForKind kind, const std::string& inner) {
    FunctionBuilder f("main");
    Buffer a = f.Input("A", {4, 8}, kF32), b = f.Input("B", {4, 8}, kF32);
    f.Loop(
        "tx", 8,
        [&](Var) {
          f.Loop(
              "c", 1,
              [&](Var) {
                f.Loop(
                    "cx", 8,
                    [&](Var cx) {
                      f.Block("B", [&](BlockBuilder& block) {
                        Var vi = block.Spatial(4, FloorDiv(cx, 2), "vi"), vj = block.Spatial(8, cx, "vj");
                        f.Store(b, a(vi, vj), {vi, vj});
                      });
                    },
                    ForKind::kThreadBound, inner);
              },
              kind);
        },
        ForKind::kThreadBound, "threadIdx.x");
    return Reasons(f.Build());
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(program(ForKind::kSerial, "threadIdx.x"), Texts{});
  EXPECT_EQ(program(ForKind::kParallel, "threadIdx.y"), Texts{});
  EXPECT_EQ(program(ForKind::kParallel, "threadIdx.x"),
            Texts{"threads meet inside of the parallel loop c, whose iterations run at the same time"});
  EXPECT_EQ(program(ForKind::kVectorized, "threadIdx.x"),
            Texts{"threads meet inside of the vectorized loop c, whose iterations run at the same time"});
}

TEST(LoopKinds, StoresToTheSameElement) {
  FunctionBuilder f("main");
  Buffer c = f.Input("C", {8}, kF32);
  f.Loop("i", 8, [&](Var) { f.Store(c, 1, {Expr(3)}); }, ForKind::kParallel);
  EXPECT_EQ(Reasons(f.Build()),
            std::vector<std::string>{"all iterations of the parallel loop i store to the same elements of C"});
}

}  // namespace
}  // namespace tilewright
