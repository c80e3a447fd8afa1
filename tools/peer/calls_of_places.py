"""Random calls of primitives that move blocks, inline and pad them, and change layouts (calls.py)."""

import re

from drafter import Call, CannotDraft, Reduces


def _Move(d, primitive, consumers):
    """Of a block whose buffer one other block reads, mostly, to a loop that is not yet around it."""
    def Movable(realize, loops):
        touched = [r.source for r in (realize.block.writes if consumers else realize.block.reads)]
        others = [other for other, _, scope in d.Realizes() if scope is not None and not other.same_as(realize) and
                  any(r.source.same_as(t) for t in touched for r in (other.block.reads if consumers else other.block.writes))]
        return loops and len(others) == 1
    block, realize, around = d.Where(Movable) if d.rng.random() < 0.85 else d.BlockWithLoops()
    target, other, loops = d.Related(realize, consumers)
    places = [k for k, loop in enumerate(loops) if not any(loop.same_as(above) for above in around)]
    if not consumers and d.rng.random() < 0.97:
        # Values are final outside of the loops of a reduction.
        below = [(inside, above) for inside, above, _ in d.Realizes()]
        carries = lambda loop: any(loop.same_as(l) for inside, above in below for l in above if Reduces(inside, l))
        reduced = next((k for k, loop in enumerate(loops) if carries(loop)), len(loops))
        places = [k for k in places if k < reduced]
    if not places:
        raise CannotDraft()
    loop = f"{d.LoopNames(target)}[{d.rng.choice(places)}]"
    index = d.rng.choice(["", "", "", ", index=-1", ", index=-2", ", index=0", ", index=1"])
    return f"sch.{primitive}({block}, {loop}{d.Bool('preserve_unit_loops')}{index})"


@Call("")
def compute_at(d):
    return _Move(d, "compute_at", True)


@Call("")
def reverse_compute_at(d):
    return _Move(d, "reverse_compute_at", False)


@Call("", families=["Chain", "Diamond", "Dtypes", "UnitLoops", "Int64", "Symbolic", "Pool", "Conv", "Epilogue", "Resize", "PaddedCopy",
                    "Softmax", "Predicated", "Gather", "TwoFunctions"])
def compute_inline(d):
    """Of a producer, mostly: a block that others read."""
    def Feeds(realize, loops):
        if realize.block.init is not None:
            return False
        written = [w.source for w in realize.block.writes]
        return any(r.source.same_as(w) for other, _, _ in d.Realizes() if not other.same_as(realize)
                   for r in other.block.reads for w in written)
    return f"sch.compute_inline({(d.Where(Feeds) if d.rng.random() < 0.95 else d.AnyBlock())[0]})"


@Call("", families=["Chain", "Chain", "Chain", "Chain", "Dtypes", "Dtypes", "UnitLoops", "UnitLoops", "Int64", "Int64", "Symbolic", "Resize",
                    "PaddedCopy", "TwoFunctions", "Gather", "Diamond", "Pool", "Conv", "Epilogue", "Matmul"])
def reverse_compute_inline(d):
    """Of a consumer, mostly: a block that reads one buffer, which another one without a reduction writes."""
    def Produces(other, read):
        iterators = other.block.iter_vars
        # Copies of loops stay copies.
        return (type(other.block.body).__name__ == "BufferStore" and other.block.init is None and all(int(it.iter_type) == 0 for it in iterators) and
                any(w.source.same_as(read) for w in other.block.writes))

    def Follows(realize, loops):
        read = [r.source for r in realize.block.reads]
        return (realize.block.init is None and len(read) == 1 and not d.IsParameter(read[0]) and
                sum(Produces(other, read[0]) for other, _, _ in d.Realizes()) == 1)
    return f"sch.reverse_compute_inline({(d.Where(Follows) if d.rng.random() < 0.95 else d.AnyBlock())[0]})"


@Call("", families=["Matmul", "OnlyMatmul", "BatchMatmul", "SymbolicMatmul", "Epilogue", "RowSum", "Softmax", "Chain", "Int64", "Dtypes"])
def pad_einsum(d):
    block, realize, _ = d.Reduction() if d.rng.random() < 0.7 else d.AnyBlock()
    if any(type(value).__name__ != "Var" for value in realize.iter_values) and d.rng.random() < 0.9:
        raise CannotDraft()  # not an einsum
    padding = [d.rng.choice([1, 1, 8, 16]) for _ in realize.block.iter_vars]
    return f"sch.pad_einsum({block}, {padding})"


# ---- Layout

def IndexMap(d, extents):
    rank = len(extents)
    names = [f"i{k}" for k in range(rank)]
    kind = d.rng.choice(["permute", "pack", "pack", "fuse", "offset"])
    if kind == "fuse" and rank >= 2:
        fused = f"{names[0]} * {extents[1]} + {names[1]}"
        results = [fused] + names[2:]
    elif kind == "pack":
        outer, inner = [], []
        for name, extent in zip(names, extents):
            factor = d.rng.choice([0, 2, 4, 16] if d.rng.random() < 0.5 else [0] + [k for k in range(1, extent + 1) if extent % k == 0])
            outer.append(f"{name} // {factor}" if factor else name)
            if factor:
                inner.append(f"{name} % {factor}")
        results = outer + inner
    elif kind == "offset" and d.rng.random() < 0.3:
        results = [f"{name} + {d.rng.choice([1, 2])}" for name in names]
    else:
        results = names[:]
        d.rng.shuffle(results)
    return f"lambda {', '.join(names)}: ({', '.join(results)},)"


def _Factors(index_map, shape):
    """(extent, factor) for each index that a map divides by a factor."""
    return [(extent, int(factor)) for k, extent in enumerate(shape)
            for factor in re.findall(rf"\bi{k} // (\d+)", index_map)]


@Call("")
def transform_layout(d):
    block, realize, _ = d.AnyBlock()
    which, k, buffer = d.Buffer(realize)
    index_map = IndexMap(d, [d.Int(extent) for extent in buffer.shape])
    pad = ""
    exact = all(d.Int(extent) % factor == 0 for extent, factor in _Factors(index_map, buffer.shape))
    if not exact and d.IsParameter(buffer) and which == "read" and d.rng.random() < 0.9:
        raise CannotDraft()  # nothing fills the padding
    if d.rng.random() < (0.3 if exact else 0.95):
        one = {"float32": "0.0", "int32": "0"}.get(str(buffer.dtype))
        pad = f", pad_value={one}" if one else ""
    form = d.rng.choice([f'("{which}", {k})', f'("{which}", {k})', f'"{buffer.name}"'])
    injective = d.rng.choice(["", "", "", ", assume_injective_transform=True"])
    keyword = d.rng.choice(["", "index_map="])
    if keyword:
        return f"sch.transform_layout({block}, buffer={form}, index_map={index_map}{pad}{injective})"
    return f"sch.transform_layout({block}, {form}, {index_map}{pad}{injective})"


@Call("")
def transform_block_layout(d):
    block, realize, _ = d.AnyBlock()
    extents = [d.Int(iter_var.dom.extent) for iter_var in realize.block.iter_vars]
    if not extents:
        raise CannotDraft()
    return f"sch.transform_block_layout({block}, {IndexMap(d, extents)})"


# ---- Reductions and blocks
