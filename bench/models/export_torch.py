#!/usr/bin/env python3
"""Exports ten models of PyTorch as ONNX files, with seeded random weights and inputs for them.

  export_torch.py [--folder=DIR] [--only=NAME,...] [--exporters=script,dynamo]

Packages torch, torchvision, transformers, onnx and onnxscript. The batch is symbolic, and so is the sequence of language
models. Each model becomes DIR/NAME.EXPORTER.onnx, its inputs at two sizes are in DIR/NAME.0 and DIR/NAME.1; DIR is
~/.cache/tilewright/models by default. The last lines are the commands that measure them.
"""

import argparse
import os
import sys
import warnings

import numpy as np
import torch

OPSET = 18


class Plain(torch.nn.Module):
    """A model of transformers that takes and gives tensors."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, input_ids, attention_mask):
        result = self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False)
        return tuple(result[name] for name in self.names)


def vision(name):
    def make():
        import torchvision

        return torchvision.models.get_model(name, weights=None)

    return make


def bert():
    import transformers

    model = transformers.BertModel(transformers.BertConfig(attn_implementation="eager"))
    return Plain(model, ["last_hidden_state", "pooler_output"])


def gpt2():
    import transformers

    return Plain(transformers.GPT2LMHeadModel(transformers.GPT2Config(attn_implementation="eager")), ["logits"])


def image(batch):
    return {"image": torch.randn(batch, 3, 224, 224)}


def sentence(batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    for row in range(1, batch):
        mask[row, length - row :] = 0
    return {"input_ids": torch.randint(0, 1000, (batch, length)), "attention_mask": mask}


IMAGE = ({"image": {0: "batch"}}, [lambda: image(1), lambda: image(2)])
TEXT = (
    {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "attention_mask")},
    [lambda: sentence(1, 64), lambda: sentence(2, 23)],
)

# Name: what makes it, symbolic dimensions, inputs at two sizes.
MODELS = {
    "resnet50": (vision("resnet50"), *IMAGE),
    "mobilenet_v2": (vision("mobilenet_v2"), *IMAGE),
    "vit_b_16": (vision("vit_b_16"), *IMAGE),
    "efficientnet_b0": (vision("efficientnet_b0"), *IMAGE),
    "densenet121": (vision("densenet121"), *IMAGE),
    "convnext_tiny": (vision("convnext_tiny"), *IMAGE),
    "swin_t": (vision("swin_t"), *IMAGE),
    "shufflenet_v2": (vision("shufflenet_v2_x1_0"), *IMAGE),
    "bert": (bert, *TEXT),
    "gpt2": (gpt2, *TEXT),
}


def randomize(model):
    """Gives parameters that start as zeros and ones, and running statistics, values that tell them apart."""
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.5, 1.5)
        for parameter in model.parameters():
            if parameter.min() == parameter.max():
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def export(model, exporter, axes, sizes, path):
    first = sizes[1]  # no extent of one, which the exporter would take for a constant
    common = {"input_names": list(first), "opset_version": OPSET}
    if exporter == "script":
        torch.onnx.export(model, tuple(first.values()), path, dynamo=False, dynamic_axes=axes, **common)
    else:
        shapes = tuple({axis: torch.export.Dim(name) for axis, name in axes[key].items()} for key in first)
        torch.onnx.export(model, tuple(first.values()), path, dynamo=True, dynamic_shapes=shapes, verbose=False,
                          external_data=False, **common)


def write_inputs(folder, inputs):
    os.makedirs(folder, exist_ok=True)
    for name, tensor in inputs.items():
        np.save(os.path.join(folder, name + ".npy"), tensor.numpy())


def main():
    caches = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(caches, "tilewright", "models"))
    parser.add_argument("--only", default=",".join(MODELS), help="names of models, separated by commas")
    parser.add_argument("--exporters", default="script,dynamo", help="script, dynamo or both")
    arguments = parser.parse_args()
    wanted, exporters = arguments.only.split(","), arguments.exporters.split(",")
    unknown = [name for name in wanted if name not in MODELS]
    unknown += [name for name in exporters if name not in ("script", "dynamo")]
    if unknown:
        sys.exit(f"error: there is no model or exporter {', '.join(unknown)}")
    warnings.simplefilter("ignore")
    os.makedirs(arguments.folder, exist_ok=True)
    commands, failed = [], []
    for name in wanted:
        make, axes, makers = MODELS[name]
        torch.manual_seed(7)
        model = randomize(make())
        sizes = [maker() for maker in makers]
        for number, inputs in enumerate(sizes):
            write_inputs(os.path.join(arguments.folder, f"{name}.{number}"), inputs)
        for exporter in exporters:
            path = os.path.join(arguments.folder, f"{name}.{exporter}.onnx")
            try:
                export(model, exporter, axes, sizes, path)
            except Exception as error:  # The exporter's own kinds are many.
                failed.append(f"{path}: {str(error).strip()[:300]}")
                continue
            print(f"{path}: {os.path.getsize(path)} bytes", flush=True)
            for number in range(len(sizes)):
                inputs = os.path.join(arguments.folder, f"{name}.{number}")
                commands.append(f"bazel run -c opt //bench:models -- --onnx={path} --inputs={inputs}")
    print("\n".join(commands))
    if failed:
        sys.exit("error: not exported:\n  " + "\n  ".join(failed))


if __name__ == "__main__":
    main()
