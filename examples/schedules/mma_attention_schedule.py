# 16 queries a warp, four warps a block. Scores, probabilities and weighted values of a warp lie in registers of its lanes
# alone: what a lane holds of the scores is what it has to hold of the probabilities for the second product.
O, R, L, P, M, S = [sch.get_block(name) for name in ["O", "R", "L", "P", "M", "S"]]
b, i, d = sch.get_loops(O)
i0, i1, i2 = sch.split(i, factors=[None, 4, 16])
sch.bind(b, "blockIdx.y")
sch.bind(i0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
for block, scope in [(R, "wmma.accumulator"), (L, "local"), (P, "wmma.matrix_a"), (M, "local"), (S, "wmma.accumulator")]:
    sch.compute_at(block, i1)
    sch.set_scope(block, 0, scope)
# Operands: tiles in shared memory, copied by all threads, and fragments of 16 x 16.
for product, operand in [(S, 0), (S, 1), (R, 1)]:
    copy = sch.cache_read(product, operand, "shared.dyn")
    sch.compute_at(copy, i0)
    c = sch.fuse(sch.get_loops(copy)[-2], sch.get_loops(copy)[-1])
    c0, c1, c2, c3 = sch.split(c, factors=[None, 4, 32, 8])
    sch.bind(c1, "threadIdx.y")
    sch.bind(c2, "threadIdx.x")
    sch.vectorize(c3)
    sch.storage_align(copy, 0, -2, 32, 8)
QF = sch.cache_read(S, 0, "wmma.matrix_a")
KF = sch.cache_read(S, 1, "wmma.matrix_b")
VF = sch.cache_read(R, 1, "wmma.matrix_b")
# Both products in tiles of 16 x 16 x 16.
for product, fragments, sync in [(S, [QF, KF], "wmma_sync_16x16x16_f16f16f32_trans"), (R, [VF], "wmma_sync_16x16x16_f16f16f32")]:
    m, n, k = sch.get_loops(product)[-3:]
    n0, n1 = sch.split(n, factors=[None, 16])
    k0, k1 = sch.split(k, factors=[None, 16])
    sch.reorder(k0, n0, m, n1, k1)
    for fragment in fragments:
        sch.compute_at(fragment, k0)
    init = sch.decompose_reduction(product, k0)
    sch.tensorize(sch.get_loops(init)[-2], "wmma_fill_16x16x16_f32")
    sch.tensorize(m, sync)
sch.tensorize(sch.get_loops(QF)[-2], "wmma_load_16x16x16_f16_a_shared_dyn")
for fragment, load in [(KF, "wmma_load_16x16x16_f16_b_trans_shared_dyn"), (VF, "wmma_load_16x16x16_f16_b_shared_dyn")]:
    r, c = sch.get_loops(fragment)[-2:]
    r0, r1 = sch.split(r, factors=[None, 16])
    c0, c1 = sch.split(c, factors=[None, 16])
    sch.reorder(r0, c0, r1, c1)
    sch.tensorize(r1, load)
# Lanes: two rows each, of every eight columns two neighbours.
for block in [M, P, L, O]:
    r, c = sch.get_loops(block)[-2:]
    h, g = sch.split(r, factors=[2, 8])
    n, t, p = sch.split(c, factors=[None, 4, 2])
    sch.reorder(g, t, h, n, p)
    sch.bind(sch.fuse(g, t), "threadIdx.x")
    for loop in [h, n, p]:
        sch.unroll(loop)
