#!/usr/bin/env python3
"""Applies the same schedules to the same programs in TVM and in `tilewright schedule`, and compares the results.

A developer's script: no test runs it, and nothing else needs TVM. README.md says how to install it and what the known
differences are.

  bazel build //tools:tilewright
  PYTHON tools/peer/compare.py [--seed=1] [--cases=40] [--primitive=compute_at] [--show=different]

For each primitive it makes `cases` programs and schedules from the seed; the last call of a schedule is the one under
test. The outcomes:

  same        both accept, and `tilewright equal` finds the results equal
  different   both accept, the results are not equal
  refused     both refuse
  only ours   we refuse, TVM accepts       only TVM    TVM refuses, we accept
  setup       a call before the last one was refused by one of them
"""

import argparse
import collections
import importlib.util
import os
import pickle
import random
import subprocess
import sys
import tempfile

KINDS = ["same", "different", "refused", "only ours", "only TVM", "setup"]


# ---- Programs, in the dialect that both read after ToTvm().

def Matmul(m, n, l, transposed):
    b = "B[vj, vk]" if transposed else "B[vk, vj]"
    b_shape = f"({n}, {l})" if transposed else f"({l}, {n})"
    return f'''
@T.prim_func
def main(A: T.Buffer(({m}, {l}), "float32"), B: T.Buffer({b_shape}, "float32"), D: T.Buffer(({m}, {n}), "float32")):
    A2 = T.alloc_buffer(({m}, {l}))
    C = T.alloc_buffer(({m}, {n}))
    for i, j in T.grid({m}, {l}):
        with T.block("A2"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(A2[vi, vj])
            A2[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j, k in T.grid({m}, {n}, {l}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A2[vi, vk], {b})
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A2[vi, vk] * {b}
    for i, j in T.grid({m}, {n}):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C[vi, vj])
            T.writes(D[vi, vj])
            D[vi, vj] = C[vi, vj] + T.float32(1)
''', {"blocks": {"A2": [m, l], "C": [m, n, l], "D": [m, n]}}


def Conv(h, c, o, r, stride):
    p = (h - 1) * stride + r
    times = f" * {stride}" if stride > 1 else ""
    return f'''
@T.prim_func
def main(X: T.Buffer((1, {p - 2}, {p - 2}, {c}), "float32"), W: T.Buffer(({r}, {r}, {c}, {o}), "float32"), D: T.Buffer((1, {h}, {h}, {o}), "float32")):
    A2 = T.alloc_buffer((1, {p}, {p}, {c}))
    C = T.alloc_buffer((1, {h}, {h}, {o}))
    for n, h, w, c in T.grid(1, {p}, {p}, {c}):
        with T.block("A2"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            T.reads(X[vn, vh - 1, vw - 1, vc])
            T.writes(A2[vn, vh, vw, vc])
            A2[vn, vh, vw, vc] = T.if_then_else(1 <= vh and vh < {p - 1} and 1 <= vw and vw < {p - 1}, X[vn, vh - 1, vw - 1, vc], T.float32(0))
    for n, h, w, c, rh, rw, rc in T.grid(1, {h}, {h}, {o}, {r}, {r}, {c}):
        with T.block("C"):
            vn, vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, c, rh, rw, rc])
            T.reads(A2[vn, vh{times} + vrh, vw{times} + vrw, vrc], W[vrh, vrw, vrc, vc])
            T.writes(C[vn, vh, vw, vc])
            with T.init():
                C[vn, vh, vw, vc] = T.float32(0)
            C[vn, vh, vw, vc] = C[vn, vh, vw, vc] + A2[vn, vh{times} + vrh, vw{times} + vrw, vrc] * W[vrh, vrw, vrc, vc]
    for n, h, w, c in T.grid(1, {h}, {h}, {o}):
        with T.block("D"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            T.reads(C[vn, vh, vw, vc])
            T.writes(D[vn, vh, vw, vc])
            D[vn, vh, vw, vc] = T.max(C[vn, vh, vw, vc], T.float32(0))
''', {"blocks": {"A2": [1, p, p, c], "C": [1, h, h, o, r, r, c], "D": [1, h, h, o]}}


