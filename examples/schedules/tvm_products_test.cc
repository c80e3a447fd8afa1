// Transposes, products and convolutions as users of TVM schedule them for GPUs: through shared memory, by virtual
// threads, by tensor cores under TVM's names.
#include <gtest/gtest.h>

#include <string>

#include "examples/schedules/tvm_case.h"

namespace tilewright {
namespace {

using tvm_schedules::Case;

constexpr char kTranspose[] = R"(
@T.prim_func
def main(A: T.Buffer((128, 96), "float32"), B: T.Buffer((96, 128), "float32")):
    for i, j in T.grid(96, 128):
        with T.block("T"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
)";
constexpr char kTransposeByTiles[] = R"(
B = sch.get_block("T")
i, j = sch.get_loops(B)
bx, i1, i2 = sch.split(i, factors=[None, 8, 4])
by, j1 = sch.split(j, factors=[None, 32])
sch.reorder(bx, by, i1, i2, j1)
sch.bind(bx, "blockIdx.x")
sch.bind(by, "blockIdx.y")
sch.bind(i1, "threadIdx.y")
sch.bind(j1, "threadIdx.x")
sch.unroll(i2)
AS = sch.cache_read(B, 0, "shared")
sch.compute_at(AS, by)
fused = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
f0, ty, tx, vec = sch.split(fused, factors=[None, 8, 32, 2])
sch.bind(ty, "threadIdx.y")
sch.bind(tx, "threadIdx.x")
sch.vectorize(vec)
sch.storage_align(AS, 0, axis=-2, factor=32, offset=2)
)";

constexpr char kMatmul[] = R"(
@T.prim_func
def main(A: T.Buffer((128, 96), "float32"), B: T.Buffer((96, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    for i, j, k in T.grid(128, 128, 96):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";
// Virtual threads, tiles in registers, shared memory copied by all threads.
constexpr char kMatmulByVthreads[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
by, vy, ty, yi = sch.split(i, [None, 2, 8, 4])
bx, vx, tx, xi = sch.split(j, [None, 2, 8, 4])
k0, k1, k2 = sch.split(k, [None, 4, 2])
sch.reorder(by, bx, vy, vx, ty, tx, k0, k1, yi, xi, k2)
sch.bind(by, "blockIdx.y")
sch.bind(bx, "blockIdx.x")
sch.bind(vy, "vthread.y")
sch.bind(vx, "vthread.x")
sch.bind(ty, "threadIdx.y")
sch.bind(tx, "threadIdx.x")
CL = sch.cache_write(C, 0, "local")
sch.reverse_compute_at(CL, tx, preserve_unit_loops=True)
for operand in [0, 1]:
    S = sch.cache_read(C, operand, "shared")
    sch.compute_at(S, k0, preserve_unit_loops=True)
    fused = sch.fuse(*sch.get_loops(S)[-2:])
    f0, fy, fx, fv = sch.split(fused, [None, 8, 8, 4])
    sch.bind(fy, "threadIdx.y")
    sch.bind(fx, "threadIdx.x")
    sch.vectorize(fv)
    sch.annotate(S, "double_buffer_scope", 0)
for operand in [0, 1]:
    L = sch.cache_read(C, operand, "local")
    sch.compute_at(L, k1, preserve_unit_loops=True)
sch.unroll(k1)
sch.unroll(yi)
sch.unroll(xi)
sch.vectorize(sch.get_loops(CL)[-1])
sch.decompose_reduction(C, k0)
)";
// One index of blocks and one of threads, as MetaSchedule binds them, and a pipeline of two stages.
constexpr char kMatmulByFusedThreads[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i0, i1, i2, i3, i4 = sch.split(i, [None, 1, 8, 2, 2])
j0, j1, j2, j3, j4 = sch.split(j, [None, 2, 16, 1, 2])
k0, k1, k2 = sch.split(k, [None, 2, 4])
sch.reorder(i0, j0, i1, j1, i2, j2, k0, k1, i3, j3, k2, i4, j4)
block = sch.fuse(i0, j0)
sch.bind(block, "blockIdx.x")
vthread = sch.fuse(i1, j1)
sch.bind(vthread, "vthread.x")
thread = sch.fuse(i2, j2)
sch.bind(thread, "threadIdx.x")
CL = sch.cache_write(C, 0, "local")
sch.reverse_compute_at(CL, thread)
for operand in [0, 1]:
    S = sch.cache_read(C, operand, "shared")
    sch.compute_at(S, k0)
    fused = sch.fuse(*sch.get_loops(S)[-2:])
    f0, fx, fv = sch.split(fused, [None, 128, 2])
    sch.bind(fx, "threadIdx.x")
    sch.vectorize(fv)
sch.annotate(k0, ann_key="software_pipeline_stage", ann_val=[0, 0, 1])
sch.annotate(k0, ann_key="software_pipeline_order", ann_val=[0, 1, 2])
sch.annotate(block, ann_key="pragma_auto_unroll_max_step", ann_val=64)
sch.annotate(block, ann_key="pragma_unroll_explicit", ann_val=1)
sch.decompose_reduction(C, k0)
)";

constexpr char kHalfMatmul[] = R"(
@T.prim_func
def main(X: T.Buffer((100, 64), "float16"), W: T.Buffer((64, 64), "float16"), B: T.Buffer((64,), "float16"), Y: T.Buffer((100, 64), "float16")):
    P = T.alloc_buffer((100, 64), "float32")
    for i, j, k in T.grid(100, 64, 64):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                P[vi, vj] = T.float32(0)
            P[vi, vj] = P[vi, vj] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", W[vj, vk])
    for i, j in T.grid(100, 64):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.Cast("float16", T.max(P[vi, vj] + T.Cast("float32", B[vj]), T.float32(0)))
)";
// Tensor cores: rows that tiles do not divide are padded, operands are reindexed and come through shared memory, and
// the result goes through it to its epilogue.
constexpr char kHalfMatmulByWmma[] = R"(
main = sch.get_block("matmul")
reindex_a = sch.reindex(main, ("read", 0))
reindex_b = sch.reindex(main, ("read", 1))
reindex_c = sch.reindex(main, ("write", 0))
sch.transform_layout(main, ("write", 0), lambda i, j: (0, i, j))
sch.transform_layout(main, ("read", 0), lambda i, k: (0, i, k))
sch.transform_layout(main, ("read", 1), lambda j, k: (0, j, k))
sch.transform_block_layout(main, lambda i, j, k: (0, i, j, k))
sch.pad_einsum(main, [1, 32, 32, 32])
batch, i, j, k = sch.get_loops(main)
i, ii = sch.split(i, factors=[None, 16])
j, ji = sch.split(j, factors=[None, 16])
k, ki = sch.split(k, factors=[None, 16])
sch.reorder(i, j, k, ii, ji, ki)
inner = main
outer = sch.blockize(ii)
i0, i1, i2, i3 = sch.split(i, factors=[None, 1, 2, 1])
j0, j1, j2, j3 = sch.split(j, factors=[1, None, 1, 2])
k0, k1 = sch.split(k, factors=[None, 2])
sch.reorder(i0, j0, i1, j1, i2, j2, k0, k1, i3, j3)
block_x = sch.fuse(batch, i0, j0)
block_y = sch.fuse(i1, j1)
sch.bind(block_x, "blockIdx.x")
sch.bind(block_y, "blockIdx.y")
sch.bind(i2, "threadIdx.y")
sch.bind(j2, "threadIdx.z")
for operand in [0, 1]:
    S = sch.cache_read(outer, operand, "shared.dyn")
    sch.compute_at(S, k0)
    fused = sch.fuse(*sch.get_loops(S)[-2:])
    f0, f1, f2, f3, f4 = sch.split(fused, factors=[None, 1, 2, 32, 4])
    sch.bind(f1, "threadIdx.z")
    sch.bind(f2, "threadIdx.y")
    sch.bind(f3, "threadIdx.x")
    sch.vectorize(f4)
    sch.storage_align(S, 0, axis=-2, factor=16, offset=8)
AF = sch.cache_read(outer, 0, "wmma.matrix_a")
BF = sch.cache_read(outer, 1, "wmma.matrix_b")
sch.compute_at(AF, k1)
sch.compute_at(BF, k1)
CS = sch.cache_write(outer, 0, "shared.dyn")
sch.storage_align(CS, 0, axis=-2, factor=16, offset=4)
CF = sch.cache_write(outer, 0, "wmma.accumulator")
sch.reverse_compute_at(CF, j2, preserve_unit_loops=True)
sch.reverse_compute_at(CS, block_y, preserve_unit_loops=True)
fused = sch.fuse(*sch.get_loops(CS)[-2:])
f0, f1, f2, f3, f4 = sch.split(fused, factors=[None, 1, 2, 32, 4])
sch.bind(f1, "threadIdx.z")
sch.bind(f2, "threadIdx.y")
sch.bind(f3, "threadIdx.x")
sch.vectorize(f4)
sch.compute_inline(reindex_a)
sch.compute_inline(reindex_b)
sch.reverse_compute_inline(reindex_c)
sch.reverse_compute_inline(sch.get_block("relu"))
init = sch.decompose_reduction(outer, k0)
init_inner = sch.get_child_blocks(init)[0]
sch.tensorize(sch.get_loops(init_inner)[-2], "wmma_fill_16x16x16_f32")
a0, a1 = sch.split(sch.get_loops(AF)[-2], factors=[None, 16])
b0, b1 = sch.split(sch.get_loops(AF)[-1], factors=[None, 16])
sch.reorder(a0, b0, a1, b1)
sch.tensorize(a1, "wmma_load_16x16x16_f16_a_shared_dyn")
a0, a1 = sch.split(sch.get_loops(BF)[-2], factors=[None, 16])
b0, b1 = sch.split(sch.get_loops(BF)[-1], factors=[None, 16])
sch.reorder(a0, b0, a1, b1)
sch.tensorize(a1, "wmma_load_16x16x16_f16_b_trans_shared_dyn")
sch.tensorize(sch.get_loops(inner)[-3], "wmma_sync_16x16x16_f16f16f32_trans")
a0, a1 = sch.split(sch.get_loops(CF)[-2], factors=[None, 16])
b0, b1 = sch.split(sch.get_loops(CF)[-1], factors=[None, 16])
sch.reorder(a0, b0, a1, b1)
sch.tensorize(a1, "wmma_store_16x16x16_f32_shared_dyn")
)";
// A depthwise convolution whose padding is inlined, with a window of the image and the weights in shared memory.
constexpr char kDepthwise[] = R"(
@T.prim_func
def main(X: T.Buffer((1, 8, 16, 16), "float32"), W: T.Buffer((8, 3, 3), "float32"), Y: T.Buffer((1, 8, 16, 16), "float32")):
    P = T.alloc_buffer((1, 8, 18, 18))
    C = T.alloc_buffer((1, 8, 16, 16))
    for n, c, h, w in T.grid(1, 8, 18, 18):
        with T.block("pad"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            P[vn, vc, vh, vw] = T.if_then_else(1 <= vh and vh < 17 and 1 <= vw and vw < 17, X[vn, vc, vh - 1, vw - 1], T.float32(0))
    for n, c, h, w, y, x in T.grid(1, 8, 16, 16, 3, 3):
        with T.block("conv"):
            vn, vc, vh, vw, vy, vx = T.axis.remap("SSSSRR", [n, c, h, w, y, x])
            with T.init():
                C[vn, vc, vh, vw] = T.float32(0)
            C[vn, vc, vh, vw] = C[vn, vc, vh, vw] + P[vn, vc, vh + vy, vw + vx] * W[vc, vy, vx]
    for n, c, h, w in T.grid(1, 8, 16, 16):
        with T.block("relu"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            Y[vn, vc, vh, vw] = T.max(C[vn, vc, vh, vw], T.float32(0))
)";
constexpr char kDepthwiseByTiles[] = R"(
sch.compute_inline(sch.get_block("pad"))
conv = sch.get_block("conv")
relu = sch.get_block("relu")
n, c, h, w = sch.get_loops(relu)
h0, vy, ty, hi = sch.split(h, [None, 2, 2, 2])
w0, vx, tx, wi = sch.split(w, [None, 1, 8, 2])
sch.reorder(n, c, h0, w0, vy, vx, ty, tx, hi, wi)
bz = sch.fuse(n, c)
sch.bind(bz, "blockIdx.z")
sch.bind(h0, "blockIdx.y")
sch.bind(w0, "blockIdx.x")
sch.bind(vy, "vthread.y")
sch.bind(vx, "vthread.x")
sch.bind(ty, "threadIdx.y")
sch.bind(tx, "threadIdx.x")
sch.compute_at(conv, tx)
sch.set_scope(conv, 0, "local")
XS = sch.cache_read(conv, 0, "shared")
sch.compute_at(XS, w0)
WS = sch.cache_read(conv, 1, "shared")
sch.compute_at(WS, w0)
fused = sch.fuse(*sch.get_loops(XS)[-2:])
f0, fy, fx = sch.split(fused, [None, 2, 8])
sch.bind(fy, "threadIdx.y")
sch.bind(fx, "threadIdx.x")
fused = sch.fuse(*sch.get_loops(WS)[-2:])
f0, fy, fx = sch.split(fused, [None, 2, 8])
sch.bind(fy, "threadIdx.y")
sch.bind(fx, "threadIdx.x")
y, x = sch.get_loops(conv)[-2:]
sch.unroll(y)
sch.unroll(x)
sch.vectorize(wi)
)";

class TvmProducts : public ::testing::TestWithParam<Case> {};
TEST_P(TvmProducts, ComputeWhatTheProgramSays) { tvm_schedules::Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(
    All, TvmProducts,
    ::testing::Values(Case{"transpose", kTranspose, kTransposeByTiles, {"__syncthreads();"}},
                      Case{"matmul_vthreads", kMatmul, kMatmulByVthreads, {"__syncthreads();"}},
                      Case{"matmul_fused", kMatmul, kMatmulByFusedThreads, {"__syncthreads();"}},
                      Case{"matmul_wmma", kHalfMatmul, kHalfMatmulByWmma, {"ldmatrix_x4", "mma_m16n8k16"}},
                      Case{"depthwise", kDepthwise, kDepthwiseByTiles, {"__syncthreads();"}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright
