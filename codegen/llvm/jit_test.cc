#include "codegen/llvm/jit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "codegen/llvm/object.h"
#include "codegen/runtime/perf_map.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "codegen/testing/equivalence.h"
#include "codegen/testing/programs.h"
#include "ir/annotations.h"
#include "ir/builder.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using runtime::kFloat32;
using runtime::Tensor;

constexpr DataType kF32 = DataType::Float(32);

std::unique_ptr<CompiledModule> Compile(const Function& function, const CompileOptions& options = {}) {
  auto compiled = CompileToJit(Module(function), HostTarget(), options);
  if (!compiled.ok()) ADD_FAILURE() << compiled.status().message();
  return compiled.ok() ? *std::move(compiled) : nullptr;
}

Tensor Random(std::initializer_list<int64_t> shape, uint32_t seed) {
  Tensor tensor = *Tensor::Allocate(kFloat32, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.data<float>()[i] = static_cast<float>(seed >> 8) / (1 << 23) - 1.0f;
  }
  return tensor;
}

TEST(Jit, Elementwise) {
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {37}, kF32);
  Buffer b = f.Compute("B", {37}, [&](Var i) { return a(i) * ConstFloat(kF32, 2) + ConstFloat(kF32, 1); });
  const Function function = f.Build({b});
  for (const CodeEffort effort : {CodeEffort::kFull, CodeEffort::kSmallShare, CodeEffort::kQuick}) {
    auto compiled = Compile(function, {.effort = effort});
    ASSERT_NE(compiled, nullptr);
    Tensor x = Random({37}, 1), y = Random({37}, 2);
    TwTensor* args[] = {x.abi(), y.abi()};
    absl::Status status = compiled->Run("main", args);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int i = 0; i < 37; ++i) EXPECT_FLOAT_EQ(y.data<float>()[i], x.data<float>()[i] * 2 + 1);
  }
}

// A chain of 70 sums, the last of them the output; one has memory of its own, and an assertion stands in the middle.
Function LongChain() {
  const auto name = [](int k) { return k < 0 ? "A" : k == 69 ? "C" : absl::StrCat("T", k); };
  std::string text = R"(@T.prim_func
def main(A: T.Buffer((20000,), "float32"), C: T.Buffer((20000,), "float32")):
)";
  for (int k = 0; k < 69; ++k) absl::StrAppend(&text, "    ", name(k), " = T.alloc_buffer((20000,))\n");
  for (int k = 0; k < 70; ++k) {
    if (k == 45) absl::StrAppend(&text, "    assert A[7] < T.float32(1000), \"too much\"\n");
    if (k == 40) {
      absl::StrAppend(&text, R"(    for i in range(1):
        with T.block("own"):
            w = T.axis.spatial(1, i)
            R = T.alloc_buffer((20000,))
            for j in range(20000):
                with T.block("r"):
                    v = T.axis.spatial(20000, j)
                    R[v] = T39[v] + T.float32(10)
            for j in range(20000):
                with T.block("s"):
                    v = T.axis.spatial(20000, j)
                    T40[v] = R[v] + T.float32(30)
)");
      continue;
    }
    absl::StrAppend(&text, "    for i in range(20000):\n        with T.block(\"b", k,
                    "\"):\n            v = T.axis.spatial(20000, i)\n            ", name(k), "[v] = ", name(k - 1),
                    "[v] + T.float32(", k, ")\n");
  }
  return ParseFunctionOrDie(text);
}

