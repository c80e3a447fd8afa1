# The products of a tile are final when all channels were summed: the output transform cannot go into that loop.
M = sch.get_block("M")
a, b, t, o, c = sch.get_loops(M)
sch.reverse_compute_at("Y", c)
