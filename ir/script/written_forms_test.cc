// Forms that people and TVM write, beside what Tilewright prints of them.
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr std::string_view kHead =
    "@T.prim_func\ndef main(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"int32\"), C: T.Buffer((16,), "
    "\"int8\"), "
    "D: T.Buffer((16,), \"bool\"), H: T.Buffer((16,), \"float16\"), U: T.Buffer((16,), \"uint8\")):\n";

Module Body(const std::string& body) { return ParseOrDie(std::string(kHead) + body); }

// Both texts are one program, and what is printed of it reads back to it.
void ExpectSame(const Module& written, const Module& plain) {
  EXPECT_TRUE(StructuralEqual(written, plain)) << Print(written) << Print(plain);
  const std::string printed = Print(written);
  EXPECT_EQ(Print(ParseOrDie(printed)), printed);
}

TEST(WrittenForms, OperandsOfDifferentTypesAreWidened) {
  // As TVM 0.27 prints each of them.
  constexpr std::pair<const char*, const char*> kStores[] = {
      {"A[0] = B[0]", "A[0] = T.Cast(\"float32\", B[0])"},
      {"A[0] = A[0] + B[0] * A[0]", "A[0] = A[0] + T.Cast(\"float32\", B[0]) * A[0]"},
      {"A[0] += B[0]", "A[0] = A[0] + T.Cast(\"float32\", B[0])"},
      {"B[0] += A[0]", "B[0] = T.Cast(\"int32\", T.Cast(\"float32\", B[0]) + A[0])"},
      {"A[0] = H[0] + A[0]", "A[0] = T.Cast(\"float32\", H[0]) + A[0]"},
      {"H[0] = A[0]", "H[0] = T.Cast(\"float16\", A[0])"},
      {"B[0] = C[0] + B[0]", "B[0] = T.Cast(\"int32\", C[0]) + B[0]"},
      {"B[0] = C[0] + U[0]", "B[0] = T.Cast(\"int32\", T.Cast(\"uint8\", C[0]) + U[0])"},
      {"A[0] = A[0] + D[0]", "A[0] = A[0] + T.Cast(\"float32\", D[0])"},
      {"A[0] = B[0] / 2.0", "A[0] = T.Cast(\"float32\", B[0]) / T.float32(2)"},
      {"A[0] = T.max(B[0], A[0])", "A[0] = T.max(T.Cast(\"float32\", B[0]), A[0])"},
      {"A[0] = T.if_then_else(B[0] > 2, 1, A[0])", "A[0] = T.if_then_else(B[0] > 2, T.float32(1), A[0])"},
      {"D[0] = C[0] < 300", "D[0] = T.Cast(\"int32\", C[0]) < 300"},
      {"D[0] = B[0]", "D[0] = T.Cast(\"bool\", B[0])"},
      {"D[0] = 1", "D[0] = T.bool(True)"},
      {"B[0] = T.float32(0)", "B[0] = 0"},
      {"B[0] = 1.5", "B[0] = 1"},
      {"x: T.float32 = B[0]\n    A[0] = x", "x: T.float32 = T.Cast(\"float32\", B[0])\n    A[0] = x"},
  };
  for (const auto& [written, plain] : kStores) {
    SCOPED_TRACE(written);
    ExpectSame(Body(std::string("    ") + written + "\n"), Body(std::string("    ") + plain + "\n"));
  }
}

TEST(WrittenForms, LoopsWithAStep) {
  ExpectSame(Body("    for i in range(1, 16, 3):\n        A[i] = B[i]\n"),
             Body("    for i in range(5):\n        A[1 + i * 3] = B[1 + i * 3]\n"));
  ExpectSame(Body("    for i in T.serial(2, 16, step=3):\n        A[i] = 0\n"),
             Body("    for i in range(5):\n        A[2 + i * 3] = 0\n"));
  ExpectSame(Body("    for i in range(15, -1, -1):\n        A[i] = 0\n"),
             Body("    for i in range(16):\n        A[15 + i * -1] = 0\n"));
  ExpectSame(Body("    for i in range(5, 5, 2):\n        A[i] = 0\n"),
             Body("    for i in range(0):\n        A[5 + i * 2] = 0\n"));
  // The iterator of such a loop has the loop's values.
  ExpectSame(
      Body("    for i in range(0, 16, 2):\n        with T.block(\"A\"):\n            v = T.axis.remap(\"S\", [i])\n"
           "            A[v] = 0\n"),
      Body("    for i in range(8):\n        with T.block(\"A\"):\n            v = T.axis.spatial(16, i * 2)\n"
           "            A[v] = 0\n"));
  ExpectSame(Body("    for i in range(T.int16(16)):\n        A[i] = 0\n"),
             Body("    for i in range(16):\n        A[i] = 0\n"));
}

