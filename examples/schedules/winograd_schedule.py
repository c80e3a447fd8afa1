# Rows of four tiles at a time: their inputs are transformed, multiplied by the weights and transformed back while they
# are in the cache. The transforms are unrolled; rows run at the same time.
Y = sch.get_block("Y")
h, w, o, a, b = sch.get_loops(Y)
row, h = sch.split(h, factors=[None, 2])
sch.unroll(a)
sch.unroll(b)
sch.compute_at("M", row)
sch.compute_at("V", row)
sch.parallel(row)

U = sch.get_block("U")
a, b, c, o, r, s = sch.get_loops(U)
sch.reorder(c, a, b, r, s, o)
sch.unroll(r)
sch.unroll(s)
sch.vectorize(o)