def Chain(m, n, shape):
    """Element-wise C reads A2 transposed, flattened or as it is; D reads C."""
    read = {"plain": "A2[vi, vj]", "transposed": "A2[vj, vi]", "flat": f"A2[vi * {n} + vj]"}[shape]
    write = {"plain": "A2[vi, vj]", "transposed": "A2[vj, vi]", "flat": f"A2[vi * {n} + vj]"}[shape]
    buffer = {"plain": f"({m}, {n})", "transposed": f"({n}, {m})", "flat": f"({m * n},)"}[shape]
    return f'''
@T.prim_func
def main(A: T.Buffer(({m}, {n}), "float32"), D: T.Buffer(({m}, {n}), "float32")):
    A2 = T.alloc_buffer({buffer})
    C = T.alloc_buffer(({m}, {n}))
    for i, j in T.grid({m}, {n}):
        with T.block("A2"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes({write})
            {write} = A[vi, vj] * T.float32(2)
    for i, j in T.grid({m}, {n}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads({read})
            T.writes(C[vi, vj])
            C[vi, vj] = {read} + T.float32(1)
    for i, j in T.grid({m}, {n}):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C[vi, vj])
            T.writes(D[vi, vj])
            D[vi, vj] = C[vi, vj] * C[vi, vj]
''', {"blocks": {"A2": [m, n], "C": [m, n], "D": [m, n]}}


def RandomProgram(rng):
    family = rng.choice(["matmul", "matmul", "conv", "chain", "chain"])
    if family == "matmul":
        return Matmul(*(rng.choice([16, 30, 32, 48, 60]) for _ in range(3)), rng.random() < 0.5)
    if family == "conv":
        return Conv(rng.choice([7, 8, 14]), rng.choice([4, 6]), rng.choice([4, 8]), rng.choice([1, 3]), rng.choice([1, 2]))
    return Chain(rng.choice([16, 30, 32]), rng.choice([16, 24, 64]), rng.choice(["plain", "transposed", "flat"]))


# ---- Schedules: lists of lines. Setup tiles a block; the last line is the call under test.

def Tile(rng, block, extents, name):
    """Splits some loops of a block and may move the outer parts out; loops end up in the list `name`."""
    lines = [f'{name} = sch.get_loops(sch.get_block("{block}"))']
    outer, inner = [], []
    for i, extent in enumerate(extents):
        if extent > 1 and rng.random() < 0.6:
            factor = rng.choice([2, 3, 4, 8, 16])
            lines.append(f"{name}o{i}, {name}i{i} = sch.split({name}[{i}], factors=[None, {factor}])")
            outer.append(f"{name}o{i}")
            inner.append(f"{name}i{i}")
        else:
            (outer if rng.random() < 0.5 else inner).append(f"{name}[{i}]")
    order = outer + inner
    if rng.random() < 0.8 and len(order) > 1:
        lines.append(f"sch.reorder({', '.join(order)})")
    else:
        order = []
    lines.append(f'{name}n = sch.get_loops(sch.get_block("{block}"))')
    return lines, sum(2 if f"{name}o{i}" in outer else 1 for i in range(len(extents)))


def RandomMap(rng, rank, extents):
    names = [f"i{k}" for k in range(rank)]
    kind = rng.choice(["permute", "pack", "fuse"])
    if kind == "permute" or rank < 2:
        order = names[:]
        rng.shuffle(order)
        return f"lambda {', '.join(names)}: ({', '.join(order)},)"
    if kind == "fuse":
        fused = f"{names[0]} * {extents[1]} + {names[1]}"
        return f"lambda {', '.join(names)}: ({', '.join([fused] + names[2:])},)"
    outer, inner = [], []
    for name in names:
        factor = rng.choice([0, 2, 4, 16])
        outer.append(f"{name} // {factor}" if factor else name)
        if factor:
            inner.append(f"{name} % {factor}")
    return f"lambda {', '.join(names)}: ({', '.join(outer + inner)},)"


