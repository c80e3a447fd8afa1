// Kernels wait for the one in front of them, and let the next one begin.
#include "codegen/lower/gpu/grids/dependent_grids.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// What stands in the program, line by line: stores by the name of their array, branches, waits and launches.
std::string OrderOf(const std::string& body, const std::string& attribute = "") {
  const std::string text =
      "@T.prim_func\ndef main(A: T.Buffer((64,), \"float32\"), W: T.Buffer((64,), \"float32\"), "
      "N: T.Buffer((1,), \"int32\"), B: T.Buffer((64,), \"float32\"), n: T.int32):\n" +
      attribute + body;
  const std::string printed = Print(OrderDependentGrids(ParseFunctionOrDie(text)));
  std::vector<std::string> found;
  for (const auto view : absl::StrSplit(printed, '\n')) {
    const std::string line(absl::StripAsciiWhitespace(view));
    if (absl::StrContains(line, "grid_dependency_wait")) found.emplace_back("wait");
    if (absl::StrContains(line, "grid_dependency_launch")) found.emplace_back("launch");
    if (absl::StartsWith(line, "if ")) found.emplace_back("if");
    if (absl::StartsWith(line, "else")) found.emplace_back("else");
    if (absl::StartsWith(line, "S[")) found.emplace_back("S");
    if (absl::StartsWith(line, "B[")) found.emplace_back("B");
  }
  return absl::StrJoin(found, " ");
}

constexpr char kThreads[] = R"(    for bx in T.thread_binding(2, thread="blockIdx.x"):
        S = T.allocate([32], "float32", "local")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
)";

TEST(DependentGrids, WaitsInFrontOfTheFirstAccess) {
  const std::string body = std::string(kThreads) +
                           "            S[0] = T.float32(1)\n"
                           "            S[1] = A[bx * 32 + tx]\n"
                           "            B[bx * 32 + tx] = S[0] + S[1]\n";
  EXPECT_EQ(OrderOf(body), "S wait S launch B");
}

TEST(DependentGrids, ConstantsAreReadBefore) {
  const std::string body = std::string(kThreads) +
                           "            S[0] = W[tx]\n"
                           "            for k in range(4):\n"
                           "                S[1] = S[1] + W[k] * A[k]\n"
                           "            B[bx * 32 + tx] = S[0] + S[1]\n";
  EXPECT_EQ(OrderOf(body), "wait S S launch B");
  EXPECT_EQ(OrderOf(body, "    T.func_attr({\"tilewright.constant_params\": [1]})\n"), "S wait S launch B");
}

// What is written is touched by the kernel in front, too.
TEST(DependentGrids, WaitsInFrontOfWrites) {
  EXPECT_EQ(OrderOf(std::string(kThreads) + "            B[bx * 32 + tx] = T.float32(0)\n"), "wait launch B");
}

// Both roles wait for themselves; what follows need not wait again.
TEST(DependentGrids, BranchesOfThreads) {
  const std::string body = std::string(kThreads) +
                           "            if tx < 16:\n"
                           "                S[0] = T.float32(1)\n"
                           "                S[1] = A[tx]\n"
                           "            else:\n"
                           "                S[2] = A[tx]\n"
                           "            B[bx * 32 + tx] = S[0]\n";
  EXPECT_EQ(OrderOf(body), "if S wait S else wait S launch B");
}

TEST(DependentGrids, BranchesOfSomeThreadsDoNotWaitForAll) {
  const std::string body = std::string(kThreads) +
                           "            if tx < 16:\n"
                           "                S[1] = A[tx]\n"
                           "            B[bx * 32 + tx] = S[0]\n";
  EXPECT_EQ(OrderOf(body), "if wait S wait launch B");
}

// No thread may come by where an extent decides.
TEST(DependentGrids, WaitsInFrontOfBranchesOfExtents) {
  const std::string body = std::string(kThreads) +
                           "            if bx * 32 + tx < n:\n"
                           "                B[bx * 32 + tx] = A[tx]\n";
  EXPECT_EQ(OrderOf(body), "wait launch if B");
}

// A loop whose extent is in memory is part of a kernel of one thread, which comes after all that is in front.
TEST(DependentGrids, HostsThatReadMemory) {
  const std::string kernel =
      "        for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n            B[tx] = A[tx]\n";
  EXPECT_EQ(OrderOf("    for step in range(n):\n" + kernel), "wait launch B");
  EXPECT_EQ(OrderOf("    for step in range(N[0]):\n" + kernel), "B");
}

}  // namespace
}  // namespace tilewright