// LLVM takes long for long functions: the statements of a long list are functions of their own.
TEST(Jit, LongListsAreEmittedInParts) {
  const Function function = LongChain();
  const auto text = EmitLlvmIr(Module(function), HostTarget(), {.format = "ll"});
  ASSERT_TRUE(text.ok()) << text.status();
  for (const char* part : {".part0", ".part1", ".part2"}) EXPECT_NE(text->find(part), std::string::npos) << part;
  auto compiled = Compile(function);
  ASSERT_NE(compiled, nullptr);
  Tensor x = *Tensor::Allocate(kFloat32, {20000}), y = *Tensor::Allocate(kFloat32, {20000});
  for (int i = 0; i < 20000; ++i) x.data<float>()[i] = static_cast<float>(i % 100);
  TwTensor* args[] = {x.abi(), y.abi()};
  const absl::Status status = compiled->Run("main", args);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(y.data<float>()[i], static_cast<float>(i % 100 + 69 * 70 / 2)) << i;
  x.data<float>()[7] = 2000;
  const absl::Status failed = compiled->Run("main", args);
  EXPECT_NE(failed.message().find("too much"), std::string_view::npos) << failed;
}

// n blocks, each of what the one before it made; `block` gives the lines of a block by its number and the names of what
// it writes and reads.
std::string ChainOf(int n, int64_t length, const std::function<std::string(int, std::string, std::string)>& block) {
  const auto name = [&](int k) { return k < 0 ? "A" : k == n - 1 ? "C" : absl::StrCat("T", k); };
  std::string text = absl::StrCat("@T.prim_func\ndef main(A: T.Buffer((", length, ",), \"float32\"), W: T.Buffer((",
                                  length, ",), \"float32\"), V: T.Buffer((", length, ",), \"float32\"), C: T.Buffer((",
                                  length, ",), \"float32\")):\n");
  for (int k = 0; k + 1 < n; ++k) absl::StrAppend(&text, "    ", name(k), " = T.alloc_buffer((", length, ",))\n");
  for (int k = 0; k < n; ++k) absl::StrAppend(&text, block(k, name(k), name(k - 1)));
  return text;
}

