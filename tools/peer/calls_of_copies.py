"""Random calls of primitives that copy data, or change how it is stored and declared (calls.py)."""

from drafter import Call, CannotDraft


@Call("block")
def cache_read(d):
    block, realize, _ = d.AnyBlock()
    _, k, buffer = d.Buffer(realize, write=False)
    consumers = ""
    if d.rng.random() < 0.3:
        readers = [d.Text(other.block.name_hint) for other, _, scope in d.Realizes()
                   if scope is not None and any(r.source.same_as(buffer) for r in other.block.reads)]
        consumers = f", consumer_blocks=[{', '.join(d.rng.sample(readers, d.rng.randrange(1, len(readers) + 1)))}]"
    return f'sch.cache_read({block}, {k}, "{d.Scope()}"{consumers})'


@Call("block")
def cache_write(d):
    block, realize, _ = d.AnyBlock()
    _, k, buffer = d.Buffer(realize, write=True)
    consumers = ""
    if d.rng.random() < 0.2:
        readers = [d.Text(other.block.name_hint) for other, _, scope in d.Realizes()
                   if scope is not None and any(r.source.same_as(buffer) for r in other.block.reads)]
        if readers:
            consumers = f", consumer_blocks=[{', '.join(d.rng.sample(readers, d.rng.randrange(1, len(readers) + 1)))}]"
    return f'sch.cache_write({block}, {k}, "{d.Scope()}"{consumers})'


def _IteratorMap(d, realize):
    """A map of a block's iterators: what a copy of one of its buffers is indexed by."""
    names = [f"v{k}" for k in range(len(realize.block.iter_vars))]
    kept = [name for name, it in zip(names, realize.block.iter_vars) if d.rng.random() < 0.95]
    if d.rng.random() < 0.4:
        d.rng.shuffle(kept)
    results = []
    for name in kept:
        factor = d.rng.choice([0, 0, 0, 2, 4])
        results += [f"{name} // {factor}", f"{name} % {factor}"] if factor else [name]
    return f"lambda {', '.join(names)}: ({', '.join(results)},)" if names and results else "lambda: ()"


def _UsedMap(d, realize, region):
    """A map of the iterators that occur in a region, in any order."""
    from tvm.tirx.analysis import undefined_vars
    used = {v.name for r in region.region for v in undefined_vars(r.min)}
    names = [it.var.name for it in realize.block.iter_vars]
    extents = {it.var.name: d.Int(it.dom.extent) for it in realize.block.iter_vars}
    kept = [name for name in names if name in used]
    if d.rng.random() < 0.5:
        d.rng.shuffle(kept)
    if not kept:
        raise CannotDraft()
    results = []
    for name in kept:
        factor = d.rng.choice([0, 0, 0] + [k for k in (2, 4) if extents[name] % k == 0])
        results += [f"{name} // {factor}", f"{name} % {factor}"] if factor else [name]
    return f"lambda {', '.join(names)}: ({', '.join(results)},)"


def _ReindexCache(d, primitive, write):
    seldom = lambda realize: _Updates(realize) or _Predicated(realize) or (not write and _Pads(realize))
    block, realize, _ = d.Where(lambda realize, loops: not seldom(realize) or d.rng.random() < 0.05)
    _, k, buffer = d.Buffer(realize, write=write)
    regions = realize.block.writes if write else realize.block.reads
    index_map = _UsedMap(d, realize, regions[k]) if d.rng.random() < 0.9 else _IteratorMap(d, realize)
    return f'sch.{primitive}({block}, {k}, "{d.Scope()}", {index_map})'


@Call("block")
def reindex_cache_read(d):
    return _ReindexCache(d, "reindex_cache_read", False)


@Call("block")
def reindex_cache_write(d):
    return _ReindexCache(d, "reindex_cache_write", True)


@Call("blocks", families=["OpaqueUpdate"] * 30 + ["InPlace"])
def cache_inplace(d):
    def InPlace(realize, loops):
        # Of a block with iterators the peer's copies use them outside of it.
        return _Updates(realize) and (not realize.block.iter_vars or d.rng.random() < 0.03)
    block, realize, _ = d.Where(InPlace) if d.rng.random() < 0.95 else d.AnyBlock()
    written = [w.source for w in realize.block.writes]
    fitting = [k for k, r in enumerate(realize.block.reads) if any(r.source.same_as(w) for w in written)]
    k = d.rng.choice(fitting) if fitting and d.rng.random() < 0.95 else d.rng.randrange(2)
    return f'sch.cache_inplace({block}, {k}, "{d.Scope()}")'


@Call("blocks", families=["Resize", "Resize", "TransposedConv"])
def cache_index(d):
    return f'sch.cache_index({d.AnyBlock()[0]}, "{d.Scope()}"{d.rng.choice(["", "", ", 1", ", cse_thresh=0", ", 2", ", 100"])})'


