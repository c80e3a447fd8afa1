"""The programs that compare.py schedules: families of small programs, in the text that TVM 0.27 and Tilewright both read.

A family is a function from a random generator to a program's text; FAMILIES lists them. Extents are small and often do
not divide, since only the shape of programs matters here.
"""

from program_text import Alloc, Block, Func, HEADER, Indent, Loops, Nest, Program, Tensor


def S(*axes):
    return [(name, extent, "S") for name, extent in axes]


def R(*axes):
    return [(name, extent, "R") for name, extent in axes]


# ---- Element-wise

def Chain(rng):
    """B, C, D: each reads the one before as it is, transposed or flattened."""
    m, n = rng.choice([4, 7, 16, 30, 32]), rng.choice([8, 16, 24, 64])
    shape = rng.choice(["plain", "plain", "transposed", "flat", "broadcast"])
    place = {"plain": "B[vi, vj]", "transposed": "B[vj, vi]", "flat": f"B[vi * {n} + vj]", "broadcast": "B[vi]"}[shape]
    dims = {"plain": (m, n), "transposed": (n, m), "flat": (m * n,), "broadcast": (m,)}[shape]
    ij = S(("i", m), ("j", n))
    first = Nest("B", ij, f"{place} = A[vi, vj] * T.float32(2)")
    if shape == "broadcast":
        first = Nest("B", S(("i", m)), "B[vi] = A[vi, 0] * T.float32(2)")
    return Program([Tensor("A", (m, n)), Tensor("D", (m, n))],
                   [Alloc("B", dims), Alloc("C", (m, n))] + first +
                   Nest("C", ij, f"C[vi, vj] = {place} + T.float32(1)") +
                   Nest("D", ij, "D[vi, vj] = C[vi, vj] * C[vi, vj]"))


def Diamond(rng):
    """C and D read B; E reads both. C may come with an offset."""
    n = rng.choice([16, 30, 64, 128])
    off = rng.choice([0, 0, 1, 4])
    return Program([Tensor("A", (n + off,)), Tensor("E", (n,))],
                   [Alloc("B", (n + off,)), Alloc("C", (n,)), Alloc("D", (n,))] +
                   Nest("B", S(("i", n + off)), "B[vi] = A[vi] * T.float32(2)") +
                   Nest("C", S(("i", n)), f"C[vi] = B[vi{f' + {off}' if off else ''}] + T.float32(1)") +
                   Nest("D", S(("i", n)), "D[vi] = T.exp(B[vi])") + Nest("E", S(("i", n)), "E[vi] = C[vi] + D[vi]"))


def Dtypes(rng):
    """Chains of types: casts, comparisons, selections, booleans."""
    m, n = rng.choice([8, 16, 20]), rng.choice([8, 16])
    ij = S(("i", m), ("j", n))
    return Program([Tensor("A", (m, n), "float16"), Tensor("D", (m, n), "int8")],
                   [Alloc("B", (m, n)), Alloc("C", (m, n), "bool")] +
                   Nest("B", ij, 'B[vi, vj] = T.Cast("float32", A[vi, vj])') +
                   Nest("C", ij, "C[vi, vj] = B[vi, vj] > T.float32(0)") +
                   Nest("D", ij, "D[vi, vj] = T.Select(C[vi, vj], T.int8(1), T.int8(0))"))


def UnitLoops(rng):
    """Axes of extent 1 and constant indices."""
    n = rng.choice([8, 16, 30])
    return Program([Tensor("A", (1, n, 1)), Tensor("C", (1, n, 1))],
                   [Alloc("B", (1, n, 1))] +
                   Nest("B", S(("a", 1), ("i", n), ("b", 1)), "B[va, vi, vb] = A[va, vi, vb] + T.float32(1)") +
                   Loops([("i", n), ("b", 1)],
                         Block("C", S(("a", 1), ("i", n), ("b", 1)), "C[va, vi, vb] = B[va, vi, vb] * T.float32(2)",
                               bindings=["0", "i", "b"])))


