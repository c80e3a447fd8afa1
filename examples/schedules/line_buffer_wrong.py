# Rows use what the rows before them left in the buffer: they cannot run at the same time.
Y = sch.get_block("Y")
h, w, c, r, s = sch.get_loops(Y)
rows, h = sch.split(h, factors=[None, 2])
sch.compute_at("P", rows)
sch.rolling_buffer("P", 0)
sch.parallel(rows)
