#include "codegen/lower/growing_programs.h"

#include "absl/strings/str_cat.h"

namespace tilewright {
namespace {

std::string Numbered(int n, const std::function<std::string(int)>& line) {
  std::string text;
  for (int k = 0; k < n; ++k) text += line(k);
  return text;
}

// n operands, one after the other along an axis: a chain of choices, used by so many stores.
std::string Concatenation(int n, int stores) {
  std::string choice = "T.float32(0)";
  for (int k = n; k > 0; --k) choice = absl::StrCat("T.if_then_else(v < ", 8 * k, ", A[v + ", k, "], ", choice, ")");
  return absl::StrCat("@T.prim_func\ndef main(A: T.Buffer((2048,), \"float32\"), C: T.Buffer((", stores, ", ", 8 * n,
                      "), \"float32\")):\n    for i in range(", 8 * n, "):\n        with T.block(\"C\"):\n",
                      "            v = T.axis.spatial(", 8 * n, ", i)\n", Numbered(stores, [&](int s) {
                        return absl::StrCat("            C[", s, ", v] = ", choice, "\n");
                      }));
}

// A chain of n blocks, each of the one before.
std::string Chain(int n, const std::string& value) {
  std::string text =
      "@T.prim_func\ndef main(A: T.Buffer((64, 64), \"float32\"), C: T.Buffer((64, 64), \"float32\")):\n";
  text += Numbered(n - 1, [](int k) { return absl::StrCat("    T", k, " = T.alloc_buffer((64, 64))\n"); });
  const auto name = [&](int k) { return k < 0 ? "A" : k == n - 1 ? "C" : absl::StrCat("T", k); };
  text += Numbered(n, [&](int k) {
    return absl::StrCat("    for i, j in T.grid(64, 64):\n        with T.block(\"b", k, "\"):\n",
                        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            ", name(k),
                        "[vi, vj] = ", absl::StrCat(value, name(k - 1), "[vi, vj]) + T.float32(", k, ")\n"));
  });
  return text;
}

// One block whose n statements stand under guards of their own.
std::string Guards(int n, const std::string& guard) {
  return absl::StrCat("@T.prim_func\ndef main(A: T.Buffer((64,), \"float32\"), C: T.Buffer((", n,
                      ", 64), \"float32\")):\n",
                      "    for i in range(64):\n        with T.block(\"C\"):\n            v = T.axis.spatial(64, i)\n",
                      Numbered(n, [&](int k) {
                        return absl::StrCat("            if ", guard, k + 1, ":\n                C[", k,
                                            ", v] = A[v] * T.float32(", k + 2, ")\n");
                      }));
}

// n loops inside of each other, with a condition at each.
std::string NestedConditions(int n) {
  std::string text =
      "@T.prim_func\ndef main(A: T.Buffer((64,), \"float32\"), C: T.Buffer((64,), \"float32\")):\n"
      "    for i in range(64):\n";
  std::string indent = "        ";
  for (int k = 0; k < n; ++k) {
    text += absl::StrCat(indent, "if A[", k, "] < A[i] or i % ", k + 2, " == 1:\n");
    indent += "    ";
  }
  return absl::StrCat(text, indent, "C[i] = A[i]\n");
}

// A sum of n values at places that are computed.
std::string Gathers(int n) {
  return absl::StrCat(
      "@T.prim_func\ndef main(A: T.Buffer((4096,), \"float32\"), P: T.Buffer((", n,
      ", 64), \"int32\"), C: T.Buffer((64,), \"float32\")):\n    for i in range(64):\n        with T.block(\"C\"):\n",
      "            v = T.axis.spatial(64, i)\n            C[v] = T.float32(0)",
      Numbered(n, [](int k) { return absl::StrCat(" + A[T.min(T.max(P[", k, ", v], 0), 4095)]"); }), "\n");
}

// n padded windows that are added up.
std::string Windows(int n) {
  return absl::StrCat(
      "@T.prim_func\ndef main(A: T.Buffer((64, 64), \"float32\"), C: T.Buffer((64, 64), \"float32\")):\n",
      "    for i, j in T.grid(64, 64):\n        with T.block(\"C\"):\n",
      "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            C[vi, vj] = T.float32(0)",
      Numbered(n,
               [](int k) {
                 return absl::StrCat(" + T.if_then_else(", k, " <= vi and vi < ", 64 - k, " and ", k, " <= vj, A[vi - ",
                                     k, ", vj - ", k, "], T.float32(0))");
               }),
      "\n");
}

// n steps of a recurrence, written out.
std::string UnrolledSteps(int n) {
  return absl::StrCat("@T.prim_func\ndef main(A: T.Buffer((", n, ", 64), \"float32\"), C: T.Buffer((", n + 1,
                      ", 64), \"float32\")):\n", Numbered(n, [](int k) {
                        return absl::StrCat("    for i in range(64):\n        with T.block(\"s", k, "\"):\n",
                                            "            v = T.axis.spatial(64, i)\n            C[", k + 1,
                                            ", v] = T.tanh(C[", k, ", v]) * A[", k, ", v] + T.sigmoid(C[", k,
                                            ", v])\n");
                      }));
}

// A chain of n products with one matrix.
std::string Products(int n) {
  std::string text =
      "@T.prim_func\ndef main(A: T.Buffer((16, 16), \"float32\"), W: T.Buffer((16, 16), \"float32\"), C: "
      "T.Buffer((16, 16), \"float32\")):\n";
  text += Numbered(n - 1, [](int k) { return absl::StrCat("    T", k, " = T.alloc_buffer((16, 16))\n"); });
  const auto name = [&](int k) { return k < 0 ? "A" : k == n - 1 ? "C" : absl::StrCat("T", k); };
  text += Numbered(n, [&](int k) {
    return absl::StrCat("    for i, j, k in T.grid(16, 16, 16):\n        with T.block(\"b", k, "\"):\n",
                        "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n",
                        "                ", name(k), "[vi, vj] = T.float32(0)\n            ", name(k),
                        "[vi, vj] = ", name(k), "[vi, vj] + ", name(k - 1), "[vi, vk] * W[vk, vj]\n");
  });
  return text;
}

// n results of one input.
std::string ManyOutputs(int n) {
  return absl::StrCat("@T.prim_func\ndef main(A: T.Buffer((64,), \"float32\")",
                      Numbered(n, [](int k) { return absl::StrCat(", C", k, ": T.Buffer((64,), \"float32\")"); }),
                      "):\n", Numbered(n, [](int k) {
                        return absl::StrCat("    for i in range(64):\n        with T.block(\"b", k,
                                            "\"):\n            v = T.axis.spatial(64, i)\n            C", k,
                                            "[v] = T.exp(A[v]) * T.float32(", k + 1, ")\n");
                      }));
}

// A sum of n matrices, each the sum of one with extents that are not known.
std::string SymbolicJoin(int n) {
  return absl::StrCat(
      "@T.prim_func\ndef main(", Numbered(n, [](int k) { return absl::StrCat("a", k, ": T.handle, "); }),
      "c: T.handle, n: T.int64, m: T.int64):\n",
      Numbered(n, [](int k) { return absl::StrCat("    A", k, " = T.match_buffer(a", k, ", (n, m))\n"); }),
      "    C = T.match_buffer(c, (n, m))\n    for i, j in T.grid(n, m):\n        with T.block(\"C\"):\n",
      "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            C[vi, vj] = T.float32(0)",
      Numbered(n, [](int k) { return absl::StrCat(" + A", k, "[vi, vj]"); }), "\n");
}

}  // namespace

const std::vector<GrowingProgram>& GrowingPrograms() {
  static const auto& kinds = *new std::vector<GrowingProgram>{
      {"concatenation", [](int n) { return Concatenation(n, 1); }},
      {"concatenation, two stores", [](int n) { return Concatenation(n, 2); }},
      {"chain of sums", [](int n) { return Chain(n, "("); }},
      {"chain of functions", [](int n) { return Chain(n, "T.exp("); }},
      {"affine guards", [](int n) { return Guards(n, "v < "); }},
      {"guards by remainders", [](int n) { return Guards(n, "v % 7 < "); }},
      {"guards from memory", [](int n) { return Guards(n, "A[v] < "); }},
      {"nested conditions", NestedConditions},
      {"gathers", Gathers},
      {"windows", Windows},
      {"unrolled steps", UnrolledSteps},
      {"chain of products", Products},
      {"many outputs", ManyOutputs},
      {"symbolic join", SymbolicJoin},
  };
  return kinds;
}

}  // namespace tilewright
