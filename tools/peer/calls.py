"""Random calls of schedule primitives: one entry of CALLS for each.

An entry is a function from a Drafter to the text of a call (without results). The Drafter knows the state of TVM's
schedule, and writes the queries that the call needs (`l3 = sch.get_loops("C")`) as lines of their own. Arguments are
drawn so that most calls are legal and some are not.

To add a primitive: a function below with the decorator `@Call(results)`, where results is what the primitive returns:
"", "loop", "loops", "block", "blocks" or "ints".
"""

import re

CALLS = {}
FAMILIES_OF = {}  # primitive -> families of programs (programs.py) that it is tried on; absent: all


def Call(results, name=None, families=None):
    def Register(function):
        CALLS[name or function.__name__] = (function, results)
        if families:
            FAMILIES_OF[name or function.__name__] = families
        return function
    return Register


class CannotDraft(Exception):
    """The program has nothing that the call could apply to."""


class Drafter:
    """Draws arguments for calls, from a schedule of TVM and the names of its random variables."""

    def __init__(self, rng, schedule, apply):
        self.rng, self.schedule = rng, schedule
        self.apply = apply  # runs a line in both; its results are in `names`
        self.names = {}
        self.names_of = {}  # text of a block to its name in the program
        self.count = 0
        self.function = "main"

    def Fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    # -- what is there

    def Realizes(self):
        """(realize, loops of its scope above it, realize of its scope) of all blocks, the root first."""
        found = []

        def Walk(stmt, loops, scope):
            kind = type(stmt).__name__
            if kind == "SBlockRealize":
                found.append((stmt, loops, scope))
                Walk(stmt.block.body, [], stmt)
            elif kind == "For":
                Walk(stmt.body, loops + [stmt], scope)
            elif kind == "SeqStmt":
                for child in stmt.seq:
                    Walk(child, loops, scope)
            elif kind == "IfThenElse":
                Walk(stmt.then_case, loops, scope)
                if stmt.else_case is not None:
                    Walk(stmt.else_case, loops, scope)
        Walk(self.schedule.mod[self.function].body, [], None)
        return found

    def Where(self, condition):
        """A block, not the root, for which condition(realize, loops) holds: (its name in text, realize, loops)."""
        all_blocks = self.Realizes()
        counts = {}
        for realize, _, _ in all_blocks:
            counts[realize.block.name_hint] = counts.get(realize.block.name_hint, 0) + 1
        fitting = [(realize, loops) for realize, loops, scope in all_blocks
                   if scope is not None and counts[realize.block.name_hint] == 1 and condition(realize, loops)]
        if not fitting:
            raise CannotDraft()
        realize, loops = self.rng.choice(fitting)
        return self.Text(realize.block.name_hint), realize, loops

    def Text(self, name):
        if self.function != "main":
            b = self.Fresh("b")
            self.apply(f'{b} = sch.get_sblock("{name}", func_name="{self.function}")')
            self.names_of[b] = name
            return b
        return f'"{name}"'

    def AnyBlock(self):
        return self.Where(lambda realize, loops: True)

    def BlockWithLoops(self, least=1):
        return self.Where(lambda realize, loops: len(loops) >= least)

    def Reduction(self):
        if self.rng.random() < 0.1:
            return self.BlockWithLoops()
        return self.Where(lambda realize, loops: realize.block.init is not None and len(loops) > 0)

    def LoopNames(self, block):
        """The name of a list of a block's loops."""
        name = self.Fresh("l")
        self.apply(f"{name} = sch.get_loops({block})")
        return name

    def AnyLoop(self):
        """A loop's text and the loop."""
        block, _, loops = self.BlockWithLoops()
        k = self.rng.randrange(len(loops))
        return f"{self.LoopNames(block)}[{k}]", loops[k]

    def LoopOrBlock(self):
        if self.rng.random() < 0.5:
            return self.AnyLoop()[0]
        return self.AsBlock(self.AnyBlock()[0])

    def AsBlock(self, text):
        """A random variable of a block: what takes loops or blocks takes no names."""
        if not text.startswith('"'):
            return text
        b = self.Fresh("b")
        self.apply(f"{b} = sch.get_sblock({text})")
        return b

    def Related(self, realize, consumers):
        """A block that reads what `realize` writes, or writes what it reads: (text, realize, loops)."""
        mine = {r.source for r in (realize.block.writes if consumers else realize.block.reads)}
        def Shares(other, loops):
            regions = other.block.reads if consumers else other.block.writes
            return loops and not other.same_as(realize) and any(r.source in mine for r in regions)
        return self.Where(Shares)

    def Buffer(self, realize, write=None):
        """("read" or "write", index) of a buffer of a block, and the buffer."""
        if write is None:
            write = self.rng.random() < 0.5
        regions = realize.block.writes if write else realize.block.reads
        if not regions:
            raise CannotDraft()
        k = self.rng.randrange(len(regions))
        return "write" if write else "read", k, regions[k].source

    def IsParameter(self, buffer):
        return any(param.same_as(buffer) for param in self.schedule.mod[self.function].params)

    def WritesOwn(self, realize):
        """Whether a block writes buffers of the function, not its parameters; seldom drawn otherwise."""
        return not any(self.IsParameter(r.source) for r in realize.block.writes) or self.rng.random() < 0.1

    def Int(self, expr):
        return int(expr) if type(expr).__name__ == "IntImm" else 16

    def Scope(self):
        return self.rng.choice(["global", "shared", "local", "shared.dyn", "global.A_reg"])

    def Bool(self, name):
        return self.rng.choice(["", "", f", {name}=True", f", {name}=False"])


