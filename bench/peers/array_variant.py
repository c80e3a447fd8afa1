"""A variant of a package whose calls return a new array."""


class ArrayVariant:
    """`call(*inputs)` gives the output in the package's type; it has ended when it returns. `to_plain` makes of it an
    array in the layout of the workload."""

    def __init__(self, name, call, input_sets, to_plain):
        self.name, self.to_plain = name, to_plain
        self.outputs = [None] * len(input_sets)
        self.runs = [self.run_of(call, i, inputs) for i, inputs in enumerate(input_sets)]

    def run_of(self, call, i, inputs):
        outputs = self.outputs

        def run():
            outputs[i] = call(*inputs)

        return run

    def spoil(self, i):
        self.outputs[i] = None

    def output(self, i):
        return None if self.outputs[i] is None else self.to_plain(self.outputs[i])
