"""Text of programs that TVM 0.27 and Tilewright both read: buffers, loops, blocks, functions."""

HEADER = "# from tvm.script import tirx as T\n\n"


def Tensor(name, shape, dtype="float32"):
    dims = ", ".join(str(d) for d in shape)
    return f'{name}: T.Buffer(({dims}{"," if len(shape) == 1 else ""}), "{dtype}")'


def Alloc(name, shape, dtype="float32", scope="global"):
    dims = ", ".join(str(d) for d in shape)
    return f'{name} = T.sblock_alloc_buffer(({dims}{"," if len(shape) == 1 else ""}), "{dtype}", scope="{scope}")'


def Indent(lines, depth=1):
    return ["    " * depth + line for line in lines]


def Loops(axes, inner):
    """for i, j in T.grid(...) around `inner`, which is lines; axes: (loop, extent) pairs."""
    if not axes:
        return inner
    names = ", ".join(name for name, _ in axes)
    extents = ", ".join(str(extent) for _, extent in axes)
    head = f"for {names} in T.grid({extents}):" if len(axes) > 1 else f"for {names} in range({extents}):"
    return [head] + Indent(inner)


def Block(name, axes, body, init=None, bindings=None, where=None, more=()):
    """Loops and a block of their own iterators. `axes`: (name, extent, kind); the iterator of i is vi."""
    lines = [f'with T.sblock("{name}"):']
    inside = []
    for k, (axis, extent, kind) in enumerate(axes):
        word = {"S": "spatial", "R": "reduce", "O": "opaque"}[kind]
        inside.append(f"v{axis} = T.axis.{word}({extent}, {bindings[k] if bindings else axis})")
    if where:
        inside.append(f"T.where({where})")
    inside += more
    if init:
        inside += ["with T.init():"] + Indent(init if isinstance(init, list) else [init])
    inside += body if isinstance(body, list) else [body]
    return lines + Indent(inside)


def Nest(name, axes, body, init=None, more=()):
    return Loops([(axis, extent) for axis, extent, _ in axes], Block(name, axes, body, init, more=more))


def Func(params, lines, name="main", attr=""):
    return "\n".join([f"@T.prim_func({attr}s_tir=True)", f"def {name}({', '.join(params)}):"] + Indent(lines)) + "\n"


def Program(params, lines):
    return HEADER + Func(params, lines)