# ---- Queries

@Call("blocks")
def get_producers(d):
    return f"sch.get_producers({d.AnyBlock()[0]})"


@Call("blocks")
def get_consumers(d):
    return f"sch.get_consumers({d.AnyBlock()[0]})"


@Call("blocks")
def get_child_blocks(d):
    if d.rng.random() < 0.5:
        return f"sch.get_child_blocks({d.AnyLoop()[0]})"
    block = d.Where(lambda realize, loops: True)[0] if d.rng.random() < 0.3 else d.Text("root")
    return f"sch.get_child_blocks({d.AsBlock(block)})"


@Call("blocks")
def get_output_blocks(d):
    block = d.AnyBlock()[0] if d.rng.random() < 0.2 else d.Text("root")
    return f"sch.get_output_blocks({block})"


@Call("loops")
def get_loops(d):
    return f"sch.get_loops({d.AnyBlock()[0]})"


@Call("block")
def get_block(d):
    name = d.rng.choice(d.Realizes())[0].block.name_hint if d.rng.random() < 0.9 else "nothing"
    if d.function == "main" and d.rng.random() < 0.5:
        return f'sch.get_sblock("{name}")'
    return f'sch.get_sblock(name="{name}", func_name="{d.function}")'


# ---- Sampling, with decisions

@Call("ints")
def sample_perfect_tile(d):
    loop, stmt = d.AnyLoop()
    extent, n = d.Int(stmt.extent), d.rng.choice([2, 3, 4])
    factors, rest = [], extent
    for _ in range(n - 1):
        factor = d.rng.choice([k for k in range(1, rest + 1) if rest % k == 0])
        factors.append(factor)
        rest //= factor
    most = 16 if factors[-1] <= 16 and d.rng.random() < 0.5 else 64
    return f"sch.sample_perfect_tile({loop}, n={n}, max_innermost_factor={most}, decision={[rest] + factors})"


@Call("ints")
def sample_partitioned_tile(d):
    loop, stmt = d.AnyLoop()
    extent, n = d.Int(stmt.extent), d.rng.choice([2, 3, 4])
    factors, rest = [], extent
    for _ in range(n - 1):
        factor = d.rng.choice([k for k in range(1, rest + 1) if rest % k == 0])
        factors.append(factor)
        rest //= factor
    position = d.rng.randrange(n)
    inner = 1
    for factor in ([rest] + factors)[position:]:
        inner *= factor
    part = d.rng.choice([k for k in range(1, inner + 1) if inner % k == 0])
    return (f"sch.sample_partitioned_tile({loop}, n={n}, partition_pos={position}, innerpart_factor={part}, "
            f"decision={[rest] + factors})")


@Call("int")
def sample_categorical(d):
    n = d.rng.choice([2, 3, 4])
    values = [d.rng.choice([0, 1, 4, 16, 64, 512]) for _ in range(n)]
    probs = {2: [0.5, 0.5], 3: [0.5, 0.25, 0.25], 4: [0.25] * 4}[n]
    return f"sch.sample_categorical(candidates={values}, probs={probs}, decision={d.rng.randrange(n)})"


@Call("loop")
def sample_compute_location(d):
    block, realize, _ = d.AnyBlock()
    if d.rng.random() < 0.05:
        return f"sch.sample_compute_location({block}, decision={d.rng.choice([-2, -1, 0, 1, 2])})"
    sampled = d.schedule.copy()
    sampled.seed(d.rng.randrange(1, 2**30))
    sampled.sample_compute_location(sampled.get_sblock(realize.block.name_hint, d.function))
    decision = sampled.trace.decisions[sampled.trace.insts[-1]]
    return f"sch.sample_compute_location({block}, decision={int(decision)})"


# ---- Loops

