// Reductions as users of TVM schedule them for GPUs: sums of threads by rfactor, softmax by blocks and by warps.
#include <gtest/gtest.h>

#include <string>

#include "examples/schedules/tvm_case.h"

namespace tilewright {
namespace {

using tvm_schedules::Case;

constexpr char kGemv[] = R"(
@T.prim_func
def main(A: T.Buffer((24, 512), "float16"), X: T.Buffer((512,), "float16"), Y: T.Buffer((24,), "float16")):
    S = T.alloc_buffer((24,), "float32")
    for i, k in T.grid(24, 512):
        with T.block("gemv"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", X[vk])
    for i in range(24):
        with T.block("out"):
            vi = T.axis.spatial(24, i)
            Y[vi] = T.Cast("float16", S[vi] * T.float32(2))
)";
// Two steps of rfactor: lanes of a vector are added up by their thread, threads by shuffles, every thread has the sum.
constexpr char kGemvByRfactor[] = R"(
gemv = sch.get_block("gemv")
s, r = sch.get_loops(gemv)
bx, ts = sch.split(s, factors=[None, 4], preserve_unit_iters=True)
r, tr, vec = sch.split(r, factors=[None, 32, 4], preserve_unit_iters=True)
sch.reorder(bx, ts, r, tr, vec)
tr_vec = sch.fuse(tr, vec)
rf = sch.rfactor(tr_vec, 0)
gemv = sch.get_block("gemv")
bx, ts, tr_vec = sch.get_loops(gemv)
tr, vec = sch.split(tr_vec, factors=[32, None], preserve_unit_iters=True)
rf2 = sch.rfactor(tr, 0)
gemv = sch.get_block("gemv")
bx, ts, r, tr_vec = sch.get_loops(rf)
tr, vec = sch.split(tr_vec, factors=[32, None], preserve_unit_iters=True)
sch.reorder(bx, ts, tr, r, vec)
sch.bind(bx, "blockIdx.x")
sch.bind(ts, "threadIdx.y")
sch.bind(tr, "threadIdx.x")
sch.vectorize(vec)
AL = sch.cache_read(rf, 0, "local")
sch.compute_at(AL, r, preserve_unit_loops=True)
sch.vectorize(sch.get_loops(AL)[-1])
XS = sch.cache_read(rf, 1, "shared")
sch.compute_at(XS, bx, preserve_unit_loops=True)
x = sch.get_loops(XS)[-1]
x0, xy, xx, xv = sch.split(x, factors=[None, 4, 32, 4])
sch.bind(xy, "threadIdx.y")
sch.bind(xx, "threadIdx.x")
sch.vectorize(xv)
sch.reverse_compute_at(rf2, ts, preserve_unit_loops=True)
bx, ts, tr, vec, unit = sch.get_loops(rf2)
sch.bind(tr, "threadIdx.x")
sch.unroll(vec)
sch.reverse_compute_at(gemv, ts, preserve_unit_loops=True)
bx, ts, tr, unit = sch.get_loops(gemv)
sch.bind(tr, "threadIdx.x")
sch.set_scope(rf, 0, "local")
sch.set_scope(rf2, 0, "local")
sch.set_scope(gemv, 0, "local")
sch.reverse_compute_at(sch.get_block("out"), ts, preserve_unit_loops=True)
sch.decompose_reduction(rf, sch.get_loops(rf)[3])
outer = sch.get_loops(rf)[3]
sch.annotate(outer, "pragma_auto_unroll_max_step", 256)
sch.annotate(outer, "pragma_unroll_explicit", 1)
)";
// The reduction's loop bound to threads, without rfactor, into memory of each thread.
constexpr char kGemvByThreads[] = R"(
gemv = sch.get_block("gemv")
i, k = sch.get_loops(gemv)
k0, k1 = sch.split(k, factors=[None, 128])
sch.reorder(i, k1, k0)
sch.bind(i, "blockIdx.x")
sch.bind(k1, "threadIdx.x")
sch.set_scope(gemv, 0, "local")
sch.reverse_compute_at(sch.get_block("out"), i)
sch.unroll(k0)
)";
// A column by each thread, parts of the reduction by threads of another axis.
constexpr char kColumns[] = R"(
@T.prim_func
def main(A: T.Buffer((200, 96), "float32"), X: T.Buffer((200,), "float32"), Y: T.Buffer((96,), "float32")):
    for j, k in T.grid(96, 200):
        with T.block("gemv"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                Y[vj] = T.float32(0)
            Y[vj] = Y[vj] + A[vk, vj] * X[vk]
)";
constexpr char kColumnsByRfactor[] = R"(
gemv = sch.get_block("gemv")
j, k = sch.get_loops(gemv)
k0, k1 = sch.split(k, factors=[None, 8])
rf = sch.rfactor(k1, 0)
gemv = sch.get_block("gemv")
j, k1 = sch.get_loops(gemv)
bx, tx = sch.split(j, factors=[None, 32])
sch.bind(bx, "blockIdx.x")
sch.bind(tx, "threadIdx.x")
sch.bind(k1, "threadIdx.y")
sch.reorder(bx, k1, tx)
sch.compute_at(rf, tx)
sch.set_scope(rf, 0, "local")
sch.annotate(sch.get_loops(rf)[-1], "pragma_auto_unroll_max_step", 16)
)";