TEST(WrittenForms, ConditionalExpressions) {
  ExpectSame(Body("    A[0] = 1.0 if B[0] > 2 else A[1]\n"),
             Body("    A[0] = T.if_then_else(B[0] > 2, T.float32(1), A[1])\n"));
  ExpectSame(Body("    A[0] = A[1] if 3 > 2 else A[2]\n"), Body("    A[0] = A[1]\n"));
}

TEST(WrittenForms, LibraryNames) {
  ExpectSame(Body("    A[0] = tvm.tir.max(A[0], tvm.tirx.exp(A[1]))\n"), Body("    A[0] = T.max(A[0], T.exp(A[1]))\n"));
}

TEST(WrittenForms, ExtentsInTexts) {
  constexpr std::string_view kBody = "    for i in range(n):\n        B[i] = A[i + 1] + C[i * 2]\n";
  ExpectSame(
      ParseOrDie(
          "@T.prim_func\ndef main(A: T.Buffer((\"n + 1\",), \"float32\"), B: T.Buffer((\"n\",), \"float32\"), C: "
          "T.Buffer((\"2 * n\",), \"float32\")):\n    n = T.int64()\n" +
          std::string(kBody)),
      ParseOrDie("@T.prim_func\ndef main(a: T.handle, b: T.handle, c: T.handle):\n    n = T.int64()\n    A = "
                 "T.match_buffer(a, (n + T.int64(1),))\n    B = T.match_buffer(b, (n,))\n    C = T.match_buffer(c, "
                 "(T.int64(2) * n,))\n" +
                 std::string(kBody)));
  // The declaration stands in the body, behind the first use outside of a text; a later parameter gives the number.
  const Module declared_later = ParseOrDie(
      "@T.prim_func\ndef main(A: T.Buffer((\"b + 1\",), \"int32\"), B: T.Buffer((b + 1,), \"int32\"), C: "
      "T.Buffer((b,), "
      "\"int32\")):\n    b = T.int32()\n    for i in range(b):\n        C[i] = B[i + 1] - A[i]\n");
  ExpectSame(declared_later, declared_later);
  const Module given = ParseOrDie(
      "@T.prim_func\ndef main(A: T.Buffer((\"n * 4\",), \"float32\"), n: T.int32):\n    for i in range(n * 4):\n       "
      " A[i] = 0\n");
  ExpectSame(given, given);
}

TEST(WrittenForms, EnvThreadTwice) {
  ExpectSame(
      Body("    t = T.env_thread(\"threadIdx.x\")\n    t = T.env_thread(\"threadIdx.x\")\n    T.launch_thread(t, 16)\n"
           "    A[t] = 0\n"),
      Body("    t = T.env_thread(\"threadIdx.x\")\n    T.launch_thread(t, 16)\n    A[t] = 0\n"));
}

TEST(WrittenForms, WhatTheReaderOfThePeerPassesOver) {
  ExpectSame(
      Body("    T.func_attr({\"tir.noalias\": True})\n    \"\"\"A text.\"\"\"\n    T.int64()\n    for i in range(16):\n"
           "        with T.block(\"A\"):\n            with T.init():\n                A[0] = 0.0\n"
           "            v = T.axis.remap(kinds=\"R\", bindings=[i], dtype=\"int32\")\n            A[0] += A[v]\n"),
      Body("    T.func_attr({\"tir.noalias\": True})\n    for i in range(16):\n        with T.block(\"A\"):\n"
           "            v = T.axis.reduce(16, i)\n            with T.init():\n                A[0] = 0.0\n"
           "            A[0] += A[v]\n"));
}

// A block that uses the loop around it directly gets an iterator for it.
TEST(WrittenForms, BlocksUseTheLoopsAroundThem) {
  ExpectSame(Body("    for i in range(16):\n        with T.block(\"A\"):\n            T.reads(B[i])\n            "
                  "T.writes(A[i])\n"
                  "            A[i] = B[i]\n"),
             Body("    for i in range(16):\n        with T.block(\"A\"):\n            vi = T.axis.opaque(16, i)\n"
                  "            T.reads(B[vi])\n            T.writes(A[vi])\n            A[vi] = B[vi]\n"));
  ExpectSame(Body("    for i in T.thread_binding(4, thread=\"threadIdx.x\"):\n        with T.block(\"outer\"):\n"
                  "            for j in range(4):\n                with T.block(\"inner\"):\n"
                  "                    v = T.axis.spatial(4, j)\n                    A[i * 4 + v] = 0\n"),
             Body("    for i in T.thread_binding(4, thread=\"threadIdx.x\"):\n        with T.block(\"outer\"):\n"
                  "            vi = T.axis.opaque(4, i)\n            for j in range(4):\n"
                  "                with T.block(\"inner\"):\n                    v = T.axis.spatial(4, j)\n"
                  "                    vo = T.axis.opaque(4, vi)\n                    A[vo * 4 + v] = 0\n"));
}

