# The greatest element of a row is known when all of the row was seen, not within the loop that looks at it.
M = sch.get_block("M")
i, k = sch.get_loops(M)
sch.reverse_compute_at("E", k)