constexpr char kSoftmax[] = R"(
@T.prim_func
def main(A: T.Buffer((6, 200), "float32"), B: T.Buffer((6, 200), "float32")):
    M = T.alloc_buffer((6,))
    E = T.alloc_buffer((6, 200))
    S = T.alloc_buffer((6,))
    for i, k in T.grid(6, 200):
        with T.block("max"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(6, 200):
        with T.block("exp"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj] - M[vi])
    for i, k in T.grid(6, 200):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(6, 200):
        with T.block("norm"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = E[vi, vj] / S[vi]
)";
// A row by each block, in steps that the row's length does not divide.
constexpr char kSoftmaxByBlocks[] = R"(
sch.compute_inline(sch.get_block("exp"))
norm = sch.get_block("norm")
i, j = sch.get_loops(norm)
sch.bind(i, "blockIdx.x")
for_all, tx = sch.split(j, factors=[None, 64])
sch.bind(tx, "threadIdx.x")
sch.annotate(for_all, "pragma_auto_unroll_max_step", 256)
sch.annotate(for_all, "pragma_unroll_explicit", 1)
sch.compute_at(sch.get_block("sum"), i, preserve_unit_loops=True)
sch.set_scope(sch.get_block("sum"), 0, "shared")
k0, tx = sch.split(sch.get_loops(sch.get_block("sum"))[-1], factors=[None, 64])
sch.bind(tx, "threadIdx.x")
sch.compute_at(sch.get_block("max"), i, preserve_unit_loops=True)
sch.set_scope(sch.get_block("max"), 0, "shared")
k0, tx = sch.split(sch.get_loops(sch.get_block("max"))[-1], factors=[None, 64])
sch.bind(tx, "threadIdx.x")
)";
// The same with rows that 32 threads divide.
std::string SoftmaxOf192() { return cuda::testing::Replaced(kSoftmax, "200", "192"); }
// Rows by warps, and rfactor before threads reduce together; what threads need of a row stays in their own memory.
constexpr char kSoftmaxByWarps[] = R"(
norm = sch.get_block("norm")
i, j = sch.get_loops(norm)
bx, ty = sch.split(i, factors=[None, 4])
sch.bind(bx, "blockIdx.x")
sch.bind(ty, "threadIdx.y")
j0, tx = sch.split(j, factors=[None, 32])
sch.bind(tx, "threadIdx.x")
total = sch.get_block("sum")
sch.compute_at(total, ty)
k0, tx = sch.split(sch.get_loops(total)[-1], factors=[None, 32])
sch.reorder(tx, k0)
rf = sch.rfactor(tx, 0)
total = sch.get_block("sum")
sch.bind(sch.get_loops(total)[-1], "threadIdx.x")
sch.compute_at(rf, ty)
row, tx, k0 = sch.get_loops(rf)[-3:]
sch.bind(tx, "threadIdx.x")
sch.set_scope(rf, 0, "local")
sch.set_scope(total, 0, "local")
e = sch.get_block("exp")
sch.compute_at(e, ty)
e0, tx = sch.split(sch.get_loops(e)[-1], factors=[None, 32])
sch.bind(tx, "threadIdx.x")
sch.set_scope(e, 0, "shared")
greatest = sch.get_block("max")
sch.compute_at(greatest, ty)
k0, tx = sch.split(sch.get_loops(greatest)[-1], factors=[None, 32])
sch.reorder(tx, k0)
sch.bind(tx, "threadIdx.x")
sch.set_scope(greatest, 0, "local")
)";