def MakeCase(rng, primitive):
    text, facts = RandomProgram(rng)
    blocks = facts["blocks"]
    names = list(blocks)
    block = rng.choice(names)
    scope = rng.choice(["global", "shared", "local", "global.A_reg"])
    lines = []
    if primitive in ("compute_at", "reverse_compute_at"):
        near = {"compute_at": {"A2": "C", "C": "D", "D": "C"}, "reverse_compute_at": {"D": "C", "C": "A2", "A2": "C"}}
        target = near[primitive][block]
        if rng.random() < 0.4:
            cached = rng.random() < 0.5
            lines.append(f'x = sch.cache_{"read" if cached else "write"}("{target}", 0, "{scope}")')
            if (primitive == "compute_at") == cached:
                block = None
        tiling, loops = Tile(rng, target, blocks[target], "l")
        lines += tiling
        moved = "x" if block is None else f'"{block}"'
        unit = rng.choice(["", ", preserve_unit_loops=True"])
        lines.append(f"sch.{primitive}({moved}, ln[{rng.randrange(loops)}]{unit})")
        return text, lines
    if rng.random() < 0.5 and primitive not in ("transform_block_layout", "pad_einsum"):
        lines += Tile(rng, block, blocks[block], "l")[0]
    if primitive == "cache_read":
        consumer = rng.choice(["", f', consumer_blocks=["{rng.choice(names)}"]'])
        lines.append(f'x = sch.cache_read("{block}", {rng.choice([0, 0, 0, 1])}, "{scope}"{consumer})')
    elif primitive == "cache_write":
        lines.append(f'x = sch.cache_write("{block}", {rng.choice([0, 0, 0, 1])}, "{scope}")')
    elif primitive == "set_scope":
        lines.append(f'sch.set_scope("{block}", 0, "{scope}")')
    elif primitive in ("compute_inline", "reverse_compute_inline"):
        lines.append(f'sch.{primitive}("{block}")')
    elif primitive == "reindex":
        lines.append(f'x = sch.reindex("{block}", ("{rng.choice(["read", "write"])}", 0))')
    elif primitive == "transform_layout":
        write = rng.random() < 0.5
        extents = blocks[block] if block != "C" else blocks["D"]
        if not write:
            extents = blocks[{"A2": "A2", "C": "A2", "D": "C"}[block]]
            extents = blocks["D"] if block == "D" else extents
        rank = 1 if "A2[vi *" in text and ("A2" in block and write or block == "C" and not write) else len(extents)
        index_map = RandomMap(rng, rank, extents)
        pad = rng.choice(["", ", pad_value=0.0"])
        lines.append(f'sch.transform_layout("{block}", ("{"write" if write else "read"}", 0), {index_map}{pad})')
    elif primitive == "transform_block_layout":
        lines.append(f'sch.transform_block_layout("{block}", {RandomMap(rng, len(blocks[block]), blocks[block])})')
    elif primitive == "pad_einsum":
        lines.append(f'sch.pad_einsum("{block}", {[rng.choice([1, 8, 16]) for _ in blocks[block]]})')
    else:
        sys.exit(f"no cases for {primitive}")
    return text, lines


PRIMITIVES = [
    "cache_read", "cache_write", "compute_at", "reverse_compute_at", "transform_layout", "transform_block_layout",
    "reindex", "compute_inline", "reverse_compute_inline", "set_scope", "pad_einsum",
]


# ---- Running

def ToTvm(text):
    return (text.replace("@T.prim_func", "@T.prim_func(s_tir=True)").replace("T.block(", "T.sblock(")
            .replace("T.alloc_buffer(", "T.sblock_alloc_buffer("))


