// Tiles that threads would copy from shared memory to an array, stored by the engine (codegen/lower/gpu/bulk_stores.h):
// what is stored so, where it is clipped, and what stays with the threads.
#include "codegen/lower/gpu/bulk_stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/cuda/testing/scheduled_kernels.h"
#include "codegen/lower/gpu/bulk_boxes.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using cuda::testing::Emulated;
using cuda::testing::KernelText;
using cuda::testing::Scheduled;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTarget[] = "cuda-sm90a";

// B[INDEX] = A[v, c] + 1 of so many rows and columns, in tiles of 64 x 64 that 128 threads make in shared memory.
std::string Program(int rows, int columns, const std::string& shape, const std::string& index) {
  return absl::StrReplaceAll(
      R"(
@T.prim_func
def main(A: T.Buffer((ROWS, COLUMNS), "float16"), B: T.Buffer(SHAPE, "float16")):
    T_ = T.alloc_buffer((ROWS, COLUMNS), "float16")
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("T_"):
            v, c = T.axis.remap("SS", [i, j])
            T_[v, c] = A[v, c] + T.float16(1)
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("B"):
            v, c = T.axis.remap("SS", [i, j])
            B[INDEX] = T_[v, c]
)",
      {{"ROWS", absl::StrCat(rows)}, {"COLUMNS", absl::StrCat(columns)}, {"SHAPE", shape}, {"INDEX", index}});
}
constexpr char kSchedule[] = R"(
B = sch.get_block("B")
i, j = sch.get_loops(B)
i0, i1 = sch.split(i, factors=[None, 64])
j0, j1 = sch.split(j, factors=[None, 64])
sch.reorder(i0, j0, i1, j1)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
S = sch.get_block("T_")
sch.compute_at(S, j0)
sch.set_scope(S, 0, "shared")
e = sch.fuse(i1, j1)
e0, e1, e2 = sch.split(e, factors=[None, 128, 8])
sch.bind(e1, "threadIdx.x")
sch.vectorize(e2)
s = sch.fuse(sch.get_loops(S)[-2], sch.get_loops(S)[-1])
s0, s1, s2 = sch.split(s, factors=[None, 128, 8])
sch.bind(s1, "threadIdx.x")
sch.set_layout(S, 0, "swizzle_128B")
)";

std::string TextOf(const std::string& program, const std::string& schedule = kSchedule) {
  const Function scheduled = Scheduled(program, schedule);
  EXPECT_EQ(Emulated(scheduled, kTarget), "");
  return KernelText(scheduled, kTarget);
}

TEST(BulkStores, TilesOfMatrices) {
  const std::string text = TextOf(Program(256, 128, "(256, 128)", "v, c"));
  EXPECT_THAT(text, HasSubstr("tw::tma_store(&B_map, "));
  EXPECT_THAT(text, HasSubstr("tw::bulk_commit();"));
  EXPECT_THAT(text, HasSubstr("tw::bulk_wait_read<0>();"));
  EXPECT_THAT(text, HasSubstr("tw::fence_proxy_async_shared();"));
  // Distances of rows may be longer than rows.
  EXPECT_THAT(TextOf(Program(128, 64, "(256, 64)", "v * 2, c")), HasSubstr("tw::tma_store("));
}

TEST(BulkStores, RowsThatRunThroughSeveralDimensions) {
  EXPECT_THAT(TextOf(Program(256, 64, "(4, 8, 8, 64)", "v // 64, v % 64 // 8, v % 8, c")), HasSubstr("tw::tma_store("));
  EXPECT_THAT(TextOf(Program(128, 64, "(2, 8, 8, 128)", "v // 64, v % 64 // 8, v % 8, c + 64")),
              HasSubstr("tw::tma_store("));
}

// The engine stores nothing outside of the array.
TEST(BulkStores, AreClippedAtEdges) {
  EXPECT_THAT(TextOf(Program(200, 72, "(200, 72)", "v, c")), HasSubstr("tw::tma_store("));
  EXPECT_THAT(TextOf(Program(117, 64, "(13, 9, 64)", "v // 9, v % 9, c")), HasSubstr("tw::tma_store("));
}

// What ends where the array does not, is transposed, or has rows that begin at other addresses, threads store; and what
// no layout gives to the engine.
TEST(BulkStores, AreLeftToThreads) {
  for (const std::string& program :
       {Program(72, 64, "(100, 64)", "v, c"), Program(64, 72, "(64, 128)", "v, c"), Program(64, 64, "(64, 64)", "c, v"),
        Program(64, 64, "(64, 68)", "v, c"), Program(64, 64, "(4096,)", "v * 64 + (c + v) % 64")}) {
    EXPECT_THAT(TextOf(program), Not(HasSubstr("tma_store")));
  }
  const std::string plain = absl::StrReplaceAll(kSchedule, {{"sch.set_layout(S, 0, \"swizzle_128B\")\n", ""}});
  EXPECT_THAT(TextOf(Program(128, 64, "(128, 64)", "v, c"), plain), Not(HasSubstr("tma_store")));
}

// Threads that read the array in the same kernel do so when it is written.
TEST(BulkStores, OfWhatTheKernelReads) {
  std::string program = Program(128, 64, "(128, 64)", "v, c");
  program = absl::StrReplaceAll(
      program, {{"(128, 64), \"float16\")):", "(128, 64), \"float16\"), D: T.Buffer((128, 64), \"float16\")):"}});
  absl::StrAppend(&program, R"(
    for i, j in T.grid(128, 64):
        with T.block("D"):
            v, c = T.axis.remap("SS", [i, j])
            D[v, c] = B[v, c] * T.float16(2)
)");
  const std::string schedule = absl::StrCat(kSchedule, R"(
D = sch.get_block("D")
sch.reverse_compute_at(D, j0)
d = sch.fuse(sch.get_loops(D)[-2], sch.get_loops(D)[-1])
d0, d1 = sch.split(d, factors=[None, 128])
sch.bind(d1, "threadIdx.x")
)");
  EXPECT_THAT(TextOf(program, schedule), HasSubstr("tw::bulk_wait<0>();"));
}

TEST(BoxNest, SortsConditions) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float16"), B: T.Buffer((60, 64), "float16"), n: T.int32):
    if n == 0:
        for i, j in T.grid(64, 64):
            if i < 60:
                B[i, j] = A[i, j]
)");
  const auto* root = dyn_cast<BlockRealizeNode>(function->body);
  const std::optional<BoxNest> nest = BoxNestOf(root == nullptr ? function->body : root->block->body);
  ASSERT_TRUE(nest.has_value());
  EXPECT_EQ(nest->conditions.size(), 1u);
  EXPECT_EQ(nest->bounds.size(), 1u);
  EXPECT_EQ(nest->rows(), 64);
  EXPECT_EQ(nest->columns(), 64);
}

}  // namespace
}  // namespace tilewright
