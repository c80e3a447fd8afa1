# From scalar loops to calls of tmm16, step by step.
sch = tvm.tir.Schedule(Module)

# Tiles of 16x16x16.
i, j, k = sch.get_loops("matmul")
i, ii = sch.split(i, factors=[None, 16])
j, ji = sch.split(j, factors=[None, 16])
k, ki = sch.split(k, factors=[None, 16])
sch.reorder(i, j, k, ii, ji, ki)

# A tile becomes a block.
block_mm = sch.blockize(ii)

# Operands and accumulator move to special memory.
A_reg = sch.cache_read(block_mm, 0, storage_scope="global.A_reg")
B_reg = sch.cache_read(block_mm, 1, storage_scope="global.B_reg")
sch.compute_at(A_reg, k)
sch.compute_at(B_reg, k)
write_back_block = sch.cache_write(block_mm, 0, storage_scope="global.accumulator")
sch.reverse_compute_at(write_back_block, j)

# The intrinsic accumulates only: the init becomes a block of its own.
sch.decompose_reduction(block_mm, k)
sch.tensorize(block_mm, "tmm16")
