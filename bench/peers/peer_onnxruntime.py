"""ONNX Runtime: a model of the one operator, weights as initializers, which it packs when the session is made.

Convolutions take and give its own layout, channels first.
"""

import os

import numpy as np
import onnxruntime

from serve import Refused

try:
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    helper = None  # Files of models are read by ONNX Runtime itself.


NAMES = ("x", "y", "z")  # of inputs


class Graph:
    """Nodes between the inputs "x" (and "y" and "z") and the output "out". `caches`: pairs of an input and an output
    that share an array, which a node appends to."""

    def __init__(self):
        self.nodes, self.constants, self.caches = [], [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, op, inputs, output="out", **attributes):
        outputs = output if isinstance(output, list) else [output]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return output

    def add_requantization(self, w, x):
        """Of f32 numbers, into the output."""
        step = self.constant("step", np.float32(1 / w.scale))
        return self.add("QuantizeLinear", [x, step, self.constant("zero_point", np.zeros((), w.output_dtype))])


def add_product(graph, w, op, x, weight, **attributes):
    """`op` is MatMul or Conv, which has a variant for each kind of number."""
    weight = graph.constant("weight", weight)
    if w.dtype == "f32":
        return graph.add(op, [x, weight], **attributes)
    if w.requantized:
        out_type = np.uint8 if w.dtype == "int8q" else np.int8
        x_zero = graph.constant("x_zero", np.zeros((), w.activation.dtype))
        w_zero = graph.constant("w_zero", np.zeros((), np.int8))
        out_zero = graph.constant("out_zero", np.zeros((), out_type))
        one = graph.constant("one", np.float32(1))
        scale = graph.constant("scale", np.float32(w.scale))
        return graph.add("QLinear" + op, [x, one, x_zero, weight, scale, w_zero, one, out_zero], **attributes)
    if w.dtype in ("int8", "s8s8"):
        return graph.add(op + "Integer", [x, weight], **attributes)
    raise Refused(f"ONNX Runtime has no {op} in {w.dtype} that sums in f32 on a CPU")


