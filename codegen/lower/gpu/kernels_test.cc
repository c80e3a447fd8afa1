// Kernels through the passes for GPUs, compared with what the programs mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/lower/gpu/testing/kernel_testing.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::CompareLowered;
using ::testing::HasSubstr;
using testing::LoweredTo;
using ::testing::Not;

struct Program {
  const char* name;
  const char* text;
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

// A sum over threads of each row: THREADS is replaced.
std::string RowSums(const std::string& around, const std::string& reduced, int extent) {
  return "@T.prim_func\ndef main(A: T.Buffer((6, " + std::to_string(extent) +
         "), \"float32\"), B: T.Buffer((6,), \"float32\")):\n" + around + "                with T.block(\"B\"):\n" +
         "                    vi = T.axis.spatial(6, i)\n                    vk = T.axis.reduce(" +
         std::to_string(extent) + ", " + reduced + ")\n" +
         "                    with T.init():\n                        B[vi] = T.float32(0)\n" +
         "                    B[vi] = B[vi] + A[vi, vk]\n";
}
std::string SumsOfLanes(int threads, int serial) {
  const std::string n = std::to_string(threads);
  return RowSums("    for i in T.thread_binding(6, thread=\"blockIdx.x\"):\n        for tx in T.thread_binding(" + n +
                     ", thread=\"threadIdx.x\"):\n            for k in range(" + std::to_string(serial) + "):\n",
                 "k * " + n + " + tx", threads * serial);
}

TEST(CrossThreadReduction, SumsOverAnyNumberOfThreads) {
  for (const int threads : {1, 2, 8, 16, 32, 24, 64, 96, 128, 33, 100, 256, 1024}) {
    for (const int serial : {1, 3}) {
      SCOPED_TRACE(threads);
      EXPECT_EQ(CompareLowered(ParseFunctionOrDie(SumsOfLanes(threads, serial))), absl::OkStatus());
    }
  }
}

TEST(CrossThreadReduction, UsesShufflesAndOneBarrier) {
  const std::string text = Print(*LoweredTo(ParseFunctionOrDie(SumsOfLanes(128, 4)), "lower_warp_memory"));
  EXPECT_THAT(text, HasSubstr("shfl_xor_sync"));
  size_t barriers = 0;
  for (size_t at = text.find("storage_sync"); at != std::string::npos; at = text.find("storage_sync", at + 1))
    ++barriers;
  EXPECT_EQ(barriers, 1) << text;
}

const Program kPrograms[] = {
    {"rows_by_y", R"(
@T.prim_func
def main(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16,), "float32")):
    for ty in T.thread_binding(8, thread="threadIdx.y"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            for k in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(16, tx)
                    vk = T.axis.reduce(32, k * 8 + ty)
                    with T.init():
                        B[vi] = T.float32(1)
                    B[vi] = B[vi] + A[vk, vi]
)"},
    {"maximum_and_elements_inside", R"(
@T.prim_func
def main(A: T.Buffer((4, 3, 100), "int32"), B: T.Buffer((4, 3), "int32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(4):
                for j in range(3):
                    with T.block("B"):
                        vb, vj = T.axis.remap("SS", [bx, j])
                        vk = T.axis.reduce(100, k * 32 + tx)
                        T.where(k * 32 + tx < 100)
                        with T.init():
                            B[vb, vj] = T.int32(-100)
                        B[vb, vj] = T.max(B[vb, vj], A[vb, vj, vk])
)"},
    {"reduced_by_a_loop_around_the_threads", R"(
@T.prim_func
def main(A: T.Buffer((6, 128), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 4):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce(128, k * 32 + tx)
                with T.init():
                    B[vi] = T.float32(1)
                B[vi] = B[vi] + A[vi, vk]
)"},
    {"reduced_by_a_loop_around_blocks", R"(
@T.prim_func
def main(A: T.Buffer((6, 128), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for k in range(2):
        for bx in T.thread_binding(6, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.spatial(6, bx)
                    vk = T.axis.reduce(128, k * 64 + tx)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
    for tx in T.thread_binding(6, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(6, tx)
            C[vi] = B[5 - vi]
)"},
    {"argmax", R"(
@T.prim_func
def main(A: T.Buffer((4, 128), "float32"), I: T.Buffer((4,), "int32"), V: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            for k in range(2):
                with T.block("argmax"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(128, tx * 2 + k)
                    T.reads(A[vi, vk])
                    T.writes(I[vi], V[vi])
                    with T.init():
                        I[vi] = -1
                        V[vi] = T.float32(-1000)
                    v_i: T.int32 = T.Select(V[vi] >= A[vi, vk], I[vi], vk)
                    v_v: T.float32 = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
                    I[vi] = v_i
                    V[vi] = v_v
)"},
    {"groups_of_eight_lanes", R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(8, tx // 8)
            vk = T.axis.reduce(8, tx % 8)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
)"},
    {"strided_groups", R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(8, tx % 8)
            vk = T.axis.reduce(8, tx // 8)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
)"},
    {"into_local_memory", R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), D: T.Buffer((4, 64), "float32")):
    C = T.alloc_buffer((4,), scope="local")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, tx])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, tx])
                D[vi, vj] = C[vi] * A[vi, vj]
)"},
    {"softmax", R"(
@T.prim_func
def main(A: T.Buffer((4, 96), "float32"), B: T.Buffer((4, 96), "float32")):
    M = T.alloc_buffer((4,), scope="shared")
    S = T.alloc_buffer((4,), scope="shared")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(3):
                with T.block("M"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(96, k * 32 + tx)
                    with T.init():
                        M[vi] = T.float32(-10000)
                    M[vi] = T.max(M[vi], A[vi, vk])
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(3):
                with T.block("S"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(96, k * 32 + tx)
                    with T.init():
                        S[vi] = T.float32(0)
                    S[vi] = S[vi] + (A[vi, vk] - M[vi])
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(3):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(96, k * 32 + tx)
                    B[vi, vj] = (A[vi, vj] - M[vi]) + S[vi]
)"},
    {"shared_stage_in_a_loop", R"(
@T.prim_func
def main(A: T.Buffer((4, 8, 64), "float32"), B: T.Buffer((4, 8, 64), "float32")):
    S = T.alloc_buffer((64,), scope="shared")
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for k in range(8):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("S"):
                    vb, vk, vx = T.axis.remap("SSS", [bx, k, tx])
                    S[vx] = A[vb, vk, vx]
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    vb, vk, vx = T.axis.remap("SSS", [bx, k, tx])
                    B[vb, vk, vx] = S[63 - vx]
)"},
    {"parts_with_fewer_threads", R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 32), "float32"), C: T.Buffer((4,), "float32")):
    S = T.alloc_buffer((64,), scope="shared")
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                vb, vx = T.axis.remap("SS", [bx, tx])
                S[vx] = A[vb, vx]
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                vb, vx = T.axis.remap("SS", [bx, tx])
                B[vb, vx] = S[vx * 2] + S[63 - vx]
        with T.block("C"):
            vb = T.axis.spatial(4, bx)
            C[vb] = S[0] + S[63]
)"},
    {"threads_joined_inside", R"(
@T.prim_func
def main(A: T.Buffer((128, 64), "float32"), B: T.Buffer((128,), "float32")):
    S = T.alloc_buffer((128, 64), scope="shared")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(4):
            for i in range(64):
                for u in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("S"):
                        vi = T.axis.spatial(128, i * 2 + u // 16)
                        vk = T.axis.spatial(64, k * 16 + u % 16)
                        S[vi, vk] = A[vi, vk]
            for r in range(4):
                for kk in range(16):
                    with T.block("B"):
                        vi = T.axis.spatial(128, r * 32 + tx)
                        vk = T.axis.reduce(64, k * 16 + kk)
                        with T.init():
                            B[vi] = T.float32(0)
                        B[vi] = B[vi] + S[vi, vk]
)"},
    {"scratch_of_a_thread_that_loops_by_it", R"(
@T.prim_func
def main(X: T.Buffer((64, 32), "int32"), Y: T.Buffer((64,), "int32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("row"):
                vi = T.axis.spatial(64, b * 32 + t)
                T.reads(X[vi, 0:32])
                T.writes(Y[vi])
                S = T.alloc_buffer((2,), "int32")
                S[0] = 0
                S[1] = 0
                while S[0] < 32:
                    if X[vi, S[0]] > 0:
                        S[1] = S[1] + X[vi, S[0]]
                    S[0] = S[0] + 1 + T.max(X[vi, S[0]], 0)
                Y[vi] = S[1]
)"},
    {"workspace_of_a_block", R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), C: T.Buffer((4, 64), "float32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("k"):
            v = T.axis.spatial(4, b)
            T.reads(A[v, 0:64])
            T.writes(C[v, 0:64])
            W = T.alloc_buffer((64,), "float32")
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("W"):
                    vt = T.axis.spatial(64, t)
                    W[vt] = A[v, vt]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("C"):
                    vt = T.axis.spatial(64, t)
                    C[v, vt] = W[63 - vt]
)"},
    {"no_threads_at_all", R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,), scope="shared")
    for i in range(8):
        with T.block("S"):
            vi = T.axis.spatial(8, i)
            S[vi] = A[vi]
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = S[7 - vi]
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
)"},
    {"two_kernels_and_a_workspace", R"(
@T.prim_func
def main(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    W = T.alloc_buffer((4, 32))
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("W"):
                vb, vx = T.axis.remap("SS", [bx, tx])
                W[vb, vx] = A[vb, vx] + T.float32(1)
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                vb, vx = T.axis.remap("SS", [bx, tx])
                B[vb, vx] = W[3 - vb, 31 - vx]
)"},
    {"virtual_threads", R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((64,), scope="shared")
    C = T.alloc_buffer((64,), scope="local")
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for vx in T.thread_binding(2, thread="vthread.x"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                for i in range(2):
                    with T.block("init"):
                        v = T.axis.spatial(64, bx * 32 + vx * 16 + tx * 2 + i)
                        C[v] = T.float32(0)
                for k in range(8):
                    for u in T.thread_binding(8, thread="threadIdx.x"):
                        for w in range(4):
                            with T.block("S"):
                                v0 = T.axis.spatial(64, bx * 32 + w * 8 + u)
                                vk = T.axis.spatial(8, k)
                                S[v0] = A[vk, v0]
                    for i in range(2):
                        with T.block("C"):
                            v = T.axis.spatial(64, bx * 32 + vx * 16 + tx * 2 + i)
                            vk = T.axis.reduce(8, k)
                            C[v] = C[v] + S[v]
                for i in range(2):
                    with T.block("B"):
                        v = T.axis.spatial(64, bx * 32 + vx * 16 + tx * 2 + i)
                        B[v] = C[v]
)"},
    {"a_copy_of_all_threads", R"(
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    S = T.alloc_buffer((16, 8), scope="shared")
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("S"):
                v0 = T.axis.spatial(2, bx)
                T.reads(A[v0 * 8:v0 * 8 + 8, 0:8])
                T.writes(S[v0 * 8:v0 * 8 + 8, 0:8])
                T.block_attr({"auto_copy": True})
                for i, j in T.grid(8, 8):
                    S[v0 * 8 + i, j] = A[v0 * 8 + i, j]
            for j in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(16, bx * 8 + tx)
                    vj = T.axis.spatial(8, j)
                    B[vi, vj] = S[vi // 8 * 8 + 7 - vi % 8, vj]
)"},
    // 24 threads copy 35 elements, 16 of them 15.
    {"copies_of_more_and_of_fewer_threads", R"(
@T.prim_func
def main(A: T.Buffer((10, 7), "float32"), B: T.Buffer((2, 3, 8), "float32"), C: T.Buffer((2, 15), "float32")):
    S = T.alloc_buffer((10, 7), scope="shared")
    D = T.alloc_buffer((2, 15), scope="shared")
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        with T.block("S"):
            v0 = T.axis.spatial(2, bx)
            T.reads(A[v0 * 5:v0 * 5 + 5, 0:7])
            T.writes(S[v0 * 5:v0 * 5 + 5, 0:7])
            T.block_attr({"auto_copy": True})
            for i, j in T.grid(5, 7):
                S[v0 * 5 + i, j] = A[v0 * 5 + i, j]
        for ty in T.thread_binding(3, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    vb, vy, vx = T.axis.remap("SSS", [bx, ty, tx])
                    B[vb, vy, vx] = S[vb * 5 + vy, (vx * 3) % 7]
        for ty in T.thread_binding(2, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("D"):
                    vb = T.axis.spatial(2, bx)
                    v = T.axis.spatial(15, ty * 8 + tx)
                    T.where(ty * 8 + tx < 15)
                    D[vb, v] = S[vb * 5 + v // 7, v % 7]
                with T.block("C"):
                    vb = T.axis.spatial(2, bx)
                    T.reads(D[vb, 0:15])
                    T.writes(C[vb, 0:15])
                    T.block_attr({"auto_copy": True})
                    for i in range(15):
                        C[vb, i] = D[vb, i]
)"},
    // What only some threads run is not shared by all.
    {"a_copy_below_a_condition_of_threads", R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((32,), "float32")):
    S = T.alloc_buffer((8,), scope="shared")
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        if tx < 1:
            with T.block("S"):
                T.reads(A[0:8])
                T.writes(S[0:8])
                T.block_attr({"auto_copy": True})
                for i in range(8):
                    S[i] = A[i]
        with T.block("B"):
            v = T.axis.spatial(32, tx)
            B[v] = S[v % 8]
)"},
    {"halves_and_floats_share_bytes", R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "float16"), B: T.Buffer((4, 64), "float32")):
    S = T.alloc_buffer((64,), "float16", scope="shared")
    F = T.alloc_buffer((64,), "float32", scope="shared")
    L = T.alloc_buffer((64,), "float32", scope="local")
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                vb, vx = T.axis.remap("SS", [bx, tx])
                S[vx] = A[vb, vx]
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("L"):
                vx = T.axis.spatial(64, tx)
                L[vx] = T.Cast("float32", S[63 - vx])
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("F"):
                vx = T.axis.spatial(64, tx)
                F[vx] = L[vx] * T.float32(2)
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                vb, vx = T.axis.remap("SS", [bx, tx])
                B[vb, vx] = F[63 - vx]
)"},
};

class Kernels : public ::testing::TestWithParam<Program> {};
TEST_P(Kernels, ComputeTheSame) { EXPECT_EQ(CompareLowered(ParseFunctionOrDie(GetParam().text)), absl::OkStatus()); }
INSTANTIATE_TEST_SUITE_P(All, Kernels, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

// Four blocks share ten iterations: the memory of a block is written again for the next one.
std::string SharedBy(const std::string& blocks) {
  return R"(
@T.prim_func
def main(A: T.Buffer((10, 64), "float32"), B: T.Buffer((10, 64), "float32")):
    S = T.alloc_buffer((64,), "float32", scope="shared")
    for bx in T.thread_binding(10, thread="blockIdx.x", annotations={"tilewright.sharing_blocks": )" +
         blocks + R"(}):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                vb, vx = T.axis.remap("SS", [bx, tx])
                S[vx] = A[vb, vx]
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                vb, vx = T.axis.remap("SS", [bx, tx])
                B[vb, vx] = S[63 - vx]
)";
}
TEST(ShareBlocks, GivesEachBlockSeveralIterations) {
  for (const char* blocks : {"1", "4", "5", "9", "10", "16"}) {
    EXPECT_EQ(CompareLowered(ParseFunctionOrDie(SharedBy(blocks))), absl::OkStatus()) << blocks;
  }
  const std::string text = Print(*LoweredTo(ParseFunctionOrDie(SharedBy("4")), "place_barriers"));
  EXPECT_THAT(text, HasSubstr("for bx in T.thread_binding(4, thread=\"blockIdx.x\")"));
  EXPECT_THAT(text, HasSubstr("for bx_turn in range("));
  EXPECT_THAT(Print(*LoweredTo(ParseFunctionOrDie(SharedBy("16")))), Not(HasSubstr("_turn")));
}

}  // namespace
}  // namespace tilewright