size_t CountOf(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// 100 statements of three kinds, which differ in the buffers that they are given alone; a tenth of them stands for
// itself.
TEST(Jit, AlikeStatementsOfLongListsShareAFunction) {
  const std::string program = ChainOf(100, 20000, [](int k, const std::string& to, const std::string& from) {
    const std::string value = k % 10 == 9  ? absl::StrCat("[v] + T.float32(", k, ")")
                              : k % 3 == 0 ? absl::StrCat("[v] + ", from, "[v]")
                                           : absl::StrCat("[v] * T.float32(0.5) + ", k % 2 == 0 ? "W" : "V", "[v]");
    return absl::StrCat("    for i in T.", k % 4 == 0 ? "parallel" : "serial", "(20000):\n        with T.block(\"b", k,
                        "\"):\n            v = T.axis.spatial(20000, i)\n            ", to, "[v] = ", from, value,
                        "\n");
  });
  const auto text = EmitLlvmIr(Module(ParseFunctionOrDie(program)), HostTarget(), {.format = "ll"});
  ASSERT_TRUE(text.ok()) << text.status();
  // The temporaries that are on the stack are aligned, those in the workspace lie where it does.
  const size_t functions = CountOf(*text, "define internal i32 @main.shared");
  EXPECT_GE(functions, 4U);
  EXPECT_LE(functions, 24U);
  EXPECT_GE(CountOf(*text, "call i32 @main.shared"), 80U);
  for (const bool parallel : {false, true}) {
    EXPECT_EQ(testing::CompareWithInterpreter(program, {.target = HostTarget(), .parallel = parallel}), "");
  }
}

// Sums in registers stay there, however much of the stack is taken.
TEST(Jit, RegistersOfLongListsAreNotInTheWorkspace) {
  const auto program = [](int64_t length) {
    return ChainOf(70, length, [&](int k, const std::string& to, const std::string& from) {
      return absl::StrCat("    for i in range(", length / 8, "):\n        with T.block(\"b", k,
                          "\"):\n            w = T.axis.spatial(", length / 8,
                          ", i)\n            R = T.alloc_buffer((8,), scope=\"register\")\n",
                          "            for j in T.vectorized(8):\n                R[j] = ", from,
                          "[w * 8 + j]\n            for j in T.vectorized(8):\n                ", to,
                          "[w * 8 + j] = R[j] + W[w * 8 + j]\n");
    });
  };
  // 64 KiB each: eight temporaries take what functions may take of the stack, the others lie in the workspace.
  const auto text = EmitLlvmIr(Module(ParseFunctionOrDie(program(16384))), HostTarget(), {.format = "ll"});
  ASSERT_TRUE(text.ok()) << text.status();
  const size_t body = text->find("define internal i32 @main.shared");
  ASSERT_NE(body, std::string::npos);
  const std::string shared = text->substr(body, text->find("\n}", body) - body);
  EXPECT_EQ(CountOf(shared, "store <8 x float>"), 1U) << shared;
  EXPECT_EQ(testing::CompareWithInterpreter(program(4096), {.target = HostTarget()}), "");
}

// `n` blocks one after the other in each iteration of a parallel loop, each of which writes `terms` values out.
std::string JoinedBlocks(int n, int terms, const std::function<std::string(int)>& factor) {
  std::string text = "@T.prim_func\ndef main(A: T.Buffer((64, 256), \"float32\")";
  for (int k = 0; k < n; ++k) absl::StrAppend(&text, ", C", k, ": T.Buffer((64, 256), \"float32\")");
  absl::StrAppend(&text, "):\n    for i in T.parallel(64):\n");
  for (int k = 0; k < n; ++k) {
    absl::StrAppend(&text, "        for j in range(", 256 / terms, "):\n            for u in T.unroll(", terms,
                    "):\n                with T.block(\"b", k, "\"):\n",
                    "                    vi = T.axis.spatial(64, i)\n                    v = T.axis.spatial(256, j * ",
                    terms, " + u)\n                    C", k, "[vi, v] = A[vi, 255 - v] * T.float32(", factor(k),
                    ") + A[vi, v]\n");
  }
  return text;
}

// Nests that were joined in one parallel loop, as products of one input are, are compiled once.
TEST(Jit, LongStatementsOfParallelLoopsShareAFunction) {
  const auto parts = [](const std::string& program) {
    const auto text = EmitLlvmIr(Module(ParseFunctionOrDie(program)), HostTarget(), {.format = "ll"});
    EXPECT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(testing::CompareWithInterpreter(program, {.target = HostTarget(), .parallel = true}), "");
    return std::pair(CountOf(*text, "define internal i32 @main.shared"), CountOf(*text, "call i32 @main.shared"));
  };
  EXPECT_EQ(parts(JoinedBlocks(3, 64, [](int) { return "2"; })), (std::pair<size_t, size_t>(1, 3)));
  // Two of one kind, and one of another kind.
  EXPECT_EQ(parts(JoinedBlocks(3, 64, [](int k) { return k == 1 ? "3" : "2"; })), (std::pair<size_t, size_t>(1, 2)));
  EXPECT_EQ(parts(JoinedBlocks(3, 2, [](int) { return "2"; })), (std::pair<size_t, size_t>(0, 0)));
}

// A temporary lives as long as statements use it: lists that are inside of its allocation share functions too.
TEST(Jit, LongStatementsInsideOfAllocationsShareAFunction) {
  const std::string program = ChainOf(24, 2048, [](int k, const std::string& to, const std::string& from) {
    return absl::StrCat("    for i in range(32):\n        for u in T.unroll(64):\n            with T.block(\"b", k,
                        "\"):\n                v = T.axis.spatial(2048, i * 64 + u)\n                ", to,
                        "[v] = ", from, "[v] * T.float32(0.5) + W[v]\n");
  });
  const auto text = EmitLlvmIr(Module(ParseFunctionOrDie(program)), HostTarget(), {.format = "ll"});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_GE(CountOf(*text, "define internal i32 @main.shared"), 1U);
  EXPECT_LE(CountOf(*text, "define internal i32 @main.shared"), 12U);
  EXPECT_GE(CountOf(*text, "call i32 @main.shared"), 16U);
  EXPECT_EQ(testing::CompareWithInterpreter(program, {.target = HostTarget()}), "");
}

// Callers that have checked what they pass do not wait for functions that check it again.
TEST(Jit, FunctionsAreUncheckedAloneWhereTheySaySo) {
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {37}, kF32);
  Buffer b = f.Compute("B", {37}, [&](Var i) { return a(i) * ConstFloat(kF32, 2); });
  FunctionNode::Fields fields = f.Build({b})->fields();
  fields.attrs[kUncheckedOnly] = {Expr(1)};
  auto compiled = Compile(Function(std::move(fields)));
  ASSERT_NE(compiled, nullptr);
  EXPECT_EQ(compiled->Find("main"), nullptr);
  const TwUncheckedFunction unchecked = compiled->FindUnchecked("main");
  ASSERT_NE(unchecked, nullptr);
  Tensor x = Random({37}, 1), y = Random({37}, 2);
  void* data[] = {x.data<float>(), y.data<float>()};
  const int64_t extent = 37;
  const int64_t* shapes[] = {&extent, &extent};
  EXPECT_EQ(unchecked(nullptr, data, shapes), kTwOk);
  for (int i = 0; i < 37; ++i) EXPECT_FLOAT_EQ(y.data<float>()[i], x.data<float>()[i] * 2);
}