def Int64(rng):
    n, m = rng.choice([12, 16, 30]), rng.choice([8, 16])
    lines = ["for i, j in T.grid(T.int64(%d), T.int64(%d)):" % (n, m)]
    block = Block("B", S(("i", f"T.int64({n})"), ("j", f"T.int64({m})")), "B[vi, vj] = A[vi, vj] * T.float32(2)")
    second = Block("C", S(("i", f"T.int64({n})"), ("j", f"T.int64({m})")), "C[vi, vj] = B[vi, vj] + T.float32(2)")
    shape = (f"T.int64({n})", f"T.int64({m})")
    return Program([Tensor("A", shape), Tensor("C", shape)],
                   [Alloc("B", shape)] + lines + Indent(block) + lines + Indent(second))


def Symbolic(rng):
    m = rng.choice([8, 16])
    return HEADER + Func([Tensor("A", ('"n"', m)), Tensor("C", ("n", m)), "n: T.int32"],
                         [Alloc("B", ("n", m))] +
                         Nest("B", S(("i", "n"), ("j", m)), "B[vi, vj] = A[vi, vj] * T.float32(2)") +
                         Nest("C", S(("i", "n"), ("j", m)), "C[vi, vj] = B[vi, vj] + T.float32(1)"))


def SymbolicMatmul(rng):
    m, l = rng.choice([8, 16]), rng.choice([16, 32])
    return HEADER + Func([Tensor("A", ('"n"', l)), Tensor("B", (l, m)), Tensor("D", ("n", m)), "n: T.int32"],
                         [Alloc("C", ("n", m))] +
                         Nest("C", S(("i", "n"), ("j", m)) + R(("k", l)), "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]",
                              "C[vi, vj] = T.float32(0)") +
                         Nest("D", S(("i", "n"), ("j", m)), "D[vi, vj] = C[vi, vj] + T.float32(1)"))


# ---- Contractions

def Matmul(rng):
    m, n, l = (rng.choice([8, 16, 30, 32, 48, 60]) for _ in range(3))
    b = rng.choice(["B[vk, vj]", "B[vj, vk]"])
    dtype, out = rng.choice([("float32", "float32")] * 3 + [("float16", "float32"), ("int8", "int32")])
    cast = (lambda e: e) if dtype == out else (lambda e: f'T.Cast("{out}", {e})')
    ijk = S(("i", m), ("j", n)) + R(("k", l))
    lines = [Alloc("C", (m, n), out)]
    operand = "A"
    if rng.random() < 0.6:
        lines += [Alloc("A2", (m, l), dtype)] + Nest("A2", S(("i", m), ("j", l)), f"A2[vi, vj] = A[vi, vj] * T.{dtype}(2)")
        operand = "A2"
    lines += Nest("C", ijk, f"C[vi, vj] = C[vi, vj] + {cast(operand + '[vi, vk]')} * {cast(b)}", f"C[vi, vj] = T.{out}(0)")
    lines += Nest("D", S(("i", m), ("j", n)), f"D[vi, vj] = C[vi, vj] + T.{out}(1)")
    return Program([Tensor("A", (m, l), dtype), Tensor("B", (l, n) if b == "B[vk, vj]" else (n, l), dtype),
                    Tensor("D", (m, n), out)], lines)


def OnlyMatmul(rng):
    """No other blocks, and all loops in a random order; the sizes are those of tensor instructions."""
    m, n, l = (rng.choice([16, 32, 64]) for _ in range(3))
    axes = S(("i", m), ("j", n)) + R(("k", l))
    order = [0, 1, 2]
    rng.shuffle(order)
    return Program([Tensor("A", (m, l)), Tensor("B", (n, l)), Tensor("C", (m, n))],
                   Loops([axes[k][:2] for k in order],
                         Block("C", axes, "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]", "C[vi, vj] = T.float32(0)")))