// A block without iterators that declares nothing touches what its body touches.
TEST(WrittenForms, ExternalBlocksDeclareNothing) {
  ExpectSame(
      Body("    for i in range(16):\n        with T.block(\"A\"):\n            v = T.axis.spatial(16, i)\n"
           "            A[v] = 0\n    with T.block(\"sorted\"):\n        T.reads()\n        T.writes()\n"
           "        for k in range(16):\n            H[k] = A[k]\n"),
      Body("    for i in range(16):\n        with T.block(\"A\"):\n            v = T.axis.spatial(16, i)\n"
           "            A[v] = 0\n    with T.block(\"sorted\"):\n        T.reads(A[0:16])\n        T.writes(H[0:16])\n"
           "        for k in range(16):\n            H[k] = A[k]\n"));
}

// A block touches what its body touches of buffers that it does not declare.
TEST(WrittenForms, BlocksLeaveOutBuffers) {
  const std::string head =
      "    for i in range(16):\n        with T.block(\"A\"):\n            v = T.axis.spatial(16, i)\n";
  const std::string body = "            H[v] = 0\n            A[v] = A[v] + B[v] * H[v]\n";
  ExpectSame(Body(head + "            T.reads(B[v])\n            T.writes(A[v])\n" + body),
             Body(head + "            T.reads(B[v], A[v], H[v])\n            T.writes(A[v], H[v])\n" + body));
  ExpectSame(Body(head + "            T.reads()\n            T.writes()\n" + body), Body(head + body));
  // What a call does at an address is what the block declares.
  ExpectSame(Body(head + "            T.reads(B[v])\n            T.writes()\n            " +
                  "T.evaluate(T.call_extern(\"int32\", \"f\", T.address_of(A[v]), B[v], H[v]))\n"),
             Body(head + "            T.reads(B[v], H[v])\n            T.writes()\n            " +
                  "T.evaluate(T.call_extern(\"int32\", \"f\", T.address_of(A[v]), B[v], H[v]))\n"));
}

TEST(WrittenForms, WholePythonFiles) {
  constexpr std::string_view kFunction = R"(
    @T.prim_func
    def main(A: T.Buffer((N, M), "float32")):
        for i, j in T.grid(N, M):
            A[i, j] = 0
)";
  const Module read = ParseOrDie(std::string(R"("""A kernel and how it is used."""
from __future__ import annotations
import numpy as np
from helpers import *
from . import other
from tvm.script import (tir as T, ir as I,)

N = M = 16
K, L = 4, N * 2
np.random.seed(0)
price = 5 $ 3


def reference(a, b, *rest, **more):
    try:
        return a @ b if a is not None and b not in rest else f"{a}" "b"
    finally:
        pass


class Helper(object):
    x: int = 3
    def run(self):
        global y
        yield [z for z in range(3) if z in (1, 2)], sum(z for z in range(3))


@I.ir_module
class Module:
    I.module_attrs({"runtime": None})
)") + std::string(kFunction) + R"(
    @R.function
    def host(x: R.Tensor((16,), "float32")):
        with R.dataflow():
            gv: R.Tensor((16,), "float32") = R.add(x, x)
        return gv

if __name__ == "__main__":
    rt = tvm.build(Module, target="llvm")
)");
  EXPECT_EQ(Print(read), R"(# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    I.module_attrs({"runtime": None})
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            A[i, j] = T.float32(0)
)");
  EXPECT_EQ(Print(ParseOrDie(Print(read))), Print(read));
}

TEST(WrittenForms, OtherLettersAndEscapes) {
  const Module module = ParseOrDie(
      "\xef\xbb\xbf@T.prim_func\ndef gr\xc3\xb6\xc3\x9f"
      "e(\xce\xb1: T.Buffer((4,), \"float32\")):\n"
      "    T.func_attr({\"k\": \"\\u00e4\\x41\\101\\U0001F600\\a\"})\n    \xce\xb1[0] = 1\n");
  const std::string printed = Print(module);
  EXPECT_NE(printed.find("def gr\xc3\xb6\xc3\x9f"
                         "e(\xce\xb1: T.Buffer((4,), \"float32\"))"),
            std::string::npos)
      << printed;
  EXPECT_NE(printed.find("\"\xc3\xa4"
                         "AA\xf0\x9f\x98\x80\\x07\""),
            std::string::npos)
      << printed;
  EXPECT_EQ(Print(ParseOrDie(printed)), printed);
}

}  // namespace
}  // namespace tilewright