def _Pads(realize):
    """Whether a block reads elements only where a condition holds."""
    value = getattr(realize.block.body, "value", None)
    return type(value).__name__ == "Call" and getattr(value.op, "name", "").endswith("if_then_else")


def _Predicated(realize):
    """Whether not all instances run."""
    return type(realize.predicate).__name__ != "IntImm"


def _Updates(realize):
    """Whether a block reads a buffer that it also writes, reductions left out."""
    written = [w.source for w in realize.block.writes]
    return any(r.source.same_as(w) for r in realize.block.reads for w in written)


def _MoveAt(d, primitive, write):
    usual = lambda realize: not (_Updates(realize) or _Predicated(realize)) and (write or not _Pads(realize))
    block, realize, loops = d.Where(lambda realize, loops: loops and (usual(realize) or d.rng.random() < 0.05))
    _, k, buffer = d.Buffer(realize, write=write)
    place = d.rng.randrange(len(loops))
    for other, around, _ in d.Realizes():
        shared = len(around) > place and around[place].same_as(loops[place])
        touched = [r.source for r in (other.block.reads if write else other.block.writes)]
        if shared and any(r.same_as(buffer) for r in touched) and d.rng.random() < 0.95:
            raise CannotDraft()  # values that are not final
    return f'sch.{primitive}({d.LoopNames(block)}[{place}], {d.AsBlock(block)}, {k}, "{d.Scope()}")'


@Call("block")
def read_at(d):
    return _MoveAt(d, "read_at", False)


@Call("block")
def write_at(d):
    return _MoveAt(d, "write_at", True)


@Call("")
def storage_align(d):
    block, realize, _ = d.Where(lambda realize, loops: d.WritesOwn(realize))
    _, k, buffer = d.Buffer(realize, write=True)
    axis = d.rng.randrange(-len(buffer.shape), len(buffer.shape)) if d.rng.random() < 0.95 else len(buffer.shape)
    return f"sch.storage_align({block}, {k}, axis={axis}, factor={d.rng.choice([1, 8, 16, 32, 128])}, offset={d.rng.choice([0, 1, 4, 8])})"


@Call("")
def unsafe_set_dtype(d):
    block, realize, _ = d.Where(lambda realize, loops: d.WritesOwn(realize))
    _, k, buffer = d.Buffer(realize, write=True)
    dtype = d.rng.choice(["float16", "float32", "float64", "int8", "int32", "bfloat16"])
    return f'sch.unsafe_set_dtype({block}, {k}, "{dtype}")'


@Call("")
def annotate_buffer_access(d):
    block, realize, _ = d.AnyBlock()
    which, k, buffer = d.Buffer(realize)
    names = [it.var.name for it in realize.block.iter_vars]
    region = (realize.block.reads if which == "read" else realize.block.writes)[k].region
    plain = len(region) == len(names) and all(r.min.same_as(it.var) for r, it in zip(region, realize.block.iter_vars))
    if not names or (not plain and d.rng.random() < 0.98):
        raise CannotDraft()
    results = []
    for name in names:
        exact = [name, name, f"({name}, {name} + 1)"]
        wider = [f"({name} - 1, {name} + 2)", f"({name}, {name} + 3)", f"({name} // 4 * 4, {name} // 4 * 4 + 4)"]
        wrong = [f"({name} * 2, {name} * 2 + 2)", "(0, 4)"]
        one = d.rng.choice(wrong if d.rng.random() < 0.005 else exact + (wider if which == "read" or d.rng.random() < 0.005 else []))
        results.append(one)
    keyword = "gen_new_ranges=" if d.rng.random() < 0.5 else ""
    return f'sch.annotate_buffer_access({d.AsBlock(block)}, {k}, "{which}", {keyword}lambda {", ".join(names)}: ({", ".join(results)},))'


@Call("")
def unsafe_hide_buffer_access(d):
    block, realize, _ = d.AnyBlock()
    which, k, _ = d.Buffer(realize)
    count = len(realize.block.reads if which == "read" else realize.block.writes)
    indices = sorted(d.rng.sample(range(count), d.rng.randrange(1, count + 1)))
    if d.rng.random() < 0.05:
        indices.append(count)
    return f'sch.unsafe_hide_buffer_access({d.AsBlock(block)}, "{which if d.rng.random() < 0.97 else "neither"}", {indices})'


@Call("")
def set_scope(d):
    block, realize, _ = d.Where(lambda realize, loops: d.WritesOwn(realize))
    _, k, buffer = d.Buffer(realize, write=True)
    return f'sch.set_scope({block}, {k if d.rng.random() < 0.6 else chr(34) + buffer.name + chr(34)}, "{d.Scope()}")'


@Call("block")
def reindex(d):
    block, realize, _ = d.Where(lambda realize, loops: not (_Pads(realize) or _Updates(realize)) or d.rng.random() < 0.05)
    which, k, buffer = d.Buffer(realize)
    form = d.rng.choice([f'("{which}", {k})', f'("{which}", {k})', f'"{buffer.name}"'])
    return f"sch.reindex({block}, {form})"
