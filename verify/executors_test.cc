// Memory of threads, warps and blocks: whoever reads an element is who wrote it. Verify and the interpreter agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// What the interpreter finds.
std::string Found(const Function& function) {
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(*AsInt(extent));
    NDArray array(param.buffer->dtype, std::move(shape));
    FillIntegers(array, 1);
    arguments.emplace_back(std::move(array));
  }
  const auto program = interp::Compile(function, interp::CompileOptions::AllChecks());
  if (!program.ok()) return std::string(program.status().message());
  return std::string(program->Run(arguments).message());
}

std::string Refused(const Function& function) {
  for (const Diagnostic& d : VerifyProgram(function).diagnostics) {
    if (d.verdict == Verdict::kRefuted) return std::string(d.check) + ": " + d.reason;
  }
  return "";
}

void ExpectRight(const std::string& text) {
  const Function function = ParseFunctionOrDie(text);
  EXPECT_EQ(Refused(function), "") << text;
  EXPECT_EQ(Found(function), "") << text;
}

void ExpectWrong(const std::string& text, const std::string& reason) {
  const Function function = ParseFunctionOrDie(text);
  EXPECT_THAT(Refused(function), HasSubstr(reason)) << text;
  EXPECT_THAT(Found(function), HasSubstr("another executor's memory: block \"B\" reads ")) << text;
}

// Two nests over 4 blocks of 64 threads; what the second one reads, the first one wrote.
std::string TwoNests(const std::string& scope, const std::string& reads, const std::string& threads = "64") {
  return absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    M = T.alloc_buffer((4, 64), "float32", scope="SCOPE")
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(THREADS, thread="threadIdx.x"):
            for j in range(64 // THREADS):
                with T.block("M"):
                    vi = T.axis.spatial(4, b)
                    vj = T.axis.spatial(64, t * (64 // THREADS) + j)
                    M[vi, vj] = A[vi, vj]
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [b, t])
                B[vi, vj] = M[READS]
)",
                             {{"SCOPE", scope}, {"READS", reads}, {"THREADS", threads}});
}

TEST(Executors, ThreadsReadWhatTheyWrote) {
  ExpectRight(TwoNests("local", "vi, vj"));
  ExpectWrong(TwoNests("local", "vi, 63 - vj"), "M");
  ExpectWrong(TwoNests("local", "3 - vi, vj"), "M");
  ExpectWrong(TwoNests("register", "vi, vj // 2"), "M");
  // Fewer threads write than read.
  ExpectWrong(TwoNests("local", "vi, vj", "32"), "each index of threadIdx.x has a copy of M (scope local)");
}

TEST(Executors, BlocksReadWhatTheirThreadsWrote) {
  ExpectRight(TwoNests("shared", "vi, 63 - vj"));
  ExpectRight(TwoNests("shared.dyn", "vi, vj // 2", "32"));
  ExpectWrong(TwoNests("shared", "3 - vi, vj"), "M");
  ExpectRight(TwoNests("global", "3 - vi, 63 - vj"));
}

TEST(Executors, WarpsReadWhatTheirLanesWrote) {
  ExpectRight(TwoNests("warp", "vi, vj // 32 * 32 + (31 - vj % 32)"));
  ExpectWrong(TwoNests("warp", "vi, 63 - vj"), "M");
  // All lanes that write are of one warp.
  ExpectWrong(TwoNests("warp", "vi, vj", "16"), "each index of threadIdx.x has a copy of M (scope warp)");
}

// One nest over blocks, two over threads.
std::string InOneBlock(const std::string& scope, const std::string& shape, const std::string& writes,
                       const std::string& reads) {
  return absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("of_block"):
            vi = T.axis.spatial(4, b)
            M = T.alloc_buffer(SHAPE, "float32", scope="SCOPE")
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("M"):
                    vj = T.axis.spatial(64, t)
                    M[WRITES] = A[vi, vj]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    vj = T.axis.spatial(64, t)
                    B[vi, vj] = M[READS]
)",
                             {{"SCOPE", scope}, {"SHAPE", shape}, {"WRITES", writes}, {"READS", reads}});
}

