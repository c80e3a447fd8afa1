"""What the benchmark asks for: an operator at a shape in a data type, with its inputs.

The request has the fields of bench/operators/problem.h and the name of a folder with activation.npy, weight.npy and
parameters.npy, the arrays that the benchmark gives everybody. Layouts are channels last, weights [kernel..., CI/groups,
CO].
"""

import os

import numpy as np


class Workload:
    def __init__(self, request):
        self.__dict__.update(request["problem"])
        self.op, self.shape, self.dtype = request["op"], request["shape"], request["dtype"]
        self.num_sets = request["sets"]
        self.output_shape, self.output_dtype = tuple(request["output_shape"]), request["output_dtype"]
        self.scale = request.get("scale")  # Of requantization.
        self.program = request.get("program")  # As a script.
        folder = request["folder"]
        self.activation, self.weight, self.parameters = (
            np.load(os.path.join(folder, name + ".npy")) for name in ("activation", "weight", "parameters"))
        if self.dtype in ("bf16", "bf16h"):
            import ml_dtypes
            self.activation, self.weight = (a.view(ml_dtypes.bfloat16) for a in (self.activation, self.weight))

    @property
    def name(self):
        return f"{self.op}:{self.shape}:{self.dtype}"

    @property
    def narrow_float(self):
        return self.dtype in ("bf16", "bf16h", "f16", "f16f32", "f16h", "e4m3")

    @property
    def requantized(self):
        return self.dtype in ("int8q", "s8s8q")

    # Of attention, whose arrays are [batch, heads, queries or keys, dim].

    @property
    def value(self):
        return self.parameters.astype(self.weight.dtype)

    def sees(self):
        """[queries, keys]: which keys a query sees; None where all see all."""
        if not self.causal and not self.window:
            return None
        distance = np.arange(self.queries)[:, None] + (self.keys - self.queries) - np.arange(self.keys)
        sees = distance >= 0 if self.causal else np.ones_like(distance, bool)
        return sees & (abs(distance) < self.window) if self.window else sees

    # Of a convolution.

    @property
    def rank(self):
        return len(self.kernel)

    def channels_first(self, array):
        """[N, spatial..., C] as [N, C, spatial...]."""
        return np.ascontiguousarray(np.moveaxis(array, -1, 1))

    def channels_last(self, array):
        return np.moveaxis(array, 1, -1)

    def weight_outputs_first(self):
        """[kernel..., CI/groups, CO] as [CO, CI/groups, kernel...]."""
        return np.ascontiguousarray(np.moveaxis(self.weight, (-1, -2), (0, 1)))

    def weight_inputs_first(self):
        """[kernel..., CI, CO] as [CI, CO, kernel...], which transposed convolutions take."""
        return np.ascontiguousarray(np.moveaxis(self.weight, (-2, -1), (0, 1)))
