# The sums of a query are final when its block has run: the division cannot go before it.
sch.compute_at("O", sch.get_loops("online")[0])
