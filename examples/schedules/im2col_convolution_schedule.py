# The convolution as a product of matrices of 189 pixels by 576 window elements by 64 channels, for sm_90a. The matrix of
# windows is never there: a step of K is one element of the window and all channels, whose pixels the engine finds in the
# image by an im2col map, with zeros in the padding.
Y = sch.get_block("Y")
windows = sch.reindex(Y, ("read", 0), skip_simplify=True)
weights = sch.reindex(Y, ("read", 1), skip_simplify=True)
result = sch.reindex(Y, ("write", 0), skip_simplify=True)
pixels = lambda n, h, w, rh, rw, c: ((n * 9 + h) * 7 + w, (rh * 3 + rw) * 64 + c)
sch.transform_layout(windows, ("write", 0), pixels)
sch.transform_block_layout(windows, pixels)
channels = lambda o, rh, rw, c: ((rh * 3 + rw) * 64 + c, o)
sch.transform_layout(weights, ("write", 0), channels)
sch.transform_block_layout(weights, channels)
positions = lambda n, h, w, o: ((n * 9 + h) * 7 + w, o)
sch.transform_layout(result, ("read", 0), positions)
sch.transform_block_layout(result, positions)
sch.transform_block_layout(Y, lambda n, h, w, o, rh, rw, c: ((n * 9 + h) * 7 + w, o, (rh * 3 + rw) * 64 + c))
sch.pad_einsum_in_place(Y, [128, 64, 64])
sch.compute_inline(sch.get_block("P"))

# Tiles of 128 x 64 x 64 by two warpgroups with 64 pixels each.
m, n, k = sch.get_loops(Y)
sch.set_scope(Y, 0, "wgmma.accumulator")
m0, m1, m2 = sch.split(m, factors=[None, 2, 64])
n0, n1 = sch.split(n, factors=[None, 64])
k0, k1, k2 = sch.split(k, factors=[None, 4, 16])
sch.reorder(m0, n0, m1, k0, k1, m2, n1, k2)
sch.bind(m0, "blockIdx.x")
sch.bind(n0, "blockIdx.y")
sch.bind(m1, "threadIdx.y")

# Each lane stores the sums that it holds.
sch.reverse_compute_at(result, m1)
r, c = sch.get_loops(result)[-2], sch.get_loops(result)[-1]
w, h, g = sch.split(r, factors=[None, 2, 8])
b, t, p = sch.split(c, factors=[None, 4, 2])
sch.reorder(w, g, t, b, h, p)
sch.bind(sch.fuse(w, g, t), "threadIdx.x")
sch.vectorize(p)

# Both copies are loops that the first thread of the block would run.
for copy in (windows, weights):
    sch.set_scope(copy, 0, "shared.dyn")
    sch.compute_at(copy, k0)
    sch.bind(sch.add_unit_loop(sch.get_loops(copy)[-2]), "threadIdx.y")
    sch.set_layout(copy, 0, "swizzle_128B")
init = sch.decompose_reduction(Y, k0)
sch.tensorize(sch.get_loops(init)[-2], "wgmma_fill_64x64_f32")
sch.tensorize(m2, "wgmma_sync_64x64x16_f16f16f32_dyn")
sch.annotate(k0, "software_pipeline_stage", [0, 0, 3])
sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
sch.annotate(k0, "software_pipeline_async_stages", [0])
sch.annotate(k0, "software_pipeline_roles", 1)
