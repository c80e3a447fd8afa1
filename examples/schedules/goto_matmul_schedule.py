# Goto and van de Geijn: five loops around a micro-kernel of 6 x 16 elements. A panel of B stays in the last level of
# cache, a block of A in the second, a sliver of B in the first, and the tile of C in registers.
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
ic, ir, ii = sch.split(i, factors=[None, 2, 6])
jc, jr, jj = sch.split(j, factors=[None, 3, 16])
kc, kk = sch.split(k, factors=[None, 16])
sch.reorder(jc, kc, ic, jr, ir, kk, ii, jj)

# Operands are packed into the order in which the micro-kernel reads them.
B_packed = sch.cache_read(C, 1, "global")
sch.compute_at(B_packed, kc)
sch.transform_layout(C, ("read", 1), lambda k, j: (j // 16, k, j % 16))
A_packed = sch.cache_read(C, 0, "global")
sch.compute_at(A_packed, ic)
sch.transform_layout(C, ("read", 0), lambda i, k: (i // 6, k, i % 6))

sch.decompose_reduction(C, kc)
sch.parallel(jc)
sch.unroll(ii)
sch.vectorize(jj)