def BatchMatmul(rng):
    b, m, n, l = rng.choice([1, 2, 4]), rng.choice([8, 16]), rng.choice([8, 12, 16]), rng.choice([8, 16, 30])
    axes = S(("b", b), ("i", m), ("j", n)) + R(("k", l))
    return Program([Tensor("A", (b, m, l)), Tensor("B", (b, l, n)), Tensor("D", (b, m, n))],
                   [Alloc("C", (b, m, n))] +
                   Nest("C", axes, "C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]",
                        "C[vb, vi, vj] = T.float32(0)") +
                   Nest("D", S(("b", b), ("i", m), ("j", n)), "D[vb, vi, vj] = T.max(C[vb, vi, vj], T.float32(0))"))


def Conv(rng):
    """1, 2 or 3 spatial dimensions, channels last, padded; stride, dilation, groups or depthwise."""
    rank = rng.choice([1, 1, 2, 2, 2, 3])
    size = rng.choice([5, 7, 8]) if rank < 3 else 4
    k, stride, dilation = rng.choice([1, 3]), rng.choice([1, 1, 2]), rng.choice([1, 1, 2])
    pad = (k - 1) * dilation // 2
    kind = rng.choice(["plain", "plain", "depthwise", "grouped"])
    ci, co, groups = {"plain": (4, 8, 1), "depthwise": (8, 8, 8), "grouped": (8, 8, 2)}[kind]
    full = (size - 1) * stride + (k - 1) * dilation + 1
    at = "dhw"[3 - rank:]
    spatial = [(d, size) for d in at]
    taps = [(f"r{d}", k) for d in at]
    positions = [f"v{d}" + (f" * {stride}" if stride > 1 else "") + f" + vr{d}" + (f" * {dilation}" if dilation > 1 else "")
                 for d in at]
    padded_loops = S(("n", 1), *[(d, full) for d in at], ("c", ci))
    source = ", ".join(["vn"] + [f"v{d} - {pad}" if pad else f"v{d}" for d in at] + ["vc"])
    inside = " and ".join(f"{pad} <= v{d} and v{d} < {full - pad}" for d in at)
    value = f"X[{source}]" if not pad else f"T.if_then_else({inside}, X[{source}], T.float32(0))"
    lines = [Alloc("P", (1, *[full] * rank, ci)), Alloc("Y", (1, *[size] * rank, co))]
    lines += Nest("P", padded_loops, f"P[{', '.join(['vn'] + [f'v{d}' for d in at] + ['vc'])}] = {value}")
    out = f"Y[vn, {', '.join(f'v{d}' for d in at)}, vc]"
    if kind == "depthwise":
        axes = S(("n", 1), *spatial, ("c", co)) + R(*taps)
        product = f"P[vn, {', '.join(positions)}, vc] * W[{', '.join(f'v{t}' for t, _ in taps)}, vc]"
        weight = (*[k] * rank, co)
    else:
        per = ci // groups
        axes = S(("n", 1), *spatial, ("c", co)) + R(*taps, ("rc", per))
        channel = "vrc" if groups == 1 else f"vc // {co // groups} * {per} + vrc"
        product = f"P[vn, {', '.join(positions)}, {channel}] * W[{', '.join(f'v{t}' for t, _ in taps)}, vrc, vc]"
        weight = (*[k] * rank, per, co)
    lines += Nest("Y", axes, f"{out} = {out} + {product}", f"{out} = T.float32(0)")
    lines += Nest("Z", S(("n", 1), *spatial, ("c", co)), f"{out.replace('Y', 'Z')} = T.max({out}, T.float32(0))")
    return Program([Tensor("X", (1, *[full - 2 * pad] * rank, ci)), Tensor("W", weight),
                    Tensor("Z", (1, *[size] * rank, co))], lines)