TEST(Jit, PerfSeesFunctionsByName) {
  FunctionBuilder f("twice");
  Buffer a = f.Input("A", {37}, kF32);
  Buffer b = f.Compute("B", {37}, [&](Var i) { return a(i) * ConstFloat(kF32, 2); });
  const Function function = f.Build({b});
  FunctionNode::Fields fields = function->fields();
  fields.attrs[kGlobalSymbol] = {String("matmul_relu")};
  setenv("TILEWRIGHT_PERF_MAP", "1", 1);
  EXPECT_TRUE(runtime::WantsPerfMap());
  const auto own = CompileToJit(Module(function), HostTarget(), {});
  const auto named = CompileToJit(Module(Function(std::move(fields))), HostTarget(), {});
  unsetenv("TILEWRIGHT_PERF_MAP");
  EXPECT_FALSE(runtime::WantsPerfMap());
  ASSERT_TRUE(own.ok() && named.ok());
  std::map<std::string, std::pair<uint64_t, uint64_t>> lines;
  std::ifstream map(runtime::PerfMapPath());
  uint64_t address, bytes;
  for (std::string name; map >> std::hex >> address >> bytes >> name;) lines[name] = {address, bytes};
  std::remove(runtime::PerfMapPath().c_str());
  // The exported function, and the one that does the work, which is not exported.
  EXPECT_EQ(lines["twice"].first, reinterpret_cast<uint64_t>((*own)->Find("twice")));
  EXPECT_EQ(lines["matmul_relu"].first, reinterpret_cast<uint64_t>((*named)->Find("twice")));
  EXPECT_GT(lines["twice.compute"].second, 16);
  EXPECT_GT(lines["matmul_relu.compute"].second, 16);
  EXPECT_FALSE(lines.contains("twice_1"));
}

// The largest error of C = A B, relative to the sum of absolute products.
double MatmulError(Tensor& a, Tensor& b, Tensor& c, int64_t m, int64_t n, int64_t k) {
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 1e-30;
      for (int64_t l = 0; l < k; ++l) {
        const double product = double{a.data<float>()[i * k + l]} * b.data<float>()[l * n + j];
        sum += product;
        magnitude += std::abs(product);
      }
      worst = std::max(worst, std::abs(sum - c.data<float>()[i * n + j]) / magnitude);
    }
  }
  return worst;
}

TEST(Jit, MatmulAsWritten) {
  auto compiled = Compile(ops::Matmul(13, 17, 19));
  ASSERT_NE(compiled, nullptr);
  Tensor a = Random({13, 19}, 1), b = Random({19, 17}, 2), c = Random({13, 17}, 3);
  TwTensor* args[] = {a.abi(), b.abi(), c.abi()};
  absl::Status status = compiled->Run("matmul", args);
  if (!status.ok()) status = compiled->Run("main", args);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_LT(MatmulError(a, b, c, 13, 17, 19), 1e-6);
}

