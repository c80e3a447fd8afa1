"""OpenVINO: whole models, and attention. It computes in f32, as the others do; by itself it would take bf16 where the CPU
has it, which it is measured in where the workload is in bf16."""

import numpy as np
import openvino
from openvino import opset13 as ops

import file_inputs
from serve import Refused


class Model:
    def __init__(self, compiled, sets):
        self.requests = []
        for pairs in sets:
            request = compiled.create_infer_request()
            for array, name in pairs:
                request.set_tensor(name, openvino.Tensor(array))
            self.requests.append(request)
        self.output_names = [output.get_any_name() for output in self.requests[0].model_outputs]
        self.runs = [request.infer for request in self.requests]

    def arrays(self, i):
        self.runs[i]()
        return [self.requests[i].get_output_tensor(k).data.copy() for k in range(len(self.output_names))]


class Variant:
    """An operator between inputs and an output in the plain layout. Arrays in bf16 are given as bits."""

    name = ""

    def __init__(self, compiled, inputs, num_sets):
        self.requests, self.keep = [], []
        for _ in range(num_sets):
            request = compiled.create_infer_request()
            for i, array in enumerate(inputs):
                # Without a copy, and as the input's type: NumPy does not have bf16.
                own = np.ascontiguousarray(array).copy()
                self.keep.append(own)
                port = compiled.input(i)
                bits = own.view(np.int16) if own.dtype == "bfloat16" else own
                request.set_input_tensor(i, openvino.Tensor(bits, port.shape, port.element_type))
            request.infer()  # Makes its threads.
            self.requests.append(request)
        self.runs = [request.infer for request in self.requests]

    def spoil(self, i):
        data = self.requests[i].get_output_tensor(0).data
        data.view(np.uint8)[...] = 0xFF

    def output(self, i):
        data = self.requests[i].get_output_tensor(0).data
        if data.dtype.itemsize != 2:
            return data.copy()
        import ml_dtypes
        return data.view(np.int16).view(ml_dtypes.bfloat16).copy()


class Peer:
    version = openvino.__version__

    def __init__(self, threads, cpus):
        self.threads = threads

    def compile(self, core, model, precision):
        return core.compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY"})

    def prepare(self, w):
        if w.kind != "attention":
            raise Refused("OpenVINO is measured on whole models and on attention")
        if w.dtype not in ("f32", "bf16h"):
            raise Refused(f"OpenVINO is measured in f32 and bf16h, not in {w.dtype}")
        precision = "f32" if w.dtype == "f32" else "bf16"
        element = openvino.Type.f32 if w.dtype == "f32" else openvino.Type.bf16
        inputs = [w.activation, w.weight, w.value]
        query, key, value = (ops.parameter(list(array.shape), element) for array in inputs)
        operands = [query, self.of_all_heads(key, w), self.of_all_heads(value, w)]
        sees = w.sees()
        causal = w.causal and not w.window and w.queries == w.keys
        if not causal and sees is not None and not sees.all():
            operands.append(ops.constant(sees[None, None]))
        attention = ops.scaled_dot_product_attention(*operands, causal=causal)
        model = openvino.Model([ops.result(attention)], [query, key, value], "attention")
        return [Variant(self.compile(openvino.Core(), model, precision), inputs, w.num_sets)]

    @staticmethod
    def of_all_heads(node, w):
        """Key heads repeated as exporters of models write it."""
        if w.key_heads == w.heads:
            return node
        group = w.heads // w.key_heads
        shape = [w.batch, w.key_heads, group, w.keys, w.dim]
        repeated = ops.broadcast(ops.unsqueeze(node, ops.constant(np.int64(2))), ops.constant(np.array(shape)),
                                 "BIDIRECTIONAL")
        return ops.reshape(repeated, ops.constant(np.array([w.batch, w.heads, w.keys, w.dim])), False)

    def prepare_model(self, path, folders, optimize):
        core = openvino.Core()
        model = core.read_model(path)
        sets = [file_inputs.load(folder, [i.get_any_name() for i in model.inputs]) for folder in folders]
        model.reshape({name: array.shape for array, name in sets[0]})
        return Model(self.compile(core, model, "f32"), sets), "INFERENCE_PRECISION_HINT=f32"
