# Blocks of K are summed into the same elements of C: they cannot run at the same time.
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
kc, kk = sch.split(k, factors=[None, 16])
sch.reorder(kc, i, j, kk)
sch.parallel(kc)
