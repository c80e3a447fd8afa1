# Without parts of their own, the eight iterations add to the same elements.
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
ko, ki = sch.split(k, factors=[8, None])
sch.reorder(ko, i, ki, j)
sch.parallel(ko)