def build_matmul(graph, w):
    if not w.b_constant:
        if w.dtype != "f32":
            raise Refused("ONNX Runtime's attention scores are built in f32 only")
        graph.add("Transpose", ["x"], "query", perm=[0, 2, 1, 3])
        graph.add("Transpose", ["y"], "value", perm=[0, 2, 3, 1])
        graph.add("MatMul", ["query", "value"])
        out_shape = (w.batch // w.heads, w.heads, w.m, w.n)
        return [w.activation, w.weight], out_shape, lambda out: out.reshape(w.output_shape)
    weight = np.swapaxes(w.weight, 1, 2) if w.b_transposed else w.weight
    x, out_shape = w.activation, w.output_shape
    # Two dimensions where they suffice: only such constants are packed ahead of time.
    if w.batch == 1:
        x, weight, out_shape = x[0], weight[0], out_shape[1:]
    add_product(graph, w, "MatMul", "x", weight)
    return [x], out_shape, lambda out: out.reshape(w.output_shape)


def build_convolution(graph, w):
    window = dict(kernel_shape=w.kernel, strides=[w.stride] * w.rank, pads=w.padding * 2, group=w.groups,
                  dilations=[w.dilation] * w.rank)
    if w.transposed:
        if w.dtype != "f32":
            raise Refused("ONNX Runtime has transposed convolutions in f32 only")
        weight = graph.constant("weight", w.weight_inputs_first())
        graph.add("ConvTranspose", ["x", weight], **window)
    elif w.normalized:
        add_normalized(graph, w, window)
    else:
        add_product(graph, w, "Conv", "x", w.weight_outputs_first(), **window)
    out_shape = (w.output_shape[0], w.output_shape[-1], *w.output_shape[1:-1])
    return [w.channels_first(w.activation)], out_shape, w.channels_last


def add_normalized(graph, w, window):
    """max(0, (conv + bias) * scale + offset)"""
    last = "requantize" if w.requantized else "out"
    if w.dtype != "f32":
        if w.narrow_float:
            raise Refused(f"ONNX Runtime has no Conv in {w.dtype} that sums in f32 on a CPU")
        of_channels = (-1,) + (1,) * w.rank
        bias, scale, offset = (graph.constant(n, a.reshape(of_channels))
                               for n, a in zip(("bias", "scale", "offset"), w.parameters))
        graph.add("ConvInteger", ["x", graph.constant("weight", w.weight_outputs_first())], "sums", **window)
        graph.add("Cast", ["sums"], "conv", to=TensorProto.FLOAT)
        graph.add("Add", ["conv", bias], "biased")
        graph.add("Mul", ["biased", scale], "scaled")
        graph.add("Add", ["scaled", offset], "normalized")
    else:
        bias, scale, offset = (graph.constant(n, a) for n, a in zip(("bias", "scale", "offset"), w.parameters))
        zero = graph.constant("mean", np.zeros_like(w.parameters[0]))
        one = graph.constant("variance", np.ones_like(w.parameters[0]))
        weight = graph.constant("weight", w.weight_outputs_first())
        graph.add("Conv", ["x", weight, bias], "conv", **window)
        graph.add("BatchNormalization", ["conv", scale, offset, zero, one], "normalized", epsilon=0.0)
    graph.add("Relu", ["normalized"], last)
    if w.requantized:
        graph.add_requantization(w, last)


def build_rows(graph, w):
    if w.narrow_float:
        raise Refused(f"ONNX Runtime has no {w.op} in {w.dtype} on a CPU")
    x, last = "x", "requantize" if w.requantized else "out"
    if w.dtype != "f32":
        x = graph.add("Cast", [x], "numbers", to=TensorProto.FLOAT)
    if w.function == "softmax":
        graph.add("Softmax", [x], last, axis=-1)
    elif w.function == "row_norm":
        graph.add("ReduceL2", [x, graph.constant("axes", np.array([1], np.int64))], last, keepdims=1)
    elif w.function == "gelu":
        graph.add("Gelu", [x], last)
    else:
        scale, shift = (graph.constant(n, a) for n, a in zip(("scale", "shift"), w.parameters))
        graph.add("LayerNormalization", [x, scale, shift], last, axis=-1, epsilon=w.epsilon)
    if w.requantized:
        graph.add_requantization(w, last)
    return [w.activation], w.output_shape, lambda out: out


def tokens_first(array):
    """[batch, heads, tokens, dim] as [batch, tokens, heads * dim]."""
    batch, heads, tokens, dim = array.shape
    return np.ascontiguousarray(np.swapaxes(array, 1, 2)).reshape(batch, tokens, heads * dim)


def build_attention(graph, w):
    """Its own layout, tokens before heads. MultiHeadAttention where each head has its keys; else
    GroupQueryAttention, which appends the last keys to a cache that has the others."""
    if w.dtype != "f32":
        raise Refused(f"ONNX Runtime has no attention in {w.dtype} on a CPU")
    query, key, value = w.activation, w.weight, w.value
    common = dict(domain="com.microsoft", num_heads=w.heads, scale=float(w.dim) ** -0.5)
    out_shape = (w.batch, w.queries, w.heads * w.dim)
    to_plain = lambda out: np.swapaxes(out.reshape(w.batch, w.queries, w.heads, w.dim), 1, 2)
    # The last query sees all keys.
    causal = w.causal and w.queries > 1
    if w.key_heads == w.heads and not w.window and (not causal or w.queries == w.keys):
        graph.add("MultiHeadAttention", ["x", "y", "z"], unidirectional=int(causal), **common)
        return [tokens_first(a) for a in (query, key, value)], out_shape, to_plain
    if not causal and w.queries > 1:
        raise Refused("ONNX Runtime has no attention of several queries with grouped heads or a window without a "
                      "causal mask")
    lengths = graph.constant("lengths", np.full(w.batch, w.keys - 1, np.int32))
    length = graph.constant("length", np.int32(w.keys))
    graph.add("GroupQueryAttention", ["x", "y", "z", "past_key", "past_value", lengths, length],
              ["out", "present_key", "present_value"], kv_num_heads=w.key_heads,
              local_window_size=w.window if w.window else -1, **common)
    graph.caches = [("past_key", "present_key", key), ("past_value", "present_value", value)]
    new = slice(w.keys - w.queries, w.keys)
    return [tokens_first(a) for a in (query, key[:, :, new], value[:, :, new])], out_shape, to_plain


class Variant:
    name = ""

    def __init__(self, session, inputs, caches, out_shape, out_type, to_plain, num_sets):
        self.to_plain = to_plain
        self.runs, self.outputs, self.keep = [], [], []
        for _ in range(num_sets):
            binding = session.io_binding()
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(array.copy()) for array in inputs]
            for name, value in zip(NAMES, values):
                binding.bind_ortvalue_input(name, value)
            for past, present, array in caches:
                values.append(onnxruntime.OrtValue.ortvalue_from_numpy(array.copy()))
                binding.bind_ortvalue_input(past, values[-1])
                binding.bind_ortvalue_output(present, values[-1])
            out = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(out_shape), out_type)
            binding.bind_ortvalue_output("out", out)
            self.outputs.append(out)
            self.keep.append((binding, values))
            self.runs.append(self.run_of(session._sess.run_with_iobinding, binding._iobinding))

    @staticmethod
    def run_of(run, binding):
        return lambda: run(binding, None)

    def spoil(self, i):
        array = self.outputs[i].numpy()
        self.outputs[i].update_inplace(np.frombuffer(b"\xff" * array.nbytes, array.dtype).reshape(array.shape))

    def output(self, i):
        return self.to_plain(self.outputs[i].numpy())


