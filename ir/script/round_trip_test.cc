// Programs are read, printed in canonical form, and read back to an equal program.
#include <gtest/gtest.h>

#include "ir/script/canonical.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/script/random_program.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

TEST(RoundTrip, MatmulAsWritten) {
  EXPECT_EQ(Canonical(R"(
      import tvm
      from tvm.script import tir as T

      @tvm.script.ir_module
      class MatmulModule:
          @T.prim_func
          def main(
              A: T.Buffer((1024, 1024), "float32"),
              B: T.Buffer[(1024, 1024), "float32"],
              C: T.Buffer((1024, 1024)),  # float32 is the default
          ) -> None:
              T.func_attr({"global_symbol": "main", "tir.noalias": True})
              for i, j, k in T.grid(1024, 1024, 1024):
                  with T.block("matmul"):
                      vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                      with T.init():
                          C[vi, vj] = T.float32(0)
                      C[vi, vj] += \
                          A[vi, vk] * B[vj, vk]
      )"),
            R"(# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        for i, j, k in T.grid(1024, 1024, 1024):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vj, vk])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
)");
}

// Tiled blocks with regions inferred over nested blocks, as in the second form of TVM's tensorization tutorial.
TEST(RoundTrip, NestedBlocks) {
  const std::string text = Canonical(R"(
      @T.prim_func
      def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
          for i0, k0 in T.grid(4, 4):
              with T.block("outer"):
                  vi0, vk0 = T.axis.remap("SR", [i0, k0])
                  for i1, k1 in T.grid(16, 16):
                      with T.block("inner"):
                          vi1, vk1 = T.axis.remap("SR", [i1, k1])
                          C[vi0 * 16 + vi1, 0] = C[vi0 * 16 + vi1, 0] + A[vi0 * 16 + vi1, vk0 * 16 + vk1])");
  EXPECT_NE(text.find("T.reads(C[vi0 * 16:vi0 * 16 + 16, 0], A[vi0 * 16:vi0 * 16 + 16, vk0 * 16:vk0 * 16 + 16])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("T.writes(C[vi0 * 16:vi0 * 16 + 16, 0])"), std::string::npos) << text;
}

TEST(RoundTrip, TensorizedBlock) {
  const std::string program = R"(# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
        # with T.block("root"):
        A_global_A_reg = T.alloc_buffer((1024, 1024), scope="global.A_reg")
        for i_0, k_0 in T.grid(64, 64):
            for ax0, ax1 in T.grid(16, 16):
                with T.block("A_global.A_reg"):
                    v0 = T.axis.spatial(1024, i_0 * 16 + ax0)
                    v1 = T.axis.spatial(1024, k_0 * 16 + ax1)
                    T.reads(A[v0, v1])
                    T.writes(A_global_A_reg[v0, v1])
                    A_global_A_reg[v0, v1] = A[v0, v1]
            for ax0, ax1 in T.grid(16, 16):
                with T.block("copy"):
                    v0 = T.axis.spatial(1024, i_0 * 16 + ax0)
                    v1 = T.axis.spatial(1024, k_0 * 16 + ax1)
                    T.reads(A[v0, v1])
                    T.writes(A_global_A_reg[v0, v1])
                    A_global_A_reg[v0, v1] = A[v0, v1]
            with T.block("matmul_o_update"):
                vi_o, vk_o = T.axis.remap("SR", [i_0, k_0])
                T.reads(C[vi_o * 16:vi_o * 16 + 16, 0:16], A_global_A_reg[vi_o * 16:vi_o * 16 + 16, vk_o * 16:vk_o * 16 + 16])
                T.writes(C[vi_o * 16:vi_o * 16 + 16, 0:16])
                A_1 = T.match_buffer(A_global_A_reg[vi_o * 16:vi_o * 16 + 16, vk_o * 16:vk_o * 16 + 16], (16, 16), strides=("A_s0", 1), scope="global.A_reg", offset_factor=16)
                C_1 = T.match_buffer(C[vi_o * 16:vi_o * 16 + 16, 0:16], (16, 16), strides=("C_s0", 1), offset_factor=16)
                T.call_extern("int32", "tmm16", T.tvm_access_ptr(T.type_annotation("float32"), C_1.data, C_1.elem_offset, C_1.strides[0] * 16, 2), T.tvm_access_ptr(T.type_annotation("float32"), A_1.data, A_1.elem_offset, A_1.strides[0] * 16, 1), A_1.strides[0], C_1.strides[0])
)";
  EXPECT_EQ(Canonical(program), program);
}

TEST(RoundTrip, IntrinsicWithStridesAndAccessPointers) {
  EXPECT_EQ(Canonical(R"(
      @T.prim_func
      def tmm16_impl(a: T.handle, c: T.handle) -> None:
          sa = T.int32()
          A = T.match_buffer(a, (16, 16), "float32", offset_factor=16, strides=[sa, 1], scope="global.A_reg")
          C = T.match_buffer(c, (16, 16), "float32", offset_factor=16, scope="global.accumulator")
          with T.block("root"):
              T.reads(C[0:16, 0:16], A[0:16, 0:16])
              T.writes(C[0:16, 0:16])
              T.evaluate(T.call_extern("tmm16", C.access_ptr("w"), A.access_ptr("r"), sa, dtype="int32")))"),
            R"(# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def tmm16_impl(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 16), strides=("sa", 1), scope="global.A_reg", offset_factor=16)
        C = T.match_buffer(c, (16, 16), scope="global.accumulator", offset_factor=16)
        with T.block("root"):
            T.reads(C[0:16, 0:16], A[0:16, 0:16])
            T.writes(C[0:16, 0:16])
            T.call_extern("int32", "tmm16", T.tvm_access_ptr(T.type_annotation("float32"), C.data, C.elem_offset, 256, 2), T.tvm_access_ptr(T.type_annotation("float32"), A.data, A.elem_offset, A.strides[0] * 16, 1), A.strides[0])
)");
}

// Forms that TVM's printer uses, of several of its versions.
TEST(RoundTrip, OtherSpellings) {
  EXPECT_EQ(Canonical(R"(
      # from typing import TypeVar
      n = TypeVar("n")
      M = 4 * 16
      @T.prim_func(s_tir=True, private=True)
      def f(A: T.Buffer((n, M), "float32", strides=("p", 1), offset_factor=1), B: T.Buffer(("k", 8), "int8"), C: T.Buffer((k,), "float16")):
          k = T.int32()
          T.func_attr({"tirx.noalias": True, "f": 1.5, "target": T.target({"kind": "cuda", "arch": "sm_90"})})
          A_1 = A.view(128)
          with T.launch_thread("blockIdx.x", 4) as bx:
              S = T.alloc_shared((16,), annotations={"buffer_data_alignment": 64})
              T.attr({"pragma_scope": "seq"})
              y: T.let[T.int32] = bx * 4
              S[0:4] = A_1[T.Ramp(y, 1, 4)]
              T.tvm_storage_sync("shared", T.bool(False), -1)
              assert bx > 1, ("RuntimeError", ["a ", "b"])
              S[0:8:2] = T.Broadcast(T.float32(0.0), 4)
      )"),
            R"(# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(var_A: T.handle, var_B: T.handle, var_C: T.handle):
        T.func_attr({"f": 1.5, "target": {"arch": "sm_90", "kind": "cuda"}, "tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(var_A, (n, 64), strides=("p", 1), offset_factor=1)
        k = T.int32()
        B = T.match_buffer(var_B, (k, 8), "int8")
        C = T.match_buffer(var_C, (k,), "float16")
        A_1 = T.decl_buffer((128,), data=A.data, elem_offset=A.elem_offset)
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            S = T.decl_buffer((16,), scope="shared")
            T.attr(0, "pragma_scope", "seq")
            y: T.int32 = bx * 4
            S[0:4] = A_1[y:y + 4]
            T.tvm_storage_sync("shared")
            assert bx > 1, "a b"
            S[T.Ramp(0, 2, 4)] = T.Broadcast(T.float32(0), 4)
)");
}

TEST(RoundTrip, OlderSpellings) {
  EXPECT_EQ(Canonical(R"(
      from tvm.script import tir
      @tir.prim_func
      def f(a: tir.handle, b: tir.handle) -> None:
          n = tir.var("int64")
          A = tir.match_buffer(a, [n], dtype="float16")
          B = tir.match_buffer(b, [n], dtype="float16")
          tx = tir.env_thread("threadIdx.x")
          tir.launch_thread(tx, 32)
          L = tir.allocate([8], "float16", "local")
          L_1 = tir.buffer_decl([8], dtype="float16", data=L, scope="local")
          L_1[0] = A[tx]
          B[tx] = L_1[0]
      )"),
            R"(# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def f(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float16")
        B = T.match_buffer(b, (n,), "float16")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            L = T.decl_buffer((8,), "float16", scope="local")
            L_1 = T.decl_buffer((8,), "float16", data=L.data, scope="local")
            L_1[0] = A[tx]
            B[tx] = L_1[0]
)");
}

TEST(RoundTrip, MarkedLinesAreUnderlined) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def f(A: T.Buffer((16,), "float32")):
          for i in range(16):
              A[i] = 1.0)");
  PrintOptions options;
  options.marked = {f->body.get()};
  EXPECT_EQ(Print(f->body, options), "for i in range(16):\n# ^^^^^^^^^^^^^^^^^\n    A[i] = T.float32(1)\n");
}

