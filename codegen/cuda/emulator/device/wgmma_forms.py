#!/usr/bin/env python3
"""Writes the forms of wgmma that device_sm90.cuh is asked for.

  wgmma_forms.py N,D,A,B,transpose_a,transpose_b ... > forms.cuh     (types by their names in tw: float, f16, int8_t, ...)
"""

import sys

# Type in tw to its name in PTX.
PTX = {"float": "f32", "f16": "f16", "bf16": "bf16", "tf32": "tf32", "e4m3": "e4m3", "e5m2": "e5m2", "int8_t": "s8",
       "uint8_t": "u8", "int32_t": "s32"}
DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "int8_t": 32, "uint8_t": 32}


def Function(name, arguments, operands, inputs, registers, constraint, instruction, immediates):
    """One form: `operands` are the PTX operands between the sums and the predicate."""
    sums = ", ".join(f"%{i}" for i in range(registers))
    scale = registers + len(inputs)
    names = operands.format(*[f"%{registers + i}" for i in range(len(inputs))])
    outputs = ", ".join(f'"{constraint}"(d.r[{i}])' for i in range(registers))
    return f"""  TW_DEVICE static void {name}({arguments}, int scale_d) {{
    asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{scale}, 0;\\n"
                 "{instruction} {{{sums}}}, {names}, p{immediates};\\n}}\\n"
                 : {outputs}
                 : {", ".join(inputs)}, "r"(scale_d));
  }}
"""


def Form(n, d, a, b, transpose_a, transpose_b):
    registers = n // 4 if d == "f16" else n // 2
    constraint = "+f" if d == "float" else "+r"
    instruction = f"wgmma.mma_async.sync.aligned.m64n{n}k{DEPTH[a]}.{PTX[d]}.{PTX[a]}.{PTX[b]}"
    scales = "" if d == "int32_t" else ", 1, 1"
    halves = a in ("f16", "bf16")
    both = scales + (f", {transpose_a}, {transpose_b}" if halves else "")
    of_b = scales + (f", {transpose_b}" if halves else "")
    from_shared = Function("Run", f"Sums<{n}, {d}>& d, uint64_t a, uint64_t b", "{0}, {1}", ['"l"(a)', '"l"(b)'],
                           registers, constraint, instruction, both)
    from_registers = Function("RunRs", f"Sums<{n}, {d}>& d, const uint32_t* a, uint64_t b",
                              "{{{0}, {1}, {2}, {3}}}, {4}", [f'"r"(a[{i}])' for i in range(4)] + ['"l"(b)'],
                              registers, constraint, instruction, of_b)
    return (f"template <>\nstruct WgmmaForm<{n}, {d}, {a}, {b}, {transpose_a}, {transpose_b}> {{\n" + from_shared +
            ("" if transpose_a else from_registers) + "};\n")


def main():
    print("#pragma once\nnamespace tw {")
    for text in sys.argv[1:]:
        n, d, a, b, transpose_a, transpose_b = text.split(",")
        print(Form(int(n), d, a, b, int(transpose_a), int(transpose_b)), end="")
    print("}  // namespace tw")


if __name__ == "__main__":
    main()
