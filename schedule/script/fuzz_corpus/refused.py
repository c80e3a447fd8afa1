b = sch.get_block("c")
sch.vectorise(b, *[1] * 1000000, x=-(-9223372036854775808))
