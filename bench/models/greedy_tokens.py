#!/usr/bin/env python3
"""Continues a sequence with a decoder in ONNX Runtime, by the token of the largest logit: what others are compared with.

  greedy_tokens.py MODEL.onnx [--prompt=7] [--steps=64] [--threads=2] [--time]

The file is one of `generate --models=decoder,decoder_plain`, or of another tool with the same names of inputs. Token i of
the prompt is (37 i + 11) modulo the words of the embedding. The tokens of the prompt and then those that follow are
printed in one line. `--time` prints the median milliseconds of a step to standard error.
"""

import argparse
import statistics
import sys
import time

import numpy as np
import onnxruntime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--prompt", type=int, default=7)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--words", type=int, default=0, help="of the prompt's tokens; 0: those of the logits")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--time", action="store_true")
    args = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    session = onnxruntime.InferenceSession(args.model, options, providers=["CPUExecutionProvider"])
    shapes = {x.name: x.shape for x in session.get_inputs()}
    words = args.words or session.get_outputs()[0].shape[-1]
    caches = [name for name in shapes if name.startswith("past_key_values.")]
    past = {name: np.zeros((1, shapes[name][1], 0, shapes[name][3]), np.float32) for name in caches}
    tokens = [(37 * i + 11) % words for i in range(args.prompt)]
    fresh, seconds = list(tokens), []
    for _ in range(args.steps):
        total = len(tokens)
        feeds = dict(past, input_ids=np.array([fresh], np.int64), attention_mask=np.ones((1, total), np.int64))
        if "position_ids" in shapes:
            feeds["position_ids"] = np.arange(total - len(fresh), total, dtype=np.int64)[None]
        start = time.perf_counter()
        results = session.run(None, feeds)
        seconds.append(time.perf_counter() - start)
        named = dict(zip([x.name for x in session.get_outputs()], results))
        past = {name: named[name.replace("past_key_values.", "present.")] for name in caches}
        fresh = [int(np.argmax(named["logits"][0, -1]))]
        tokens += fresh
    print(" ".join(map(str, tokens)))
    if args.time and args.steps > 1:
        print(f"{1e3 * statistics.median(seconds[1:]):.2f} ms a step", file=sys.stderr)


if __name__ == "__main__":
    main()
