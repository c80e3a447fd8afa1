# A tile gives two rows of outputs; by single rows, neighbours would each compute it, into the same elements of M.
M = sch.get_block("M")
a, b, t, o, c = sch.get_loops(M)
sch.reverse_compute_at("Y", c)