def TransposedConv(rng):
    n, k, stride = rng.choice([4, 6]), rng.choice([3, 4]), rng.choice([2])
    full = n * stride + k - 1
    return Program([Tensor("X", (n, 4)), Tensor("W", (k, 4, 8)), Tensor("Y", (n * stride, 8))],
                   [Alloc("P", (full, 4))] +
                   Nest("P", S(("i", full), ("c", 4)),
                        f"P[vi, vc] = T.if_then_else({k - 1} <= vi and vi - {k - 1} < {n * stride} and (vi - {k - 1}) % {stride} == 0, "
                        f"X[(vi - {k - 1}) // {stride}, vc], T.float32(0))") +
                   Nest("Y", S(("i", n * stride), ("o", 8)) + R(("r", k), ("c", 4)),
                        f"Y[vi, vo] = Y[vi, vo] + P[vi + vr, vc] * W[{k - 1} - vr, vc, vo]", "Y[vi, vo] = T.float32(0)"))


# ---- Reductions

def RowSum(rng):
    m, n = rng.choice([8, 16, 30]), rng.choice([16, 32, 60])
    update = rng.choice(["B[vi] = B[vi] + A[vi, vk]", "B[vi] = T.max(B[vi], A[vi, vk])", "B[vi] = B[vi] * A[vi, vk]",
                         "B[vi] = B[vi] + A[vi, vk] * A[vi, vk]"])
    lines = [Alloc("B", (m,))] + Nest("B", S(("i", m)) + R(("k", n)), update, "B[vi] = T.float32(0)")
    return Program([Tensor("A", (m, n)), Tensor("C", (m,))],
                   lines + Nest("C", S(("i", m)), "C[vi] = T.sqrt(B[vi])"))


def DecomposedSum(rng):
    """Init and update are blocks of their own, in one nest or in two."""
    m, n = rng.choice([8, 16, 30]), rng.choice([16, 32])
    init = Block("init", S(("i", m)), "B[vi] = T.float32(0)")
    update = Block("update", S(("i", m)) + R(("k", n)), "B[vi] = B[vi] + A[vi, vk]")
    if rng.random() < 0.5:
        lines = Loops([("i", m)], init + Loops([("k", n)], update))
    else:
        lines = Loops([("i", m)], init) + Loops([("i", m), ("k", n)], update)
    return Program([Tensor("A", (m, n)), Tensor("B", (m,))], lines)


def Softmax(rng):
    m, n = rng.choice([8, 16]), rng.choice([16, 30, 64])
    ik = S(("i", m)) + R(("k", n))
    return Program([Tensor("A", (m, n)), Tensor("D", (m, n))],
                   [Alloc("M", (m,)), Alloc("E", (m, n)), Alloc("N", (m,))] +
                   Nest("M", ik, "M[vi] = T.max(M[vi], A[vi, vk])", "M[vi] = T.float32(-1000)") +
                   Nest("E", S(("i", m), ("j", n)), "E[vi, vj] = T.exp(A[vi, vj] - M[vi])") +
                   Nest("N", ik, "N[vi] = N[vi] + E[vi, vk]", "N[vi] = T.float32(0)") +
                   Nest("D", S(("i", m), ("j", n)), "D[vi, vj] = E[vi, vj] / N[vi]"))


def LayerNorm(rng):
    """Sum and sum of squares in one block of two outputs."""
    m, n = rng.choice([8, 16]), rng.choice([16, 32])
    return Program([Tensor("A", (m, n)), Tensor("D", (m, n))],
                   [Alloc("X", (m,)), Alloc("Y", (m,))] +
                   Nest("sums", S(("i", m)) + R(("k", n)),
                        ["a: T.let[T.float32] = X[vi] + A[vi, vk]", "b: T.let[T.float32] = Y[vi] + A[vi, vk] * A[vi, vk]",
                         "X[vi] = a", "Y[vi] = b"] if rng.random() < 0.5 else
                        ["X[vi] = X[vi] + A[vi, vk]", "Y[vi] = Y[vi] + A[vi, vk] * A[vi, vk]"],
                        ["X[vi] = T.float32(0)", "Y[vi] = T.float32(0)"]) +
                   Nest("D", S(("i", m), ("j", n)),
                        f"D[vi, vj] = (A[vi, vj] - X[vi]) * T.rsqrt(Y[vi] - X[vi] * X[vi] + T.float32(1))"))


