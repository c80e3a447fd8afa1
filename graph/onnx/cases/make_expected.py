"""Writes the expected values of cases: every line `by ENGINE TOLERANCE OUTPUT...` of FILE is followed by what the engine gives.

    make_expected.py FILE...          packages numpy, onnx, ml_dtypes, onnxruntime
ENGINE is ort (ONNX Runtime without optimizations) or ref (onnx.reference)."""
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T, helper as H

KINDS = dict(f32=(np.float32, T.FLOAT), f16=(np.float16, T.FLOAT16), bf16=(ml_dtypes.bfloat16, T.BFLOAT16), f64=(np.float64, T.DOUBLE), i64=(np.int64, T.INT64), u64=(np.uint64, T.UINT64),
             i32=(np.int32, T.INT32), i16=(np.int16, T.INT16), u16=(np.uint16, T.UINT16), i8=(np.int8, T.INT8), u8=(np.uint8, T.UINT8), bool=(np.bool_, T.BOOL), str=(object, T.STRING),
             u4=(np.uint8, T.UINT4), i4=(np.int8, T.INT4))
NAMES = {np.dtype(dtype): name for name, (dtype, _) in KINDS.items() if name not in ("u4", "i4")}
NAMES[np.dtype(ml_dtypes.int4)], NAMES[np.dtype(ml_dtypes.uint4)] = "i4", "u4"


def drawn(seed, count):
    with np.errstate(over="ignore"):
        x = (np.arange(count, dtype=np.uint32) + np.uint32(1)) * np.uint32(2654435761) + np.uint32(seed * 97531 & 0xFFFFFFFF)
        x ^= x >> np.uint32(16)
        x *= np.uint32(2246822519)
        return (x ^ x >> np.uint32(13)).astype(np.int64)


def given(words):
    name, kind, shape = words[1], words[2], [int(d.split(":")[-1]) for d in words[3].split(",")] if words[3] != "[]" else []
    count = int(np.prod(shape)) if shape else 1
    if kind == "str":
        return name, kind, np.array(words[5:], dtype=object).reshape(shape)
    if words[4:] and words[4] == "seed":
        low, high = (int(words[7]), int(words[8])) if len(words) > 8 else (-1000, 1000)
        values = low + drawn(int(words[5]), count) % (high - low + 1)
        if kind.startswith(("f", "bf")) and len(words) <= 8:
            values = values / 500
    else:
        values = np.array([float(v) for v in words[5:5 + count]])
    return name, kind, np.asarray(values).astype(KINDS[kind][0]).reshape(shape)


def constant(name, kind, a):
    if kind in ("i4", "u4"):
        v = [int(x) & 15 for x in np.ravel(a)]
        v += [0] * (len(v) % 2)
        return H.make_tensor(name, KINDS[kind][1], a.shape, bytes(v[k] | v[k + 1] << 4 for k in range(0, len(v), 2)), raw=True)
    if kind == "str":
        return H.make_tensor(name, T.STRING, a.shape, [str(x).encode() for x in a.ravel()])
    return onnx.numpy_helper.from_array(a, name)


def attribute(text):
    name, rest = text.split("=", 1)
    kind, value = rest.split(":", 1)
    parts = [p for p in value.split(",") if p]
    made = dict(i=lambda: int(value), f=lambda: float(value), s=lambda: value)
    made["is"], made["fs"], made["ss"] = (lambda: [int(p) for p in parts]), (lambda: [float(p) for p in parts]), (lambda: parts)
    made["tf"] = lambda: onnx.numpy_helper.from_array(np.array([float(p) for p in parts], np.float32))
    made["tu"] = lambda: onnx.numpy_helper.from_array(np.array([int(p) for p in parts], np.uint8))
    a = H.make_attribute(name, made[kind]()) if parts or kind == "s" else onnx.AttributeProto(name=name)
    a.type = {"f": 1, "i": 2, "s": 3, "t": 4, "fs": 6, "is": 7, "ss": 8}[kind if kind[0] != "t" else "t"]
    return a


def node(words):
    domain, op = words[1].rsplit(":", 1) if ":" in words[1] else ("", words[1])
    arrow = words.index("->")
    blank = lambda w: "" if w == "-" else w
    n = H.make_node(op, [blank(w) for w in words[2:arrow]], [blank(w) for w in words[arrow + 1:] if "=" not in w], domain=domain)
    n.attribute.extend(attribute(w) for w in words[arrow + 1:] if "=" in w)
    return n


def text_of(tolerance, name, a):
    kind = NAMES[a.dtype]
    shape = ",".join(map(str, a.shape)) or "[]"
    values = (f"{v:.9g}" if kind.startswith("f") else str(int(v)) for v in np.ravel(a))
    return f"expect {tolerance} {name} {kind} {shape} = {' '.join(values)}"


def run(lines, engine, outputs):
    opset, imports, nodes, consts, inputs = 17, [], [], [], {}
    for words in lines:
        if words[0] == "opset": opset = int(words[1])
        if words[0] == "import": imports.append(H.make_opsetid(words[1], int(words[2])))
        if words[0] == "node": nodes.append(node(words))
        if words[0] == "const": consts.append(constant(*given(words)))
        if words[0] == "input":
            name, kind, a = given(words)
            inputs[name] = (kind, a)
    domains = {n.domain for n in nodes} - {""} - {i.domain for i in imports}
    imports += [H.make_opsetid("", opset)] + [H.make_opsetid(d, 1) for d in sorted(domains)]
    g = H.make_graph(nodes, "case", [H.make_tensor_value_info(k, KINDS[t][1], a.shape) for k, (t, a) in inputs.items()],
                     [onnx.ValueInfoProto(name=o) for o in outputs], consts)
    m = H.make_model(g, opset_imports=imports, ir_version=10)
    feed = {k: a for k, (_, a) in inputs.items()}
    if engine == "ref":
        from onnx.reference import ReferenceEvaluator
        return ReferenceEvaluator(m).run(outputs, feed)
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(outputs, feed)


for path in sys.argv[1:]:
    out, case, name = [], [], ""
    for line in open(path).read().splitlines():
        words = line.split()
        if words and words[0] == "expect":
            continue
        out.append(line)
        if words and words[0] == "case":
            case, name = [], words[1]
        elif words and words[0] == "by":
            try:
                for o, a in zip(words[3:], run(case, words[1], words[3:])):
                    out.append(text_of(words[2], o, np.asarray(a)))
            except Exception as e:
                print(f"{path}: {name}: {str(e)[:300]}", file=sys.stderr)
        elif words:
            case.append(words)
    open(path, "w").write("\n".join(out) + "\n")
