# Both reductions in two stages: 16 partial results side by side, as lanes of a vector, then these. All of a row is done
# while it is in the cache, rows at the same time.
M = sch.get_block("M")
S = sch.get_block("S")
Y = sch.get_block("Y")
i, k = sch.get_loops(M)
ko, ki = sch.split(k, factors=[None, 16])
M_parts = sch.rfactor(ki, factor_axis=1)
i, k = sch.get_loops(S)
ko, ki = sch.split(k, factors=[None, 16])
S_parts = sch.rfactor(ki, factor_axis=1)

row, j = sch.get_loops(Y)
jo, ji = sch.split(j, factors=[None, 16])
sch.vectorize(ji)
sch.compute_at(S, row)
sch.compute_at(S_parts, row)
sch.compute_at("E", row)
sch.compute_at(M, row)
sch.compute_at(M_parts, row)

sch.parallel(row)
