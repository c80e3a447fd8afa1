# The result of the function cannot become a part of the loop over queries that makes its sums.
sch.compute_at("O", sch.get_loops("online")[0])
