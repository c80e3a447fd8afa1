"""Random calls of queries, of sampling and of primitives of loops (calls.py)."""

from drafter import Call


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
