"""PyTorch on a GPU, whole models alone: an ONNX file as a module (onnx2torch), eager, as one CUDA graph.

Inputs and outputs lie in the GPU's memory; a run ends when the GPU is done.
"""

import torch
from onnx2torch import convert

import file_inputs
from serve import Refused


class Model:
    def __init__(self, module, names, folders, prepare):
        self.inputs = [[torch.from_numpy(array).cuda() for array, _ in file_inputs.load(folder, names)]
                       for folder in folders]
        self.outputs = [None] * len(folders)
        self.steps = [prepare(module, inputs, self.keep_of(i)) for i, inputs in enumerate(self.inputs)]
        self.runs = [self.run_of(step) for step in self.steps]
        self.runs[0]()
        self.output_names = [str(i) for i in range(len(self.outputs[0]))]

    def keep_of(self, i):
        def keep(out):
            self.outputs[i] = out if isinstance(out, (list, tuple)) else [out]
        return keep

    @staticmethod
    def run_of(step):
        def run():
            step()
            torch.cuda.synchronize()
        return run

    def arrays(self, i):
        self.runs[i]()
        return [out.float().cpu().numpy() if out.dtype == torch.bfloat16 else out.cpu().numpy()
                for out in self.outputs[i]]


def as_graph(module, inputs, keep):
    """Eager code, captured: what is replayed is its kernels alone."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            module(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        keep(module(*inputs))
    return graph.replay


class Peer:
    version = torch.__version__
    prepare_step = staticmethod(as_graph)

    def __init__(self, threads, cpus):
        if not torch.cuda.is_available():
            raise Refused("not available: PyTorch finds no GPU")
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def prepare(self, w):
        raise Refused("PyTorch on a GPU is measured on whole models only")

    def prepare_model(self, path, folders, optimize):
        import onnx
        names = [value.name for value in onnx.load(path, load_external_data=False).graph.input]
        module = convert(path).eval().cuda()
        return Model(module, names, folders, self.prepare_step), ""
