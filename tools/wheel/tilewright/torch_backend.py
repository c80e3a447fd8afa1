"""A backend of torch.compile: graphs go through ONNX into one library each, and back to torch where they cannot.

    model = torch.compile(model.eval(), backend="tilewright")
    with torch.no_grad():
        model(x)
    tilewright.torch_backend.handed_back        # the reasons for which graphs were handed back

Parameters and buffers of the model are constants of the library. When one of them changes, its graph is handed back from
then on, as are graphs whose results need gradients, that work elsewhere than on the CPU, or whose extents vary
(torch.compile(..., dynamic=False) makes one graph for each). Needs the package onnxscript.
"""

import io
import logging

import torch

from . import Refused, compile

_log = logging.getLogger(__name__)

handed_back = []  # one text for each graph that torch runs
compiled = []  # the Model of each other graph


class _HandedBack(Exception):
    pass


class _WithConstants(torch.nn.Module):
    """The graph as a module of its inputs alone: what is the same in every call is taken from here."""

    def __init__(self, graph, arguments, constants):
        super().__init__()
        self.graph = graph
        self.count = len(arguments)
        self.places = [i for i in range(self.count) if i not in constants]
        for i in constants:
            self.register_buffer(f"constant_{i}", arguments[i].detach(), persistent=True)

    def forward(self, *inputs):
        arguments = [None] * self.count
        for i, value in zip(self.places, inputs):
            arguments[i] = value
        for name, value in self.named_buffers(recurse=False):
            arguments[int(name.removeprefix("constant_"))] = value
        return tuple(self.graph(*arguments))


def _check(arguments):
    for argument in arguments:
        if isinstance(argument, (torch.SymInt, int)):
            raise _HandedBack("an extent varies; dynamic=False makes a graph for each")
        if not isinstance(argument, torch.Tensor):
            raise _HandedBack(f"an input is {type(argument).__name__}, not a tensor")
        if argument.device.type != "cpu":
            raise _HandedBack(f"an input is on {argument.device}")
    if torch.is_grad_enabled() and any(argument.requires_grad for argument in arguments):
        raise _HandedBack("results need gradients; torch.no_grad() and inference_mode() need none")


def _to_onnx(module, inputs):
    file = io.BytesIO()
    program = torch.onnx.export(module, tuple(inputs), dynamo=True, verbose=False)
    program.save(file)
    return file.getvalue()


def _constants(graph, arguments):
    """Positions of the arguments that are parameters or buffers of the model."""
    marked = set()
    names = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for i, (node, argument) in enumerate(zip(names, arguments)):
        attributes = getattr(argument, "_dynamo_static_input_type", None) is not None
        if isinstance(argument, torch.nn.Parameter) or attributes or node.name.startswith(("l_self_", "p_", "b_")):
            marked.add(i)
    return marked


def _versions(tensors):
    # Tensors of inference mode have no versions.
    return [(t.data_ptr(), 0 if t.is_inference() else t._version) for t in tensors]


def _compile_graph(graph, arguments, options):
    _check(arguments)
    constants = _constants(graph, arguments)
    module = _WithConstants(graph, arguments, constants).eval()
    inputs = [arguments[i] for i in module.places]
    if not inputs:
        raise _HandedBack("the graph has no inputs")
    expected = [node for node in graph.graph.nodes if node.op == "output"][0].args[0]
    results = [i for i, node in enumerate(expected) if isinstance(node, torch.fx.Node)]
    if len(results) != len(expected):
        raise _HandedBack("a result is not a tensor")
    with torch.no_grad():
        model = compile(_to_onnx(module, [i.detach() for i in inputs]), **options)
    if len(model.inputs) != len(inputs) or len(model.outputs) != len(expected):
        raise _HandedBack("the exported model has other inputs or outputs than the graph")
    kept = [arguments[i] for i in sorted(constants)]
    known = _versions(kept)
    compiled.append(model)

    def call(*values):
        given = [values[i] for i in module.places]
        held = [values[i] for i in sorted(constants)]
        if torch.is_grad_enabled() and any(v.requires_grad for v in values):
            return graph(*values)
        if _versions(held) != known:
            return graph(*values)
        outputs = model(*(v.detach().contiguous() for v in given))
        return outputs if isinstance(outputs, tuple) else (outputs,)

    return call


def tilewright(graph, arguments, *, options=None, **_):
    """The backend: `options` are those of tilewright.compile, and fallback="eager" or "inductor"."""
    options = dict(options or {})
    fallback = options.pop("fallback", "eager")
    try:
        return _compile_graph(graph, arguments, options)
    except Exception as error:  # Whatever an exporter or the compiler finds, torch can still run the graph.
        reason = str(error) if isinstance(error, (_HandedBack, Refused)) else f"{type(error).__name__}: {error}"
        handed_back.append(reason)
        _log.info("handed back to torch: %s", reason)
    if fallback == "inductor":
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(graph, arguments)
    return graph.forward