// Each construct once, as it is written and as it is printed.
TEST(RoundTrip, Expressions) {
  auto printed = [](const std::string& value) {
    const std::string text = Canonical(
        "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), C: T.Buffer((16,), \"int32\"), H: T.Buffer((16,), "
        "\"float16\"), n: T.int32, m: T.int64, X: T.Buffer((1,), \"" +
        value.substr(0, value.find(' ')) + "\")):\n    X[0] = " + value.substr(value.find(' ') + 1) + "\n");
    const size_t begin = text.find("X[0] = ") + 7;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(printed("int32 2 * 3 + 4 // 3 - 7 % 4"), "4");
  EXPECT_EQ(printed("int32 (-7) // 2 + (-7) % 2"), "-3");
  EXPECT_EQ(printed("int32 T.Add(2, 3)"), "T.Add(2, 3)");
  EXPECT_EQ(printed("int64 ~T.int64(5)"), "~T.int64(5)");
  EXPECT_EQ(printed("int32 T.bitwise_not(5)"), "T.bitwise_not(5)");
  EXPECT_EQ(printed("int32 n - (n - 1) - (n + 2)"), "n - (n - 1) - (n + 2)");
  EXPECT_EQ(printed("int32 (n + 1) * 2 // n % 3"), "(n + 1) * 2 // n % 3");
  EXPECT_EQ(printed("int64 n + m"), "T.Cast(\"int64\", n) + m");
  EXPECT_EQ(printed("int32 -n"), "n * -1");
  EXPECT_EQ(printed("int32 ~n & 7 | n << 2 ^ n >> 1"), "~n & 7 | n << 2 ^ n >> 1");
  EXPECT_EQ(printed("int32 T.truncdiv(n, 3) + T.truncmod(n, 3) + T.ceildiv(n, 4)"),
            "T.Div(n, 3) + T.truncmod(n, 3) + (n + 3) // 4");
  EXPECT_EQ(printed("int32 min(n, 3) + T.max(3, n)"), "T.min(n, 3) + T.max(3, n)");
  EXPECT_EQ(printed("bool 0 <= n < 8 and not (n == 3 or n != 5)"), "0 <= n and n < 8 and not (n == 3 or n != 5)");
  EXPECT_EQ(printed("float32 A[n] / 3 + 1"), "A[n] / T.float32(3) + T.float32(1)");
  EXPECT_EQ(printed("float32 T.float32(H[0]) + H[1].astype(\"float32\") + T.cast(C[0], \"float32\")"),
            "T.Cast(\"float32\", H[0]) + T.Cast(\"float32\", H[1]) + T.Cast(\"float32\", C[0])");
  EXPECT_EQ(printed("float16 T.if_then_else(n > 3, H[0], 0.1)"), "T.if_then_else(n > 3, H[0], T.float16(0.099975586))");
  EXPECT_EQ(printed("float32 T.Select(n > 3, T.exp(A[0]), T.float32(\"-inf\"))"),
            "T.Select(n > 3, T.exp(A[0]), T.float32(\"-inf\"))");
  EXPECT_EQ(printed("float32 T.max_value(\"float32\")"), "T.float32(3.4028235e+38)");
  EXPECT_EQ(printed("float16 T.min_value(\"float16\")"), "T.float16(-65504)");
  EXPECT_EQ(printed("uint64 T.uint64(18446744073709551615)"), "T.uint64(18446744073709551615)");
  EXPECT_EQ(printed("uint64 T.max_value(\"uint64\")"), "T.uint64(18446744073709551615)");
  EXPECT_EQ(printed("int64 T.max_value(\"int64\")"), "T.int64(9223372036854775807)");
  EXPECT_EQ(printed("float32 T.let(x, n + 1, A[x])"), "T.Let(A[x], where={x: n + 1})");
  EXPECT_EQ(printed("float32 T.call_llvm_pure_intrin(\"float32\", \"llvm.x\", A[0])"),
            "T.call_llvm_pure_intrin(\"float32\", \"llvm.x\", A[0])");
  EXPECT_EQ(printed("float32 T.call_intrin(\"float32\", \"tir.exp\", A[0])"), "T.exp(A[0])");
  EXPECT_EQ(printed("int32 T.reinterpret(A[0], \"int32\")"), "T.reinterpret(\"int32\", A[0])");
}

// Programs that are more than the parser's own output: every construct, clashing names, mixed types. The parser adds a
// root block to functions with blocks and none, so the comparison is made after the first reading where that happens.
TEST(RoundTrip, RandomPrograms) {
  int compared_directly = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const Module module = RandomProgram(seed);
    const std::string printed = Print(module);
    absl::StatusOr<Module> first = ParseModule(printed);
    ASSERT_TRUE(first.ok()) << "seed " << seed << "\n" << first.status().message() << "\n" << printed;
    Mismatch mismatch;
    bool has_root = true;
    for (const Function& function : module.functions()) {
      const auto* root = dyn_cast<BlockRealizeNode>(function->body);
      has_root = has_root && root != nullptr && root->bindings.empty();
    }
    if (has_root) {
      ASSERT_TRUE(StructuralEqual(module, *first, &mismatch)) << "seed " << seed << "\n"
                                                              << mismatch.path << ": " << mismatch.reason << "\n"
                                                              << printed;
      ++compared_directly;
    }
    const std::string again = Print(*first);
    if (has_root) ASSERT_EQ(again, printed) << "seed " << seed;
    absl::StatusOr<Module> second = ParseModule(again);
    ASSERT_TRUE(second.ok()) << "seed " << seed << "\n" << second.status().message() << "\n" << again;
    ASSERT_TRUE(StructuralEqual(*first, *second, &mismatch)) << "seed " << seed << "\n"
                                                             << mismatch.path << ": " << mismatch.reason << "\n"
                                                             << again;
    ASSERT_EQ(StructuralHash(*first), StructuralHash(*second)) << "seed " << seed;
  }
  EXPECT_GT(compared_directly, 500);
}

TEST(RoundTrip, EqualUpToNamesAndFreeOfIds) {
  const Function a = ParseFunctionOrDie(R"(
      @T.prim_func
      def f(A: T.Buffer((16,), "float32")):
          for i in range(16):
              with T.block("b"):
                  v = T.axis.S(16, i)
                  A[v] = A[v] * 2)");
  const Function b = ParseFunctionOrDie(R"(
      @T.prim_func
      def f(X: T.Buffer((16,), "float32")):
          for j in T.serial(16):
              with T.sblock("b"):
                  w = T.axis.spatial((0, 16), j)
                  T.reads([X[w]])
                  T.writes(X[w:w + 1])
                  X[w] = X[w] * T.float32(2.0))");
  Mismatch mismatch;
  EXPECT_TRUE(StructuralEqual(a, b, &mismatch)) << mismatch.path << ": " << mismatch.reason;
  EXPECT_EQ(a->next_id, b->next_id);
}

}  // namespace
}  // namespace tilewright