class Model:
    """A file with its sets of inputs; runs as a user would call it, with arrays of NumPy."""

    def __init__(self, session, folders):
        import file_inputs
        self.output_names = [output.name for output in session.get_outputs()]
        self.bindings, self.runs = [], []
        for folder in folders:
            binding = session.io_binding()
            for array, name in file_inputs.load(folder, [i.name for i in session.get_inputs()]):
                binding.bind_cpu_input(name, array)
            for name in self.output_names:
                binding.bind_output(name)
            self.bindings.append(binding)
            self.runs.append(Variant.run_of(session._sess.run_with_iobinding, binding._iobinding))

    def arrays(self, i):
        self.runs[i]()
        return self.bindings[i].copy_outputs_to_cpu()


class Peer:
    version = onnxruntime.__version__

    def __init__(self, threads, cpus):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        if threads > 1:
            # Its numbers begin with 1, and the calling thread is not among them.
            options.add_session_config_entry("session.intra_op_thread_affinities",
                                             ";".join(str(cpu + 1) for cpu in cpus[1:]))
        self.options, self.cpus = options, cpus

    def prepare_model(self, path, folders, optimize):
        levels = onnxruntime.GraphOptimizationLevel
        self.options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(path, self.options, providers=["CPUExecutionProvider"])
        return Model(session, folders), ""

    def prepare(self, w):
        if helper is None:
            raise Refused("operators need the package onnx")
        graph = Graph()
        build = {"matmul": build_matmul, "convolution": build_convolution, "rows": build_rows,
                 "attention": build_attention}[w.kind]
        inputs, out_shape, to_plain = build(graph, w)
        out_type = np.dtype(w.output_dtype)
        describe = lambda name, dtype, shape: helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(dtype), shape)
        model = helper.make_model(
            helper.make_graph(
                graph.nodes, "operator",
                [describe(n, a.dtype, a.shape) for n, a in zip(NAMES, inputs)] +
                [describe(past, a.dtype, a.shape) for past, _, a in graph.caches],
                [describe("out", out_type, out_shape)] +
                [describe(present, a.dtype, a.shape) for _, present, a in graph.caches],
                graph.constants),
            opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
        model.ir_version = 10
        os.sched_setaffinity(0, self.cpus)
        session = onnxruntime.InferenceSession(model.SerializeToString(), self.options,
                                               providers=["CPUExecutionProvider"])
        os.sched_setaffinity(0, self.cpus[:1])
        return [Variant(session, inputs, graph.caches, out_shape, out_type, to_plain, w.num_sets)]