TEST(Executors, ElementsThatEachThreadWrites) {
  ExpectRight(InOneBlock("local", "(64,)", "vj", "vj"));
  ExpectRight(InOneBlock("shared", "(64,)", "vj", "63 - vj"));
  ExpectWrong(InOneBlock("local", "(64,)", "vj", "63 - vj"), "M");
  // All threads write M[0], each its own; the program in order gives the last one's to all.
  ExpectWrong(InOneBlock("local", "(1,)", "0", "0"), "M");
}

// What stands in no loop over threads, all of them run, each in memory of its own.
TEST(Executors, OutsideOfLoopsOverThreads) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    M = T.alloc_buffer((8, 64), "float32", scope="SCOPE")
    for b in T.thread_binding(8, thread="blockIdx.x"):
        for j in range(64):
            with T.block("M"):
                vi, vj = T.axis.remap("SS", [b, j])
                M[vi, vj] = A[vi, vj]
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [b, t])
                B[vi, vj] = M[vi, 63 - vj]
)";
  ExpectRight(absl::StrReplaceAll(text, {{"SCOPE", "local"}}));
  ExpectRight(absl::StrReplaceAll(text, {{"SCOPE", "shared"}}));
  const std::string turned =
      absl::StrReplaceAll(text, {{"for j in range(64)", "for j in T.thread_binding(64, thread=\"threadIdx.x\")"},
                                 {"for t in T.thread_binding(64, thread=\"threadIdx.x\")", "for t in range(64)"}});
  ExpectWrong(absl::StrReplaceAll(turned, {{"SCOPE", "local"}}), "threadIdx.x has a copy of M (scope local)");
  ExpectRight(absl::StrReplaceAll(turned, {{"SCOPE", "shared"}}));
}

// Nobody wrote it since another thread did.
TEST(Executors, WhatAnotherThreadWroteInBetween) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    M = T.alloc_buffer((64,), "float32", scope="local")
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("M"):
            v = T.axis.spatial(64, t)
            M[v] = A[v]
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("M_again"):
            v = T.axis.spatial(64, t)
            M[PLACE] = A[v] + T.float32(1)
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(64, t)
            B[v] = M[v]
)";
  ExpectRight(absl::StrReplaceAll(text, {{"PLACE", "v"}}));
  ExpectWrong(absl::StrReplaceAll(text, {{"PLACE", "63 - v"}}),
              "each index of threadIdx.x has a copy of M (scope local), and a read of M[t] in block B may be of what "
              "another one writes: a write of M[63 - t] in block M_again");
}

// A sum over threads: all of them have it.
TEST(Executors, WhatThreadsCombine) {
  ExpectRight(R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    M = T.alloc_buffer((4,), "float32", scope="local")
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("M"):
                vi, vk = T.axis.remap("SR", [b, t])
                with T.init():
                    M[vi] = T.float32(0)
                M[vi] = M[vi] + A[vi, vk]
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [b, t])
                B[vi, vj] = M[vi]
)");
  // Each thread adds what it has.
  const std::string sum = R"(
@T.prim_func
def main(A: T.Buffer((n, 64), "float32"), C: T.Buffer((n,), "float32"), n: T.int32):
    M = T.alloc_buffer((n, 64), "float32", scope="local")
    for i in range(n):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("M"):
                vi, vk = T.axis.remap("SS", [i, t])
                M[vi, vk] = A[vi, vk]
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, t])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + M[PLACE]
)";
  EXPECT_EQ(Refused(ParseFunctionOrDie(absl::StrReplaceAll(sum, {{"PLACE", "vi, vk"}}))), "");
  EXPECT_THAT(Refused(ParseFunctionOrDie(absl::StrReplaceAll(sum, {{"PLACE", "vi, 63 - vk"}}))), HasSubstr("M"));
}

}  // namespace
}  // namespace tilewright
