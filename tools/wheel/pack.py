"""Packs a folder with the package `tilewright` into a wheel: pack.py FOLDER VERSION OUTPUT."""

import base64
import hashlib
import os
import sys
import sysconfig
import zipfile
from pathlib import Path

METADATA = """Metadata-Version: 2.1
Name: tilewright
Version: {version}
Summary: A compiler for tensor programs and ONNX models
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: torch
Requires-Dist: torch; extra == "torch"
Requires-Dist: onnxscript; extra == "torch"
"""

WHEEL = """Wheel-Version: 1.0
Generator: tilewright
Root-Is-Purelib: false
Tag: {tag}
"""

ENTRY_POINTS = """[console_scripts]
tilewright = tilewright:main

[torch_dynamo_backends]
tilewright = tilewright.torch_backend:tilewright
"""

# The earliest time that a zip file can hold: the same content gives the same bytes.
TIME = (1980, 1, 1, 0, 0, 0)


def main(folder, version, output):
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"tilewright-{version}.dist-info"
    files = {}  # name: content, whether it is a program
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and path.name != "LICENSE":
            files[str(path.relative_to(folder))] = (path.read_bytes(), os.access(path, os.X_OK))
    files[f"{info}/LICENSE"] = ((Path(folder) / "LICENSE").read_bytes(), False)
    files[f"{info}/METADATA"] = (METADATA.format(version=version).encode(), False)
    files[f"{info}/WHEEL"] = (WHEEL.format(tag=tag).encode(), False)
    files[f"{info}/entry_points.txt"] = (ENTRY_POINTS.encode(), False)
    record = []
    for name, (content, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}\n")
    record.append(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = ("".join(record).encode(), False)

    wheel = Path(output) / f"tilewright-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (content, program) in files.items():
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            archive.writestr(entry, content)
    print(wheel)


if __name__ == "__main__":
    main(*sys.argv[1:])