@Call("loops")
def split(d):
    loop, stmt = d.AnyLoop()
    extent = d.Int(stmt.extent)
    divisors = [k for k in range(1, extent + 1) if extent % k == 0]
    pieces = d.rng.choice([2, 2, 2, 3, 4])
    factors = [d.rng.choice(divisors if d.rng.random() < 0.7 else [1, 2, 3, 4, 5, 8, 16]) for _ in range(pieces - 1)]
    if d.rng.random() < 0.8:
        factors.insert(d.rng.randrange(pieces), None)
    else:
        product = 1
        for factor in factors:
            product *= factor
        factors.insert(0, max(1, -(-extent // product) - (d.rng.random() < 0.1)))
    flags = d.Bool("preserve_unit_iters") + d.rng.choice(["", "", "", ", disable_predication=True"])
    if d.rng.random() < 0.5:
        return f"sch.split({loop}, {factors}{flags})"
    return f"sch.split({loop}, factors={factors}{flags})"


@Call("loop")
def fuse(d):
    block, _, loops = d.BlockWithLoops(2)
    start = d.rng.randrange(len(loops) - 1)
    end = d.rng.randrange(start + 2, len(loops) + 1)
    name = d.LoopNames(block)
    indices = list(range(start, end))
    if d.rng.random() < 0.05:
        d.rng.shuffle(indices)
    return f"sch.fuse({', '.join(f'{name}[{k}]' for k in indices)}{d.Bool('preserve_unit_iters')})"


@Call("")
def reorder(d):
    block, _, loops = d.BlockWithLoops(2)
    name = d.LoopNames(block)
    indices = d.rng.sample(range(len(loops)), d.rng.randrange(2, len(loops) + 1))
    return f"sch.reorder({', '.join(f'{name}[{k}]' for k in indices)})"


@Call("loops")
def loop_partition(d):
    """Factors are the lengths of the parts."""
    loop, stmt = d.AnyLoop()
    extent = d.Int(stmt.extent)
    parts = d.rng.choice([1, 1, 1, 2, 3])
    factors, left = [], extent
    for _ in range(parts):
        factors.append(d.rng.randrange(1, max(2, left - 1)) if d.rng.random() < 0.95 else extent)
        left -= factors[-1]
    factors.insert(d.rng.randrange(parts + 1), None)
    if d.rng.random() < 0.2:
        factors[factors.index(None)] = max(left, 1)
    return f"sch.loop_partition({loop}, {d.rng.choice(['', 'factors='])}{factors}{d.Bool('preserve_unit_iters')})"


@Call("loop")
def merge(d):
    """The innermost loops, or some further out, of neighbours with equal nests."""
    block, realize, loops = d.BlockWithLoops()
    extents = [d.Int(loop.extent) for loop in loops]
    def SameNest(other, others):
        return len(others) >= 1 and not other.same_as(realize) and [d.Int(loop.extent) for loop in others][:1] == extents[:1]
    order = [realize.block.name_hint for realize, _, _ in d.Realizes()]
    place = order.index(realize.block.name_hint)
    def Beside(other, others):
        return SameNest(other, others) and abs(order.index(other.block.name_hint) - place) == 1
    chance = d.rng.random()
    second, _, others = d.Where(Beside) if chance < 0.9 else d.Where(SameNest) if chance < 0.98 else d.BlockWithLoops()
    k = d.rng.randrange(min(len(loops), len(others)))
    pair = sorted([block, second], key=lambda text: order.index(d.names_of.get(text, text.strip('"'))))
    names = [f"{d.LoopNames(text)}[{k}]" for text in pair]
    if d.rng.random() < 0.01:
        names.reverse()
    return f"sch.merge({', '.join(names)})"


@Call("")
def reorder_block_iter_var(d):
    block, realize, _ = d.AnyBlock()
    order = list(range(len(realize.block.iter_vars)))
    d.rng.shuffle(order)
    if d.rng.random() < 0.05:
        order = order[:-1] if d.rng.random() < 0.5 else order + [0]
    return f"sch.reorder_block_iter_var({d.AsBlock(block)}, {order})"


@Call("loop")
def add_unit_loop(d):
    return f"sch.add_unit_loop({d.LoopOrBlock()})"


@Call("")
def parallel(d):
    return f"sch.parallel({d.AnyLoop()[0]})"


@Call("")
def vectorize(d):
    return f"sch.vectorize({d.AnyLoop()[0]})"


@Call("")
def unroll(d):
    return f"sch.unroll({d.AnyLoop()[0]})"


@Call("")
def bind(d):
    axis = d.rng.choice(["blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.x", "threadIdx.y", "vthread.x", "vthread"])
    return f'sch.bind({d.AnyLoop()[0]}, {d.rng.choice(["", "thread_axis="])}"{axis}")'


# ---- Movement

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
        carries = lambda loop: any(loop.same_as(l) for inside, above in below for l in above if _Reduces(inside, l))
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

@Call("block")
def decompose_reduction(d):
    block, _, loops = d.Reduction()
    return f"sch.decompose_reduction({block}, {d.LoopNames(block)}[{d.rng.randrange(len(loops))}])"


@Call("block")
def rfactor(d):
    block, realize, loops = d.Reduction()
    reduce_loops = [k for k, loop in enumerate(loops) if _Reduces(realize, loop)]
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


def _Reduces(realize, loop):
    return any(int(it.iter_type) == 2 and _Uses(value, loop.loop_var)
               for it, value in zip(realize.block.iter_vars, realize.iter_values))


def _Uses(expr, var):
    from tvm.tirx.analysis import undefined_vars
    return any(v.same_as(var) for v in undefined_vars(expr))


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
        places = [next((k for k, loop in enumerate(loops) if _Uses(value, loop.loop_var)), -1) for value in realize.iter_values]
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
