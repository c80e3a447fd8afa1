"""OpenVINO: whole models only. It computes in f32, as the others do; by itself it would take bf16 where the CPU has it."""

import openvino

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


class Peer:
    version = openvino.__version__

    def __init__(self, threads, cpus):
        self.threads = threads

    def prepare(self, w):
        raise Refused("OpenVINO is measured on whole models")

    def prepare_model(self, path, folders, optimize):
        core = openvino.Core()
        model = core.read_model(path)
        sets = [file_inputs.load(folder, [i.get_any_name() for i in model.inputs]) for folder in folders]
        model.reshape({name: array.shape for array, name in sets[0]})
        compiled = core.compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY"})
        return Model(compiled, sets), "INFERENCE_PRECISION_HINT=f32"
