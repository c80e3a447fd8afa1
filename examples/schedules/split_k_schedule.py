# Eight parts of each sum are computed at the same time and then added up.
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
ko, ki = sch.split(k, factors=[8, None])
parts = sch.rfactor(ko, factor_axis=0)
i, j, ko, ki = sch.get_loops(parts)
sch.reorder(ko, i, ki, j)
sch.parallel(ko)
sch.vectorize(j)
