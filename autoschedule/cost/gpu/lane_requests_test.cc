#include "autoschedule/cost/gpu/lane_requests.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// The requests of a warp of 32 for loads of A, at an index of the thread tx and of the row ty.
LaneRequests Requests(const std::string& index, int vector = 1, int threads = 32) {
  const std::string n = std::to_string(threads);
  const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4, )" +
                                                            n + R"(), "float32")):
    for y in T.thread_binding(4, "threadIdx.y"):
        for x in T.thread_binding()" + n + R"(, "threadIdx.x"):
            with T.block("B"):
                ty, tx = T.axis.remap("SS", [y, x])
                B[ty, tx] = A[)" + index + "]\n"));
  for (const AccessFacts& access : facts.accesses) {
    if (!access.write) return RequestsOfWarp(facts, access, vector, /*warp_size=*/32, /*sector_bytes=*/32);
  }
  ADD_FAILURE() << "no load";
  return {};
}

TEST(LaneRequests, NeighboursShareSectors) {
  EXPECT_EQ(Requests("tx").bytes, 128);
  EXPECT_EQ(Requests("tx").sectors, 4);
  // Each second element: as many bytes, twice the memory.
  EXPECT_EQ(Requests("tx * 2").bytes, 128);
  EXPECT_EQ(Requests("tx * 2").sectors, 8);
  // A sector for each thread.
  EXPECT_EQ(Requests("tx * 32").sectors, 32);
}

TEST(LaneRequests, OneElementForAllIsAskedOnce) {
  EXPECT_EQ(Requests("ty").bytes, 4);
  EXPECT_EQ(Requests("ty").sectors, 1);
  EXPECT_EQ(Requests("tx // 8").bytes, 16);
}

TEST(LaneRequests, VectorsWidenTheAccess) {
  EXPECT_EQ(Requests("tx * 4", 4).bytes, 512);
  EXPECT_EQ(Requests("tx * 4", 4).sectors, 16);
}

TEST(LaneRequests, RowsOfThreadsFillAWarp) {
  // 16 threads a row: a warp has two rows.
  EXPECT_EQ(Requests("ty * 1024 + tx", 1, 16).bytes, 128);
  EXPECT_EQ(Requests("ty * 1024 + tx", 1, 16).sectors, 4);
  EXPECT_EQ(Requests("ty", 1, 16).bytes, 8);
}

}  // namespace
}  // namespace tilewright
