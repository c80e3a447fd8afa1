def apply_trace(sch: tvm.tir.Schedule) -> None:
    for name in ["C"]:
        l = sch.get_loops(sch.get_block(name, func_name="main"))
        v = sch.sample_perfect_tile(loop=l[0], n=2, max_innermost_factor=16, decision=[4, 16])
        outer, inner = sch.split(loop=l[0], factors=[v[0], v[1]])
        sch.annotate(outer, ann_key="k", ann_val=[1, 2.5, {"a": "b"}])
        sch.transform_layout("C", ("read", 0), lambda i, j: [j, i // 4, i % 4])