class Peer:
    def __init__(self, folder):
        import tvm
        from tvm import s_tir
        self.tvm, self.s_tir, self.folder, self.count = tvm, s_tir, folder, 0

    def Run(self, text, lines):
        """The resulting program's text, or (number of the refused line, message). In a child: the peer may crash."""
        self.count += 1
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(write, "wb") as pipe:
                for entry in self.Steps(text, lines):
                    pickle.dump(entry, pipe)
                    pipe.flush()
            os._exit(0)
        os.close(write)
        done, result = -1, None
        with os.fdopen(read, "rb") as pipe:
            while result is None:
                try:
                    done, result = pickle.load(pipe)
                except EOFError:
                    result = None, (done + 1, "crashed")
        os.waitpid(child, 0)
        return result

    def Steps(self, text, lines):
        """Yields (number of lines applied - 1, nothing), and at the end with what Run returns."""
        path = os.path.join(self.folder, f"program{self.count}.py")
        with open(path, "w") as f:
            f.write("from tvm.script import tirx as T\n" + ToTvm(text))
        spec = importlib.util.spec_from_file_location(f"program{self.count}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sch = self.s_tir.Schedule(module.main)
        names = {"sch": sch}
        for number, line in enumerate(lines):
            try:
                exec(line.replace("get_block(", "get_sblock("), names)
                yield number, None
            except Exception as error:  # ScheduleError, and internal errors that stand for refusals
                message = f"{type(error).__name__}: {' '.join(str(error).split())[-300:]}"
                yield number, (None, (number, message))
                return
        yield len(lines) - 1, (sch.mod.script(), None)


def Ours(binary, folder, text, lines):
    program, script = os.path.join(folder, "ours.py"), os.path.join(folder, "schedule.py")
    with open(program, "w") as f:
        f.write(text)
    with open(script, "w") as f:
        f.write("\n".join(lines) + "\n")
    done = subprocess.run([binary, "schedule", program, "--script=" + script], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout, None
    if done.returncode != 1:
        return None, (-1, f"exit status {done.returncode}: {done.stderr}")
    first = done.stderr.split("\n", 1)[0]
    line = first.removeprefix(script + ":").split(":", 1)[0]
    return None, (int(line) - 1 if line.isdigit() else -1, first)


def Equal(binary, folder, ours, theirs):
    paths = [os.path.join(folder, "result_ours.py"), os.path.join(folder, "result_tvm.py")]
    for path, text in zip(paths, (ours, theirs)):
        with open(path, "w") as f:
            f.write(text)
    done = subprocess.run([binary, "equal"] + paths, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def Classify(lines, ours_error, tvm_error):
    last = len(lines) - 1
    if any(error and error[0] != last for error in (ours_error, tvm_error)):
        return "setup" if bool(ours_error) != bool(tvm_error) or ours_error[0] != tvm_error[0] else "refused"
    if ours_error and tvm_error:
        return "refused"
    return "only ours" if ours_error else "only TVM"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/tools/tilewright")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--primitive", choices=PRIMITIVES)
    parser.add_argument("--show", default="", help="outcomes to show in full, separated by commas; or all")
    args = parser.parse_args()
    shown = KINDS if args.show == "all" else args.show.split(",")
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(folder)
        print(f"seed {args.seed}, TVM {peer.tvm.__version__}")
        print(f"{'primitive':24}" + "".join(f"{kind:>11}" for kind in KINDS))
        for primitive in [args.primitive] if args.primitive else PRIMITIVES:
            rng = random.Random(f"{primitive} {args.seed}")
            counts = collections.Counter()
            for _ in range(args.cases):
                text, lines = MakeCase(rng, primitive)
                theirs, tvm_error = peer.Run(text, lines)
                ours, ours_error = Ours(args.binary, folder, text, lines)
                detail = f"ours: {ours_error}\nTVM:  {tvm_error}"
                if ours is not None and theirs is not None:
                    same, detail = Equal(args.binary, folder, ours, theirs)
                    kind = "same" if same else "different"
                else:
                    kind = Classify(lines, ours_error, tvm_error)
                counts[kind] += 1
                if kind in shown:
                    print(f"---- {kind}\n{text}\n" + "\n".join(lines) + f"\n{detail}")
            print(f"{primitive:24}" + "".join(f"{counts[kind]:11}" for kind in KINDS), flush=True)


if __name__ == "__main__":
    main()
