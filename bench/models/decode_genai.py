#!/usr/bin/env python3
"""Times a decoder in ONNX Runtime GenAI, whose caches stay in place: a prompt, then steps of one token each.

  decode_genai.py MODEL.onnx [--past=128] [--steps=32] [--rounds=3] [--threads=2]

The file is one of `generate --models=decoder`, or of another tool with the same names of inputs and outputs. Token i of
the prompt of `--past` tokens is (37 i + 11) modulo the words. Prints the median milliseconds of `--rounds` prompts and
of the steps after the last one. The package comes by `bench/peers/setup.sh genai`.
"""

import argparse
import json
import os
import statistics
import tempfile
import time

import numpy as np
import onnx
import onnxruntime_genai as genai


def dims(value):
    return [d.dim_value or d.dim_param for d in value.type.tensor_type.shape.dim]


def config(path, threads):
    """What GenAI has to know of a file, read from the file."""
    graph = onnx.load(path, load_external_data=False).graph
    inputs, outputs = ({v.name: dims(v) for v in values} for values in (graph.input, graph.output))
    caches = [shape for name, shape in inputs.items() if name.startswith("past_key_values.")]
    attention = next(n for n in graph.node if n.op_type == "GroupQueryAttention")
    heads = next(a.i for a in attention.attribute if a.name == "num_heads")
    names = {name: name for name in ("input_ids", "attention_mask", "position_ids") if name in inputs}
    return {
        "model": {
            "type": "llama",
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
            "context_length": 8192,
            "vocab_size": outputs["logits"][-1],
            "decoder": {
                "filename": os.path.basename(path),
                "head_size": caches[0][3],
                "hidden_size": heads * caches[0][3],
                "num_attention_heads": heads,
                "num_hidden_layers": len(caches) // 2,
                "num_key_value_heads": caches[0][1],
                "inputs": names | {
                    "past_key_names": "past_key_values.%d.key",
                    "past_value_names": "past_key_values.%d.value",
                },
                "outputs": {
                    "logits": "logits",
                    "present_key_names": "present.%d.key",
                    "present_value_names": "present.%d.value",
                },
                "session_options": {"intra_op_num_threads": threads, "provider_options": []},
            },
        },
        "search": {"max_length": 8192, "do_sample": False, "past_present_share_buffer": True},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--past", type=int, default=128)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    path = os.path.abspath(args.model)
    facts = config(path, args.threads)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(path, os.path.join(folder, os.path.basename(path)))
        with open(os.path.join(folder, "genai_config.json"), "w") as out:
            json.dump(facts, out)
        start = time.perf_counter()
        model = genai.Model(folder)
        load = time.perf_counter() - start
        words, length = facts["model"]["vocab_size"], args.past + args.steps + 1
        tokens = np.array([(37 * i + 11) % words for i in range(args.past)], np.int32)
        prompts, steps = [], []
        for _ in range(args.rounds):
            params = genai.GeneratorParams(model)
            # Tokens that end a sequence do not end it.
            params.set_search_options(max_length=length, min_length=length)
            generator = genai.Generator(model, params)
            start = time.perf_counter()
            generator.append_tokens(tokens)
            prompts.append(time.perf_counter() - start)
        for _ in range(args.steps):
            start = time.perf_counter()
            generator.generate_next_token()
            steps.append(time.perf_counter() - start)
    # The first step takes a token of the prompt's logits, and computes nothing else.
    step = statistics.median(steps[1:]) if len(steps) > 1 else float("nan")
    print(f"load {1e3 * load:.0f} ms, prompt of {args.past} {1e3 * statistics.median(prompts):.1f} ms, "
          f"step {1e3 * step:.2f} ms, {genai.__name__} {genai.__version__}")


if __name__ == "__main__":
    main()
