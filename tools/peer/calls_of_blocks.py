"""Random calls of primitives of reductions and of blocks (calls.py)."""

from drafter import Call, CannotDraft, Reduces, Uses


@Call("block")
def decompose_reduction(d):
    block, _, loops = d.Reduction()
    return f"sch.decompose_reduction({block}, {d.LoopNames(block)}[{d.rng.randrange(len(loops))}])"


@Call("block")
def rfactor(d):
    block, realize, loops = d.Reduction()
    reduce_loops = [k for k, loop in enumerate(loops) if Reduces(realize, loop)]
    k = d.rng.choice(reduce_loops) if reduce_loops and d.rng.random() < 0.95 else d.rng.randrange(len(loops))
    name = d.LoopNames(block)
    loop = f"{name}[{k}]"
    if d.rng.random() < 0.5:
        o, i = d.Fresh("o"), d.Fresh("i")
        d.apply(f"{o}, {i} = sch.split({loop}, factors=[None, {d.rng.choice([1, 2, 4, 8, 2, 4, 8, 5])}])")
        loop = d.rng.choice([o, i])
    if d.rng.random() < 0.1:
        d.apply(f"sch.annotate({loop}, 'k', 1)")
    writes = realize.block.writes
    rank = len(writes[0].source.shape) if writes else 1
    axis = d.rng.randrange(-rank - 1, rank + 1) if d.rng.random() < 0.97 else rank + 2
    return f"sch.rfactor({loop}, {d.rng.choice(['', 'factor_axis='])}{axis})"


@Call("block", families=["Conv", "Pool", "Pool", "PaddedCopy", "PaddedCopy", "PaddedCopy"])
def decompose_padding(d):
    def Pads(realize, loops):
        return type(getattr(realize.block.body, "value", None)).__name__ == "Call" and len(loops) > 0
    block, _, loops = d.Where(Pads) if d.rng.random() < 0.97 else d.BlockWithLoops()
    return f"sch.decompose_padding({block}, {d.LoopNames(block)}[{d.rng.randrange(len(loops))}])"


@Call("", families=["Epilogue"])
def fuse_reduction_epilogue(d):
    def FromZero(realize, loops):
        init = realize.block.init
        if init is None:
            return False
        # The peer mixes up iterators in another order than the loops.
        places = [next((k for k, loop in enumerate(loops) if Uses(value, loop.loop_var)), -1) for value in realize.iter_values]
        if places != sorted(places) and d.rng.random() < 0.98:
            return False
        return float(getattr(getattr(init, "value", None), "value", 1)) == 0 or d.rng.random() < 0.002
    block, realize, _ = d.Where(FromZero)
    epilogue, other, _ = d.Related(realize, True) if d.rng.random() < 0.97 else d.AnyBlock()
    if type(getattr(other.block.body, "value", None)).__name__ != "Add" and d.rng.random() < 0.997:
        raise CannotDraft()
    return f"sch.fuse_reduction_epilogue({block}, {epilogue})"


@Call("block")
def blockize(d):
    preserve = d.Bool("preserve_unit_iters")
    if d.rng.random() < 0.3:
        # Blocks of one scope, often neighbours.
        by_scope = {}
        for realize, _, scope in d.Realizes():
            if scope is not None:
                by_scope.setdefault(scope.block.name_hint, []).append(realize.block.name_hint)
        names = d.rng.choice(list(by_scope.values()))
        count = d.rng.randrange(1, min(3, len(names)) + 1)
        start = d.rng.randrange(len(names) - count + 1)
        chosen = names[start:start + count] if d.rng.random() < 0.8 else d.rng.sample(names, count)
        return f"sch.blockize([{', '.join(d.AsBlock(d.Text(name)) for name in chosen)}]{preserve})"
    return f"sch.blockize({d.AnyLoop()[0]}{preserve})"


