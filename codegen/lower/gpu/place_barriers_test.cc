// Barriers of kernels: which accesses need them, and which do not.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/substitute.h"
#include "codegen/lower/gpu/testing/kernel_testing.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::CompareLowered;
using testing::LoweredTo;

// Two stores of each thread, the second one `distance` elements further.
std::string TwoStores(int distance) {
  return "@T.prim_func\ndef main(A: T.Buffer((64,), \"float32\"), B: T.Buffer((128,), \"float32\")):\n"
         "    for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
         "        B[tx // 8 * 16 + tx % 8] = A[tx]\n"
         "        B[tx // 8 * 16 + tx % 8 + " +
         std::to_string(distance) + "] = A[tx + 1]\n";
}
// Elements that no two of all these stores share need no barrier between.
TEST(PlaceBarriers, StoresAtADistance) {
  for (const auto& [distance, barriers] : {std::pair(8, false), {64, false}, {1, true}, {7, true}, {16, true}}) {
    const Function function = ParseFunctionOrDie(TwoStores(distance));
    const auto lowered = LoweredTo(function);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    EXPECT_EQ(Print(*lowered).find("tvm_storage_sync") != std::string::npos, barriers) << distance;
    if (!barriers) EXPECT_EQ(CompareLowered(function), absl::OkStatus());
  }
}

size_t BarriersOf(const std::string& text) {
  const std::string lowered = Print(*LoweredTo(ParseFunctionOrDie(text), "lower_warp_memory"));
  size_t barriers = 0;
  for (size_t at = lowered.find("storage_sync"); at != std::string::npos; at = lowered.find("storage_sync", at + 1))
    ++barriers;
  return barriers;
}

// A row of 25 elements by 16 threads, in two steps, of which the last is cut short.
std::string RowsInSteps(const std::string& statements) {
  return R"(
@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for r in T.thread_binding(4, thread="threadIdx.y"):
        for t in T.thread_binding(16, thread="threadIdx.x"):
            for k in range(2):
                if k * 16 + t < 25:
)" + statements;
}

TEST(PlaceBarriers, RowsThatAreCutShortAreApart) {
  const std::string own = "                    B[r * 25 + k * 16 + t] = A[r * 25 + k * 16 + t]\n";
  EXPECT_EQ(BarriersOf(RowsInSteps(own)), 0u);
  EXPECT_EQ(CompareLowered(ParseFunctionOrDie(RowsInSteps(own))), absl::OkStatus());
}

TEST(PlaceBarriers, StoresAtADistanceAreOfOneThread) {
  const char* text = R"(
@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for t in T.thread_binding(16, thread="threadIdx.x"):
        for k in range(2):
            B[k * 128 + t * 8:k * 128 + t * 8 + 4] = A[k * 128 + t * 8:k * 128 + t * 8 + 4]
            B[k * 128 + t * 8 + 4:k * 128 + t * 8 + 8] = A[k * 128 + t * 8 + 4:k * 128 + t * 8 + 8]
)";
  EXPECT_EQ(BarriersOf(text), 0u);
  EXPECT_EQ(CompareLowered(ParseFunctionOrDie(text)), absl::OkStatus());
}

// The first element of the next thread's four.
TEST(PlaceBarriers, StoresAtALongerDistanceMeet) {
  EXPECT_EQ(BarriersOf(R"(
@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for t in T.thread_binding(16, thread="threadIdx.x"):
        B[t * 4:t * 4 + 4] = A[t * 4:t * 4 + 4]
        B[t * 4 + 4] = A[t]
)"),
            1u);
}

// What conditions say of threads keeps accesses apart; what they say of a thread's own memory does not, since that of
// another thread holds something else.
TEST(PlaceBarriers, ConditionsOfThreadsKeepAccessesApart) {
  const auto barriers = [](const char* first, const char* second) {
    return BarriersOf(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    X = T.alloc_buffer((1,), "float32", scope="local")
    for t in T.thread_binding(16, thread="threadIdx.x"):
        X[0] = A[t]
        if $0:
            B[t] = A[t]
        if $1:
            C[t] = B[15 - t]
)",
                                       first, second));
  };
  EXPECT_EQ(barriers("t < 8", "t < 8"), 0u);
  EXPECT_EQ(barriers("t < 8", "t >= 8"), 1u);
  EXPECT_EQ(barriers("X[0] > T.float32(0)", "X[0] <= T.float32(0)"), 1u);
}

// Sums of rows, which one thread along x of each row keeps: the free threads alone have to be told apart.
TEST(PlaceBarriers, ThreadsThatConditionsFixAreNotFree) {
  const auto barriers = [](const char* first, const char* second) {
    return BarriersOf(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((7, 64), "float32"), C: T.Buffer((7,), "float32")):
    for r in T.thread_binding(8, thread="threadIdx.y"):
        for t in T.thread_binding(16, thread="threadIdx.x"):
            for k in range(64):
                if k == 0 and r < 7 and $0:
                    C[r] = T.float32(0)
                if r < 7 and $1:
                    C[r] = C[r] + A[r, k]
)",
                                       first, second));
  };
  EXPECT_EQ(barriers("t == 0", "t == 0"), 0u);
  EXPECT_EQ(barriers("t == 0", "t < 1"), 0u);
  EXPECT_EQ(barriers("t + k < 1", "t + k < 1"), 0u);
  EXPECT_EQ(barriers("t == 0", "k + t < 1"), 0u);
  EXPECT_GT(barriers("t + k < 2", "t + k < 2"), 0u);
  EXPECT_GT(barriers("t == 0", "t == 1"), 0u);
  EXPECT_GT(barriers("t == 0", "t == k % 2"), 0u);
}

}  // namespace
}  // namespace tilewright
