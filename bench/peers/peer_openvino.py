"""OpenVINO: whole models only. It computes in f32, as the others do; by itself it would take bf16 where the CPU has it."""

import openvino

import file_inputs
from serve import Refused


class Model:
    def __init__(self, request, pairs):
        self.request = request
        self.output_names = [output.get_any_name() for output in request.model_outputs]
        for array, name in pairs:
            request.set_tensor(name, openvino.Tensor(array))
        self.runs = [request.infer]

    def arrays(self):
        self.runs[0]()
        return [self.request.get_output_tensor(i).data.copy() for i in range(len(self.output_names))]


class Peer:
    version = openvino.__version__

    def __init__(self, threads, cpus):
        self.threads = threads

    def prepare(self, w):
        raise Refused("OpenVINO is measured on whole models")

    def prepare_model(self, path, folder, optimize):
        core = openvino.Core()
        model = core.read_model(path)
        pairs = file_inputs.load(folder, [i.get_any_name() for i in model.inputs])
        model.reshape({name: array.shape for array, name in pairs})
        compiled = core.compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY"})
        return Model(compiled.create_infer_request(), pairs), "INFERENCE_PRECISION_HINT=f32"