// A sum over everything: parts by blocks, the sum of parts by the threads of one.
constexpr char kSumOfAll[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 80), "float32"), B: T.Buffer((1,), "float32")):
    for o, i, j in T.grid(1, 64, 80):
        with T.block("B"):
            vo, vi, vj = T.axis.remap("SRR", [o, i, j])
            with T.init():
                B[vo] = T.float32(0)
            B[vo] = B[vo] + A[vi, vj] * A[vi, vj]
)";
constexpr char kSumOfAllByBlocks[] = R"(
B = sch.get_block("B")
o, i, j = sch.get_loops(B)
f = sch.fuse(i, j)
f0, f1 = sch.split(f, factors=[40, None])
rf = sch.rfactor(f0, 0)
B = sch.get_block("B")
o, f0 = sch.get_loops(B)
sch.bind(o, "blockIdx.x")
sch.bind(f0, "threadIdx.x")
o, f0, f1 = sch.get_loops(rf)
sch.reorder(f0, o, f1)
f1, tx = sch.split(f1, factors=[None, 64])
sch.reorder(tx, f1)
sch.bind(f0, "blockIdx.x")
sch.bind(tx, "threadIdx.x")
sch.annotate(f1, "pragma_auto_unroll_max_step", 4)
)";

// Any program as one grid of threads that its elements do not fill, all blocks before it inlined.
constexpr char kElementwiseByThreads[] = R"(
sch.compute_inline(sch.get_block("exp"))
for block in [sch.get_block("max"), sch.get_block("sum"), sch.get_block("norm")]:
    loops = sch.get_loops(block)
    sch.bind(loops[0], "blockIdx.x")
    j0, j1, j2 = sch.split(loops[1], factors=[None, 16, 4])
    sch.bind(j1, "threadIdx.x")
)";

class TvmReductions : public ::testing::TestWithParam<Case> {};
TEST_P(TvmReductions, ComputeWhatTheProgramSays) { tvm_schedules::Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(
    All, TvmReductions,
    ::testing::Values(Case{"gemv_rfactor", kGemv, kGemvByRfactor, {"__shfl_xor_sync"}},
                      Case{"gemv_threads", kGemv, kGemvByThreads, {"__shfl_xor_sync", "__syncthreads();"}},
                      Case{"columns_rfactor", kColumns, kColumnsByRfactor, {"__syncthreads();"}},
                      Case{"softmax_blocks", kSoftmax, kSoftmaxByBlocks, {"__syncthreads();"}, 1e-6},
                      Case{"softmax_warps", SoftmaxOf192(), kSoftmaxByWarps, {"__shfl_xor_sync"}, 1e-6},
                      Case{"sum_of_all", kSumOfAll, kSumOfAllByBlocks, {"__shfl_xor_sync"}},
                      Case{"softmax_kernels", kSoftmax, kElementwiseByThreads, {"main_kernel_1"}, 1e-6}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright
