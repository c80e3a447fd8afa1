# Queries run at the same time, each with its sums next to it; the division follows at once.
O = sch.get_block("O")
i, = sch.get_loops("online")
row, i = sch.split(i, factors=[None, 2])
sch.reverse_compute_at(O, row)
sch.parallel(row)