def Argmax(rng):
    m, n = rng.choice([8, 16, 30]), rng.choice([16, 32, 60])
    body = ["a: T.let[T.int32] = T.Select(V[vi] >= A[vi, vk], I[vi], J[vi, vk])",
            "b: T.let[T.float32] = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])", "I[vi] = a", "V[vi] = b"]
    return Program([Tensor("J", (m, n), "int32"), Tensor("A", (m, n)), Tensor("I", (m,), "int32"), Tensor("V", (m,))],
                   Nest("argmax", S(("i", m)) + R(("k", n)), body, ["I[vi] = -1", "V[vi] = T.float32(-1000)"]))


def Pool(rng):
    """Maximum or mean of windows that reach into padding."""
    n, k, stride = rng.choice([5, 8]), rng.choice([2, 3]), rng.choice([1, 2])
    size = (n - 1) * stride + k - 2
    lines = [Alloc("P", (size + 2, 4)), Alloc("Y", (n, 4))]
    lines += Nest("P", S(("i", size + 2), ("c", 4)),
                  f"P[vi, vc] = T.if_then_else(1 <= vi and vi < {size + 1}, X[vi - 1, vc], T.float32(-1000))")
    lines += Nest("Y", S(("i", n), ("c", 4)) + R(("r", k)), f"Y[vi, vc] = T.max(Y[vi, vc], P[vi{f' * {stride}' if stride > 1 else ''} + vr, vc])",
                  "Y[vi, vc] = T.float32(-1000)")
    return Program([Tensor("X", (size, 4)), Tensor("Z", (n, 4))],
                   lines + Nest("Z", S(("i", n), ("c", 4)), "Z[vi, vc] = Y[vi, vc] * T.float32(0.5)"))


def Epilogue(rng):
    """A sum, and what is added to it; some with a relu or a clip."""
    m, n, l = rng.choice([8, 16, 30]), rng.choice([8, 16, 24]), rng.choice([16, 32])
    bias, at = rng.choice([((n,), "E[vj]"), ((m, n), "E[vi, vj]"), ((m,), "E[vi]")])
    value = rng.choice([f"C[vi, vj] + {at}"] * 6 + [f"{at} + C[vi, vj]"] * 3 +
                       [f"T.max(C[vi, vj] + {at}, T.float32(0))", "T.min(T.max(C[vi, vj], T.float32(-5)), T.float32(5))"])
    zero = rng.choice(["T.float32(0)", "T.float32(0)", "T.float32(1)"]) if rng.random() < 0.2 else "T.float32(0)"
    return Program([Tensor("A", (m, l)), Tensor("B", (l, n)), Tensor("E", bias), Tensor("D", (m, n))],
                   [Alloc("C", (m, n))] +
                   Nest("C", S(("i", m), ("j", n)) + R(("k", l)), "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]",
                        f"C[vi, vj] = {zero}") +
                   Nest("D", S(("i", m), ("j", n)), f"D[vi, vj] = {value}"))


# ---- Irregular


def PaddedCopy(rng):
    """A copy with padding, alone or with what reads it."""
    n, c, before, after = rng.choice([8, 14, 20]), rng.choice([4, 8]), rng.choice([0, 1, 2]), rng.choice([1, 2])
    full = n + before + after
    lines = Nest("P", S(("i", full), ("c", c)),
                 f"P[vi, vc] = T.if_then_else({before} <= vi and vi < {n + before}, X[vi{f' - {before}' if before else ''}, vc], T.float32(0))")
    if rng.random() < 0.3:
        return Program([Tensor("X", (n, c)), Tensor("P", (full, c))], lines)
    return Program([Tensor("X", (n, c)), Tensor("Z", (full, c))],
                   [Alloc("P", (full, c))] + lines + Nest("Z", S(("i", full), ("c", c)), "Z[vi, vc] = P[vi, vc] * T.float32(2)"))


