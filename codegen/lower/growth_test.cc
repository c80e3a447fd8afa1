// No pass may multiply a program: twice the text gives at most 2.5 times the nodes after each pass.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/lower/pipeline.h"
#include "ir/count_nodes.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

constexpr double kMostGrowth = 2.5;
constexpr int kSize = 12;

// The nodes of a program after each pass that changed it.
std::map<std::string, int64_t> NodesAfterPasses(const std::string& program, const Target& target) {
  std::map<std::string, int64_t> nodes;
  const LowerOptions options = {.after_pass = [&](std::string_view pass, const Function&, const Function& after) {
    nodes[std::string(pass)] = CountNodes(after);
  }};
  const auto lowered = Lower(Module({ParseFunctionOrDie(program)}), target, options);
  EXPECT_TRUE(lowered.ok()) << lowered.status().message() << "\n" << program;
  return nodes;
}

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

struct Kind {
  std::string name;
  std::function<std::string(int)> program;
};

const std::vector<Kind>& Kinds() {
  static const auto& kinds = *new std::vector<Kind>{
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
  };
  return kinds;
}

class Growth : public ::testing::TestWithParam<std::string> {};

TEST_P(Growth, OfEveryPass) {
  const Target target = *NamedTarget(GetParam());
  for (const auto& [name, program] : Kinds()) {
    const auto once = NodesAfterPasses(program(kSize), target);
    const auto twice = NodesAfterPasses(program(2 * kSize), target);
    for (const auto& [pass, nodes] : twice) {
      const auto before = once.find(pass);
      if (before == once.end()) continue;
      EXPECT_LE(nodes, kMostGrowth * before->second) << name << " after " << pass << ": " << before->second << " nodes";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Growth, ::testing::Values("x86-znver3", "x86-sapphirerapids", "arm-neoverse-n1"));

}  // namespace
}  // namespace tilewright