TEST(Jit, TiledMatmul) {
  runtime::ThreadPool pool({.num_threads = 2});
  const TwParallelHook hook = pool.hook();
  for (int64_t m : {24, 25, 35, 11}) {
    const testing::TiledMatmul shape = {.m = m, .n = 96, .k = 20, .rows = 12, .columns = 32};
    auto compiled = Compile(testing::MakeTiledMatmul(shape));
    ASSERT_NE(compiled, nullptr);
    Tensor a = Random({m, 20}, 1), b = Random({20, 96}, 2), c = Random({m, 96}, 3), packed = Random({3, 20, 32}, 0);
    for (int64_t k = 0; k < 20; ++k) {
      for (int64_t j = 0; j < 96; ++j)
        packed.data<float>()[(j / 32 * 20 + k) * 32 + j % 32] = b.data<float>()[k * 96 + j];
    }
    TwTensor* args[] = {a.abi(), packed.abi(), c.abi()};
    for (const TwParallelHook* parallel : {static_cast<const TwParallelHook*>(nullptr), &hook}) {
      absl::Status status = compiled->Run("main", args, parallel);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_LT(MatmulError(a, b, c, m, 96, 20), 1e-6) << "m = " << m;
    }
  }
}

// Instructions by their LLVM names, on operands that are reinterpreted: dot products of four bytes and of two bfloat16.
TEST(Jit, DotProductInstructions) {
  if (!HostTarget().has("avx512vnni") || !HostTarget().has("avx512bf16")) GTEST_SKIP() << "no such instructions";
  auto compiled = Compile(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4,), "uint8"), B: T.Buffer((3, 64), "int8"), C: T.Buffer((3, 16), "int32"),
         D: T.Buffer((32,), "bfloat16"), E: T.Buffer((32,), "bfloat16"), F: T.Buffer((16,), "float32")):
    for i in range(3):
        C[i, 0:16] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", C[i, 0:16], T.Broadcast(T.reinterpret("int32", A[0:4]), 16), T.reinterpret("int32x16", B[i, 0:64]))
    F[0:16] = T.call_llvm_pure_intrin("float32x16", "llvm.x86.avx512bf16.dpbf16ps.512", F[0:16], D[0:32], E[0:32])
)"));
  ASSERT_NE(compiled, nullptr);
  Tensor a = *Tensor::Allocate(runtime::kUInt8, {4}), b = *Tensor::Allocate(runtime::kInt8, {3, 64});
  Tensor c = *Tensor::Allocate(runtime::kInt32, {3, 16}), d = *Tensor::Allocate(runtime::kBfloat16, {32});
  Tensor e = *Tensor::Allocate(runtime::kBfloat16, {32}), f = *Tensor::Allocate(kFloat32, {16});
  for (int i = 0; i < 4; ++i) a.data<uint8_t>()[i] = static_cast<uint8_t>(200 + i);
  for (int i = 0; i < 192; ++i) b.data<int8_t>()[i] = static_cast<int8_t>(i * 7);
  for (int i = 0; i < 48; ++i) c.data<int32_t>()[i] = 1000 * i;
  for (int i = 0; i < 32; ++i) d.data<uint16_t>()[i] = static_cast<uint16_t>(0x3f80 + i);  // 1 + i / 128
  for (int i = 0; i < 32; ++i) e.data<uint16_t>()[i] = 0x4000;                             // 2
  TwTensor* args[] = {a.abi(), b.abi(), c.abi(), d.abi(), e.abi(), f.abi()};
  absl::Status status = compiled->Run("main", args);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < 48; ++i) {
    int32_t expected = 1000 * i;
    for (int j = 0; j < 4; ++j) expected += (200 + j) * static_cast<int8_t>((i * 4 + j) * 7);
    EXPECT_EQ(c.data<int32_t>()[i], expected) << i;
  }
  for (int i = 0; i < 16; ++i) EXPECT_EQ(f.data<float>()[i], 2 * (2 + (4 * i + 1) / 128.0f)) << i;
}

}  // namespace
}  // namespace tilewright