def Resize(rng):
    """Nearest neighbours, windows and remainders: indices that take computing."""
    n, m, k = rng.choice([8, 12, 20]), rng.choice([8, 16]), rng.choice([2, 3])
    index = rng.choice([f"(vi * {n} // {n * k})", f"vi // {k}", f"(vi * 3 % {n})", f"vi % {n} + vj", f"(vi + vj) // {k}"])
    second = rng.choice(["vj", "vj", f"vj * {k} % {m}", f"vi % {m}"])
    return Program([Tensor("A", (n + m, m)), Tensor("C", (n * k, m))],
                   [Alloc("B", (n * k, m))] +
                   Nest("B", S(("i", n * k), ("j", m)), f"B[vi, vj] = A[{index}, {second}]" +
                        rng.choice(["", f" + A[{index}, vj]", f" * A[{index}, {second}]"])) +
                   Nest("C", S(("i", n * k), ("j", m)), "C[vi, vj] = B[vi, vj] + T.float32(1)"))


def Updates(rng):
    """Blocks that change a buffer in place, one or several elements at a time."""
    m, n = rng.choice([8, 16]), rng.choice([8, 16])
    ij = S(("i", m), ("j", n))
    lines = Nest("first", ij, "A[vi, vj] = A[vi, vj] * T.float32(2)")
    if rng.random() < 0.5:
        lines += Nest("second", S(("i", m)) + R(("j", n)), "S[vi] = S[vi] + A[vi, vj]")
    else:
        lines += Nest("second", ij, "A[vi, vj] = A[vi, vj] + S[vi]")
    return Program([Tensor("A", (m, n)), Tensor("S", (m,))], lines)



def Gather(rng):
    m, n, k = rng.choice([8, 16]), rng.choice([8, 16]), rng.choice([32, 64])
    return Program([Tensor("A", (k, n)), Tensor("J", (m,), "int32"), Tensor("C", (m, n))],
                   [Alloc("B", (m, n))] + Nest("B", S(("i", m), ("j", n)), "B[vi, vj] = A[J[vi], vj]",
                                                    more=["T.reads(J[vi], A[0:%d, vj])" % k, "T.writes(B[vi, vj])"]) +
                   Nest("C", S(("i", m), ("j", n)), "C[vi, vj] = B[vi, vj] + T.float32(1)"))


def Concat(rng):
    """Two blocks write the parts of one buffer."""
    a, b = rng.choice([8, 16]), rng.choice([8, 24])
    return Program([Tensor("A", (a,)), Tensor("B", (b,)), Tensor("D", (a + b,))],
                   [Alloc("C", (a + b,))] + Nest("first", S(("i", a)), "C[vi] = A[vi]") +
                   Nest("second", S(("i", b)), f"C[vi + {a}] = B[vi]") +
                   Nest("D", S(("i", a + b)), "D[vi] = C[vi] * T.float32(2)"))


def InPlace(rng):
    m, n = rng.choice([8, 16]), rng.choice([8, 16])
    ij = S(("i", m), ("j", n))
    return Program([Tensor("A", (m, n)), Tensor("B", (m, n))],
                   Nest("A", ij, "A[vi, vj] = A[vi, vj] + T.float32(1)") +
                   Nest("B", ij, "B[vi, vj] = A[vi, vj] * T.float32(2)"))


def Predicated(rng):
    """Tiles that do not divide, as written by a split."""
    n, tile = rng.choice([30, 50, 100]), rng.choice([8, 16])
    outer = (n + tile - 1) // tile
    block = lambda name, body: Loops([("o", outer), ("i", tile)],
                                     Block(name, S(("x", n)), body, bindings=[f"o * {tile} + i"],
                                           where=f"o * {tile} + i < {n}"))
    return Program([Tensor("A", (n,)), Tensor("C", (n,))],
                   [Alloc("B", (n,))] + block("B", "B[vx] = A[vx] + T.float32(1)") + block("C", "C[vx] = B[vx] * T.float32(2)"))