@Call("", families=["Matmul", "Matmul", "OnlyMatmul", "OnlyMatmul", "OnlyMatmul", "OnlyMatmul", "BatchMatmul", "SymbolicMatmul", "Epilogue"])
def tensorize(d):
    """What is tensorized is tiled for it first; the intrinsics are those of intrins.py."""
    block, realize, loops = d.Where(lambda realize, loops: realize.block.init is not None and len(realize.block.reads) > 0
                                    and len(realize.block.writes) > 0 and str(realize.block.writes[0].source.dtype) == "float32" and len(loops) >= 3)
    second = realize.block.reads[-1].region
    transposed = "t" if second[len(second) - 1].min.same_as(realize.block.iter_vars[-1].var) else ""
    name = d.LoopNames(block)
    if d.rng.random() < 0.04:
        return f'sch.tensorize({name}[{d.rng.randrange(len(loops))}], "peer_{d.rng.choice([4, 8, 16])}{transposed}")'
    position = [next((k for k, loop in enumerate(loops) if loop.loop_var.same_as(value)), None) for value in realize.iter_values]
    if len(position) < 3 or None in position[-3:]:
        raise CannotDraft()
    extents = [d.Int(loops[k].extent) for k in position[-3:]]
    sizes = [size for size in (4, 8, 16) if all(extent % size == 0 for extent in extents)]
    if not sizes and d.rng.random() < 0.9:
        raise CannotDraft()
    size = d.rng.choice(sizes) if sizes and d.rng.random() < 0.95 else d.rng.choice([4, 8, 16])
    inner, outer = [], [f"{name}[{k}]" for k in range(len(loops)) if k not in position[-3:]]
    for k in position[-3:]:
        o, i = d.Fresh("o"), d.Fresh("i")
        d.apply(f"{o}, {i} = sch.split({name}[{k}], factors=[None, {size}])")
        outer.append(o)
        inner.append(i)
    if d.rng.random() < 0.3:
        outer[-3:] = d.rng.sample(outer[-3:], 3)
    if d.rng.random() < 0.95:
        d.apply(f"sch.reorder({', '.join(outer + inner)})")
    intrin = f"peer_{size if d.rng.random() < 0.98 else 8}{transposed if d.rng.random() < 0.98 else 't'}"
    if d.rng.random() < 0.03:
        return f'sch.tensorize({inner[0]}, "{intrin}"{d.Bool("preserve_unit_iters")})'
    if d.rng.random() < 0.4:
        b = d.Fresh("b")
        d.apply(f"{b} = sch.blockize({inner[0]})")
        init = d.Fresh("b")
        d.apply(f"{init} = sch.decompose_reduction({b}, {outer[-3:][0] if d.rng.random() < 0.5 else outer[0]})")
        if d.rng.random() < 0.5:
            return f'sch.tensorize({init}, "peer_{size}_init")'
        return f'sch.tensorize({b}, "{intrin}"{d.Bool("preserve_unit_iters")})'
    init = d.Fresh("b")
    d.apply(f"{init} = sch.decompose_reduction({block}, {outer[0]})")
    if d.rng.random() < 0.3:
        return f'sch.tensorize(sch.get_loops({init})[-2], "peer_{size}_init")'
    return f'sch.tensorize({inner[0] if d.rng.random() < 0.97 else outer[-1]}, "{intrin}"{d.Bool("preserve_unit_iters")})'


@Call("")
def annotate(d):
    key = d.rng.choice(["k", "pragma_auto_unroll_max_step", "tir.note", "software_pipeline_stage"])
    value = d.rng.choice(["1", "0.5", '"text"', "[0, 1, 2]", '{"a": 1}', '["x", "y"]', "True"])
    if d.rng.random() < 0.5:
        return f'sch.annotate({d.LoopOrBlock()}, ann_key="{key}", ann_val={value})'
    return f'sch.annotate({d.LoopOrBlock()}, "{key}", {value})'


@Call("")
def unannotate(d):
    """Of something that was annotated, mostly."""
    target = d.LoopOrBlock()
    if d.rng.random() < 0.9:
        d.apply(f'sch.annotate({target}, "k", 1)')
    return f'sch.unannotate({target}, {d.rng.choice(["", "ann_key="])}"k")'


@Call("")
def enter_postproc(d):
    return "sch.enter_postproc()"


@Call("", "work_on")
def _WorkOn(d):
    """Not a primitive: which function names are looked up in."""
    functions = [v.name_hint for v in d.schedule.mod.get_global_vars()]
    if len(functions) < 2 or d.function != "main":
        raise CannotDraft()
    d.function = d.rng.choice(functions)
    return f'sch.work_on("{d.function}")'
