# The program of mma_attention.py by wgmma (sm_90a): 64 queries a warpgroup, two warpgroups a block. Queries, keys and values
# lie in swizzled shared memory; scores, probabilities and weighted values in registers of a warpgroup's lanes. What a lane
# holds of the scores is what it has to hold of the probabilities, which are the second product's left operand.
O, R, L, P, M, S = [sch.get_block(name) for name in ["O", "R", "L", "P", "M", "S"]]
b, i, d = sch.get_loops(O)
i0, i1, i2 = sch.split(i, factors=[None, 2, 64])
sch.bind(b, "blockIdx.y")
sch.bind(i0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
for block, scope in [(R, "wgmma.accumulator"), (L, "local"), (P, "wgmma.matrix_a"), (M, "local"), (S, "wgmma.accumulator")]:
    sch.compute_at(block, i1)
    sch.set_scope(block, 0, scope)
# Operands: copied by all threads, 16 bytes each, to where the swizzle of the layout puts them.
for product, operand in [(S, 0), (S, 1), (R, 1)]:
    copy = sch.cache_read(product, operand, "shared.dyn")
    sch.compute_at(copy, i0)
    c = sch.fuse(sch.get_loops(copy)[-2], sch.get_loops(copy)[-1])
    c0, c1, c2, c3 = sch.split(c, factors=[None, 2, 128, 8])
    sch.bind(c1, "threadIdx.y")
    sch.bind(c2, "threadIdx.x")
    sch.vectorize(c3)
    sch.set_layout(copy, 0, "swizzle_128B")
# Both products in steps of 16.
for product, fill, sync in [(S, "wgmma_fill_64x128_f32", "wgmma_sync_64x128x16_f16f16f32_trans_dyn"), (R, "wgmma_fill_64x64_f32", "wgmma_sync_64x64x16_f16f16f32_registers_dyn")]:
    m, n, k = sch.get_loops(product)[-3:]
    k0, k1 = sch.split(k, factors=[None, 16])
    sch.reorder(k0, m, n, k1)
    init = sch.decompose_reduction(product, k0)
    sch.tensorize(sch.get_loops(init)[-2], fill)
    sch.tensorize(m, sync)
# Lanes: two rows each, of every eight columns two neighbours.
for block in [M, P, L, O]:
    r, c = sch.get_loops(block)[-2:]
    w, h, g = sch.split(r, factors=[4, 2, 8])
    n, t, p = sch.split(c, factors=[None, 4, 2])
    sch.reorder(w, g, t, h, n, p)
    sch.bind(sch.fuse(w, g, t), "threadIdx.x")
    for loop in [h, n, p]:
        sch.unroll(loop)