def Tiled(rng):
    """Two blocks below common loops: the producer computes a tile."""
    m, n, tile = rng.choice([16, 32]), rng.choice([16, 32]), rng.choice([4, 8])
    inner = Loops([("x", tile), ("y", n)], Block("B", S(("i", m), ("j", n)), "B[vi, vj] = A[vi, vj] * T.float32(2)",
                                                 bindings=[f"o * {tile} + x", "y"]))
    inner += Loops([("x", tile), ("y", n)], Block("C", S(("i", m), ("j", n)), "C[vi, vj] = B[vi, vj] + T.float32(1)",
                                                  bindings=[f"o * {tile} + x", "y"]))
    return Program([Tensor("A", (m, n)), Tensor("C", (m, n))], [Alloc("B", (m, n))] + Loops([("o", m // tile)], inner))


def Nested(rng):
    """A block of tiles around a block of elements; the outer one has an init or not."""
    m, n, l, t = rng.choice([16, 32]), rng.choice([16, 32]), rng.choice([16, 32]), rng.choice([4, 8, 16])
    kind = rng.choice(["copy", "matmul"])
    if kind == "copy":
        lines = [Alloc("B", (m, n))]
        for name, source, scale in (("B", "A", 2), ("C", "B", 3)):
            inner = Loops([("x", t), ("y", t)],
                          Block(f"{name}_inner", S(("x", m), ("y", n)), f"{name}[vx, vy] = {source}[vx, vy] * T.float32({scale})",
                                bindings=[f"vi * {t} + x", f"vj * {t} + y"]))
            region = f"vi * {t}:vi * {t} + {t}, vj * {t}:vj * {t} + {t}"
            lines += Nest(f"{name}_outer", S(("i", m // t), ("j", n // t)), inner,
                          more=[f"T.reads({source}[{region}])", f"T.writes({name}[{region}])"])
        return Program([Tensor("A", (m, n)), Tensor("C", (m, n))], lines)
    inner = Loops([("x", t), ("y", t), ("z", t)],
                  Block("C", S(("x", m), ("y", n)) + R(("z", l)), "C[vx, vy] = C[vx, vy] + A[vx, vz] * B[vz, vy]",
                        bindings=[f"vi * {t} + x", f"vj * {t} + y", f"vk * {t} + z"]))
    zero = Loops([("x", t), ("y", t)],
                 Block("C_init", S(("x", m), ("y", n)), "C[vx, vy] = T.float32(0)",
                       bindings=[f"vi * {t} + x", f"vj * {t} + y"]))
    return Program([Tensor("A", (m, l)), Tensor("B", (l, n)), Tensor("C", (m, n))],
                   Nest("C_outer", S(("i", m // t), ("j", n // t)) + R(("k", l // t)), inner, zero))


def Opaque(rng):
    """A block without iterators, with loops and stores in it, and one that matches tiles."""
    m, n, t = rng.choice([16, 32]), rng.choice([16, 32]), 8
    first = Block("B", [], Loops([("i", m), ("j", n)], ["B[i, j] = A[i, j] * T.float32(2)"]),
                  more=["T.reads(A[0:%d, 0:%d])" % (m, n), "T.writes(B[0:%d, 0:%d])" % (m, n)])
    if rng.random() < 0.5:
        first = Nest("B", S(("i", m), ("j", n)), "B[vi, vj] = A[vi, vj] * T.float32(2)")
    region = f"vi * {t}:vi * {t} + {t}, vj * {t}:vj * {t} + {t}"
    second = Nest("C", S(("i", m // t), ("j", n // t)),
                  Loops([("x", t), ("y", t)], Block("C_tile", S(("x", t), ("y", t)), "c[vx, vy] = b[vx, vy] + T.float32(1)")),
                  more=[f"T.reads(B[{region}])", f"T.writes(C[{region}])",
                        f"b = T.match_buffer(B[{region}], ({t}, {t}), offset_factor=1, strides=(\"s0\", 1))",
                        f"c = T.match_buffer(C[{region}], ({t}, {t}), offset_factor=1, strides=(\"s1\", 1))"])
    return Program([Tensor("A", (m, n)), Tensor("C", (m, n))], [Alloc("B", (m, n))] + first + second)


def Threads(rng):
    """Loops that are bound to threads already, with a stage in shared memory."""
    n, t = rng.choice([4, 8]), rng.choice([16, 32])
    stage = Block("S", S(("i", n * t)), "S[vi] = A[vi]", bindings=[f"bx * {t} + tx"])
    use = Block("B", S(("i", n * t)), "B[vi] = S[vi] + T.float32(1)", bindings=[f"bx * {t} + tx"])
    thread = [f'for tx in T.thread_binding({t}, thread="threadIdx.x"):']
    return Program([Tensor("A", (n * t,)), Tensor("B", (n * t,))],
                   [Alloc("S", (n * t,), scope="shared"), f'for bx in T.thread_binding({n}, thread="blockIdx.x"):'] +
                   Indent(thread + Indent(stage) + (thread if rng.random() < 0.5 else [f"for tx in range({t}):"]) + Indent(use)))


def TwoFunctions(rng):
    n = rng.choice([16, 30])
    body = lambda scale: [Alloc("B", (n,))] + Nest("B", S(("i", n)), f"B[vi] = A[vi] * T.float32({scale})") + \
        Nest("C", S(("i", n)), "C[vi] = B[vi] + T.float32(1)")
    params = [Tensor("A", (n,)), Tensor("C", (n,))]
    text = "@I.ir_module\nclass Module:\n"
    for name, scale in (("main", 2), ("other", 3)):
        text += "\n".join(Indent(Func(params, body(scale), name).split("\n"))) + "\n"
    return HEADER + text


def Scan(rng):
    """Each element uses the one before: an opaque iterator."""
    m, n = rng.choice([8, 16]), rng.choice([8, 16])
    return Program([Tensor("A", (n, m)), Tensor("B", (n, m))],
                   Nest("first", S(("j", m)), "B[0, vj] = A[0, vj]") +
                   Loops([("i", n - 1), ("j", m)],
                         Block("B", [("i", n, "O"), ("j", m, "S")], "B[vi, vj] = B[vi - 1, vj] + A[vi, vj]",
                               bindings=["i + 1", "j"])))


def OpaqueUpdate(rng):
    """A block without iterators that changes all of a buffer in place, alone or below loops, and what reads it."""
    m, n = rng.choice([8, 16]), rng.choice([8, 12, 16])
    region = f"A[0:{m}, 0:{n}]"
    inner = Block("first", [], Loops([("i", m), ("j", n)], [f"A[i, j] = A[i, j] {rng.choice(['+', '*'])} T.float32(2)"]),
                  more=[f"T.reads({region})", f"T.writes({region})"])
    lines = Loops([("x", 4)], inner) if rng.random() < 0.5 else inner
    if rng.random() < 0.5:
        lines = lines + Nest("B", S(("i", m), ("j", n)), "B[vi, vj] = A[vi, vj] * T.float32(3)")
    else:
        lines = lines + [line.replace("first", "second") for line in inner]
    return Program([Tensor("A", (m, n)), Tensor("B", (m, n))], lines)


FAMILIES = [
    OpaqueUpdate,
    Chain, Chain, Chain, Diamond, Dtypes, UnitLoops, Int64, Symbolic, SymbolicMatmul, Matmul, Matmul, Matmul, OnlyMatmul,
    OnlyMatmul, BatchMatmul, Conv, Conv, Conv, TransposedConv, RowSum, RowSum, DecomposedSum, Softmax, LayerNorm, Argmax,
    Epilogue, PaddedCopy, Resize, Updates, Pool, Gather, Concat, InPlace, Predicated, Tiled, Nested, Nested, Opaque, Threads, TwoFunctions, Scan,
]


def RandomProgram(rng):
    family = rng.choice(FAMILIES)
    return family.__name__, family(rng)
