// Constructs that TVM prints for lowered programs, and older versions of it for all: each is read, and what it means is
// kept in the canonical text.
#include <gtest/gtest.h>

#include <string>

#include "ir/script/canonical.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/parser.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// The body of a function with buffers A and B (16 floats), C (16 int32) and a scalar n, in canonical text.
std::string Body(const std::string& body, const std::string& before = "") {
  std::string text = before +
                     "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\"), C: "
                     "T.Buffer((16,), \"int32\"), n: T.int32):\n";
  size_t begin = 0;
  while (begin < body.size()) {
    const size_t end = std::min(body.find('\n', begin), body.size());
    text += "    " + body.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  const std::string printed = Canonical(text);
  std::string result;
  size_t at = printed.find("):\n") + 3;
  while (at < printed.size()) {
    const size_t end = std::min(printed.find('\n', at), printed.size());
    result += printed.substr(std::min(at + 8, end), end - std::min(at + 8, end)) + "\n";
    at = end + 1;
  }
  return result;
}

std::string Refused(const std::string& body) {
  script::ParseResult result = script::Parse("@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\")):\n    " + body);
  return result.diagnostics.empty() ? "accepted" : result.diagnostics[0].message;
}

TEST(PeerText, ReducersOfThreads) {
  EXPECT_EQ(Body("with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), \"reduce_scope\", 0):\n"
                 "    T.tvm_thread_allreduce(T.uint32(1), A[0], T.bool(True), B[0], n)"),
            "T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0)]), \"reduce_scope\", 0)\n"
            "T.tvm_thread_allreduce(T.uint32(1), A[0], True, B[0], n)\n");
  const std::string argmax =
      "T.attr(T.comm_reducer(lambda x0, x1, y0, y1: (T.Select(x1 >= y1, x0, y0), T.Select(x1 >= y1, x1, y1)), "
      "[-1, T.float32(\"-inf\")]), \"reduce_scope\", 0)\nA[0] = B[0]\n";
  EXPECT_EQ(Body(argmax), argmax);
  EXPECT_EQ(Refused("T.attr(T.comm_reducer(lambda x: x, [0]), \"k\", 0)"),
            "the lambda has 1 parameters and 1 results; expected 2 and 1");
  EXPECT_EQ(Refused("T.attr(T.comm_reducer(lambda x, y: x < y, [0]), \"k\", 0)"),
            "the result is bool, the identity int32");
  EXPECT_EQ(Refused("T.attr(T.comm_reducer(1, [0]), \"k\", 0)"), "expected a lambda");
  EXPECT_EQ(Refused("T.attr(T.comm_reducer(lambda x, y: x, 0), \"k\", 0)"), "expected a list of identities");
}

// The attribute names the variable of the loop below.
TEST(PeerText, AttributesOfLoopsBelow) {
  const std::string text =
      "i = T.int32()\n"
      "T.attr(i, \"pragma_unroll_explicit\", 1)\n"
      "for i in range(16):\n"
      "    A[i] = B[i]\n";
  EXPECT_EQ(Body(text), text);
  const Module module = ParseOrDie(
      "@T.prim_func\ndef f(A: T.Buffer((4,))):\n    i = T.int32()\n    T.attr(i, \"k\", 1)\n"
      "    for i in range(4):\n        A[i] = T.float32(0)\n");
  const auto* attr = cast<AttrStmtNode>(module.Main()->body);
  EXPECT_EQ(attr->node.get(), cast<ForNode>(attr->body)->var.get());
  const Module other = ParseOrDie(
      "@T.prim_func\ndef f(A: T.Buffer((4,))):\n    j = T.int32()\n    T.attr(j, \"k\", 1)\n"
      "    for i in range(4):\n        A[i] = T.float32(0)\n");
  EXPECT_FALSE(StructuralEqual(module, other));
}

TEST(PeerText, AttributesOfThreads) {
  EXPECT_EQ(Body("tx = T.int32()\nT.attr(tx, \"pragma_unroll_explicit\", 1)\nT.launch_thread(tx, 16)\nA[tx] = B[tx]"),
            "tx = T.int32()\nT.attr(tx, \"pragma_unroll_explicit\", 1)\nfor tx in T.thread_binding(16, thread=\"\"):\n"
            "    A[tx] = B[tx]\n");
  EXPECT_EQ(Refused("T.launch_thread(3, 16)"),
            "expected a thread such as \"threadIdx.x\" or the result of T.env_thread");
}

TEST(PeerText, TwoLoopsOfOneNameHaveTheirOwnAttributes) {
  EXPECT_EQ(Body("i = T.int32()\nwith T.attr(i, \"k\", 1):\n    for i in range(16):\n        A[i] = B[i]\n"
                 "i = T.int32()\nT.attr(i, \"k\", 2)\nfor i in range(16):\n    B[i] = A[i]\n"),
            "i = T.int32()\n"
            "with T.attr(i, \"k\", 1):\n"
            "    for i in range(16):\n"
            "        A[i] = B[i]\n"
            "i_1 = T.int32()\n"
            "T.attr(i_1, \"k\", 2)\n"
            "for i_1 in range(16):\n"
            "    B[i_1] = A[i_1]\n");
}

TEST(PeerText, AttributesOfBuffersBelow) {
  EXPECT_EQ(Body("for i in range(4):\n"
                 "    X = T.Buffer((8,), scope=\"wmma.accumulator\")\n"
                 "    with T.attr(X, \"fragment_shape\", \"16, 16, 16\"):\n"
                 "        T.attr(X, \"fragment_layout\", \"row_major\")\n"
                 "        X = T.alloc_buffer((8,), scope=\"wmma.accumulator\")\n"
                 "    T.tvm_fill_fragment(X.data, 16, 16, 16, 0, T.float32(0))\n"),
            "for i in range(4):\n"
            "    X = T.handle()\n"
            "    T.attr(X, \"fragment_shape\", \"16, 16, 16\")\n"
            "    T.attr(X, \"fragment_layout\", \"row_major\")\n"
            "    X = T.decl_buffer((8,), scope=\"wmma.accumulator\")\n"
            "    T.tvm_fill_fragment(X.data, 16, 16, 16, 0, T.float32(0))\n");
}

TEST(PeerText, AnnotationsThatNameBuffers) {
  EXPECT_EQ(Body("with T.sblock(\"root\"):\n    T.sblock_attr({\"layout_free_placeholders\": [A]})\n    A[0] = B[0]"),
            "with T.block(\"root\"):\n"
            "    T.reads(B[0])\n"
            "    T.writes(A[0])\n"
            "    T.block_attr({\"layout_free_placeholders\": [A.data]})\n"
            "    A[0] = B[0]\n");
  // Attributes name a buffer of the block, and one that is gone.
  EXPECT_EQ(Body("gone = T.Buffer((64, 64), \"float16\")\nwith T.sblock(\"b\"):\n    X = T.alloc_buffer((4,))\n"
                 "    T.sblock_attr({\"x\": [X, gone]})\n    A[0] = B[0]"),
            "with T.block(\"b\"):\n"
            "    T.reads(B[0])\n"
            "    T.writes(A[0])\n"
            "    X = T.alloc_buffer((4,))\n"
            "    gone = T.handle()\n"
            "    T.block_attr({\"x\": [X.data, gone]})\n"
            "    A[0] = B[0]\n");
}

TEST(PeerText, VariablesThatAreAssignedAgain) {
  const char* canonical =
      "x = T.decl_buffer((1,), \"int32\", scope=\"local\")\n"
      "x[0] = 0\n"
      "while x[0] < n:\n"
      "    x[0] = x[0] + 1\n"
      "C[0] = x[0]\n";
  EXPECT_EQ(Body("x: T.int32\nx = 0\nwhile x < n:\n    x = x + 1\nC[0] = x"), canonical);
  EXPECT_EQ(Body("x: T.int32 = 0\nwhile x < n:\n    x += 1\nC[0] = x"), canonical);
  EXPECT_EQ(Body("x = T.local_scalar(T.int32)\nx = 0\nwhile x < n:\n    x += 1\nC[0] = x"), canonical);
  // The name may be given again where the first one has ended.
  EXPECT_EQ(Body("if n > 1:\n    x: T.int32 = n\n    C[0] = x\nelse:\n    x = C[1]\n    C[0] = x"),
            "if n > 1:\n    x: T.int32 = n\n    C[0] = x\nelse:\n    x: T.int32 = C[1]\n    C[0] = x\n");
  EXPECT_EQ(Body("x: T.int32 = n\nC[0] = x"), "x: T.int32 = n\nC[0] = x\n");
  EXPECT_EQ(Refused("x: T.handle"), "expected '= value'");
  EXPECT_EQ(Refused("x: T.void"), "expected a type of numbers, found void");
  EXPECT_EQ(Refused("x = T.alloc_scalar(\"int32\", scope=\"a b\")"), "'a b' is not a storage scope");
}

TEST(PeerText, Tuples) {
  EXPECT_EQ(
      Canonical(
          "@T.prim_func\ndef f(a: T.handle):\n    n, m = T.int64(), T.int32()\n    A = T.match_buffer(a, (n, m))\n"
          "    pass\n"),
      "# from tvm.script import ir as I\n# from tvm.script import tir as T\n\n@I.ir_module\nclass Module:\n"
      "    @T.prim_func\n    def f(a: T.handle):\n        n = T.int64()\n        m = T.int32()\n"
      "        A = T.match_buffer(a, (n, m))\n        T.evaluate(0)\n");
  EXPECT_EQ(Body("x, y = n + 1, n + 2\nC[0] = x + y"), "x: T.int32 = n + 1\ny: T.int32 = n + 2\nC[0] = x + y\n");
  EXPECT_EQ(Refused("x, y = 1, 2, 3"), "2 names for 3 values");
  EXPECT_EQ(Refused("x, y = 1, x"), "this value may depend on the assignments before it; write them one by one");
}

TEST(PeerText, CallsOfTheRuntime) {
  const std::string text =
      "stack: T.handle = T.tvm_stack_alloca(\"tvm_ffi_any\", 4)\n"
      "code: T.int32 = T.tvm_struct_get(stack, 0, 13, \"int32\")\n"
      "assert not T.isnullptr(stack), \"Expected metadata[ir.StringImm][0].\"\n"
      "T.tvm_struct_set(stack, 0, 13, code)\n"
      "T.call_packed_lowered(\"__tvm_set_device\", stack, 0, 2)\n"
      "X_ptr: T.handle = T.TVMBackendAllocWorkspace(2, 0, T.uint64(16), 0, 32)\n"
      "X = T.decl_buffer((4,), data=X_ptr)\n"
      "T.call_ffi_kernel(\"f_kernel\", A.data, 16, T.keyword(\"launch_params\", \"blockIdx.x\"))\n"
      "T.ret(0)\n";
  EXPECT_EQ(
      Body("stack: T.let[T.handle] = T.tvm_stack_alloca(\"tvm_ffi_any\", 4)\n"
           "code: T.let[T.int32] = T.tvm_struct_get(stack, 0, 13, \"int32\")\n"
           "assert not T.isnullptr(stack), (\"TypeError\", [\"Expected \", metadata[\"ir.StringImm\"][0], \".\"])\n"
           "T.tvm_struct_set(stack, 0, 13, code)\n"
           "T.call_packed_lowered(\"__tvm_set_device\", stack, 0, 2)\n"
           "X = T.decl_buffer((4,), data=T.TVMBackendAllocWorkspace(2, 0, T.uint64(16), 0, 32))\n"
           "T.call_ffi_kernel(\"f_kernel\", A.data, 16, launch_params=[\"blockIdx.x\"], ret_ty=\"int32\")\n"
           "return 0\n"),
      text);
  EXPECT_EQ(Body("x: T.let[T.handle(\"int64\", \"global\")] = T.tvm_struct_get(A.data, 0, 2, T.handle(\"int64\").ty)\n"
                 "y: T.let[T.handle] = T.reinterpret(T.handle(\"float32\", \"global\").ty, x)\nC[0] = 1"),
            "x: T.handle = T.tvm_struct_get(A.data, 0, 2, \"handle\")\n"
            "y: T.handle = T.reinterpret(\"handle\", x)\n"
            "C[0] = 1\n");
}

// Version 0.9 writes the type of every call.
TEST(PeerText, TypesOfCalls) {
  EXPECT_EQ(Body("A[0] = T.exp(B[0], dtype=\"float32\")\nC[0] = T.shift_right(C[1], 2, dtype=\"int32\")\n"
                 "A[1] = T.if_then_else(n < 3, B[0], B[1], dtype=\"float32\")\n"
                 "A[2] = T.tvm_warp_shuffle(\"float32\", T.uint32(1), B[0], 0, 32, 32)\n"
                 "A[3] = T.tvm_warp_shuffle(T.uint32(1), B[0], 0, 32, 32)\n"),
            "A[0] = T.exp(B[0])\nC[0] = C[1] >> 2\nA[1] = T.if_then_else(n < 3, B[0], B[1])\n"
            "A[2] = T.tvm_warp_shuffle(T.uint32(1), B[0], 0, 32, 32)\n"
            "A[3] = T.tvm_warp_shuffle(T.uint32(1), B[0], 0, 32, 32)\n");
  EXPECT_EQ(Refused("A[0] = T.exp(A[0], dtype=\"float16\")"), "T.exp gives float32, not float16");
  EXPECT_EQ(Refused("T.tvm_struct_get(A.data, 0, 13)"), "expected a type such as \"float32\" or T.int32");
}

TEST(PeerText, CallsOfDevices) {
  EXPECT_EQ(Body("T.ptx.mbarrier.init(A.data, 1)\nT.cuda.nano_sleep(16, kind=\"x\")\n"),
            "T.call_intrin(\"handle\", \"ptx.mbarrier.init\", A.data, 1)\n"
            "T.call_intrin(\"handle\", \"cuda.nano_sleep\", 16, T.keyword(\"kind\", \"x\"))\n");
  EXPECT_EQ(
      Body("A[T.Ramp(0, 1, 4)] = B[T.Ramp(0, 1, 4)]\nT.call_llvm_intrin(\"void\", \"llvm.x\", "
           "T.Broadcast(T.bool(True), T.vscale() * 4))\n"),
      "A[0:4] = B[0:4]\nT.call_llvm_intrin(\"void\", \"llvm.x\", T.call_intrin(\"bool\", \"scalable_broadcast\", True, "
      "T.vscale() * 4))\n");
}

TEST(PeerText, LeavingLoopsAndFunctions) {
  EXPECT_EQ(Body("for i in range(16):\n    if i > n:\n        break\n    if i > 3:\n        continue\n    A[i] = "
                 "B[i]\nreturn"),
            "for i in range(16):\n    if i > n:\n        T.break_loop()\n    if i > 3:\n        T.continue_loop()\n"
            "    A[i] = B[i]\n");
  EXPECT_EQ(Body("if n > 3:\n    return\nA[0] = B[0]"), "if n > 3:\n    T.thread_return()\nA[0] = B[0]\n");
}

TEST(PeerText, AllocationsWithAnnotations) {
  EXPECT_EQ(
      Body("X = T.alloc_shared((64,), strides=(2,), annotations={\"buffer_allocated_addr\": [], "
           "\"buffer_data_alignment\": 64, \"tirx.volatile\": True})\nX[0] = A[0]"),
      "X = T.decl_buffer((64,), strides=(2,), scope=\"shared\", annotations={\"tirx.volatile\": True})\nX[0] = A[0]\n");
  EXPECT_EQ(Body("X = A.view(\"int8\")\nX[0] = T.int8(1)"),
            "X = T.decl_buffer((64,), \"int8\", data=A.data)\nX[0] = T.int8(1)\n");
  EXPECT_EQ(Refused("X = A.view(\"int32x3\")"), "the elements of float32 are not a whole number of int32x3");
}

TEST(PeerText, OldSpellings) {
  EXPECT_EQ(Body("with T.let(x, n + 1):\n    C[x] = x\nwith T.Assert(n < 4, \"small\"):\n    A[0] = B[0]"),
            "with T.LetStmt(n + 1) as x:\n    C[x] = x\nassert n < 4, \"small\"\nA[0] = B[0]\n");
  EXPECT_EQ(Body("T.preflattened_buffer(A, [4, 4], dtype=\"float32\", data=A.data)\n"
                 "K = T.allocate_const([1.0, 2.0], \"float32\", [2])\nA[0] = T.load(\"float32\", B.data, 3)\n"
                 "T.store(A.data, T.ramp(0, 1, 2), T.broadcast(K[0], 2), T.broadcast(True, 2))\n"
                 "T.evaluate(T.tvm_storage_sync(\"shared\", dtype=\"handle\"))"),
            "T.attr(A.data, \"preflattened_buffer\", T.tvm_tuple(T.type_annotation(\"float32\"), 4, 4))\n"
            "K = T.decl_buffer((2,))\nK[0] = T.float32(1)\nK[1] = T.float32(2)\nA[0] = B[3]\n"
            "A.vstore([T.Ramp(0, 1, 2)], T.Broadcast(K[0], 2), predicate=T.Broadcast(True, 2))\n"
            "T.tvm_storage_sync(\"shared\")\n");
  EXPECT_EQ(
      Body("tx = T.var(\"int32\")\n"
           "T.attr(T.iter_var(tx, None, \"ThreadIndex\", \"threadIdx.x\"), \"thread_extent\", 16)\nA[tx] = B[tx]"),
      "for tx in T.thread_binding(16, thread=\"threadIdx.x\"):\n    A[tx] = B[tx]\n");
  EXPECT_EQ(Refused("K = T.allocate_const([1.0], \"float32\", [2])"), "expected 2 numbers, found 1");
  EXPECT_EQ(Refused("K = T.allocate_const(1.0, \"float32\", [2])"), "expected a list of numbers");
  EXPECT_EQ(Refused("T.store(1, 0, 1)"), "expected the data of a buffer with one dimension");
  EXPECT_EQ(Refused("T.preflattened_buffer(1, [4])"), "expected a buffer");
  EXPECT_EQ(Refused("T.store(A.data, 0, T.float32(1), T.broadcast(False, 2))"), "expected a mask of 1 lanes");
}

// An iterator that has the value of one of the block around: the text gives its domain a wrong end where that value
// decides how far a loop runs.
TEST(PeerText, DomainsThatDependOnTheirBegin) {
  const auto printed = [](const std::string& end) {
    return Body("for i in range(8):\n    with T.block(\"outer\"):\n        v = T.axis.spatial(8, i)\n" +
                std::string("        for j in range(2):\n            with T.block(\"inner\"):\n") +
                "                v_1 = T.axis.spatial((v, " + end + "), v)\n                A[v_1] = B[v_1]");
  };
  EXPECT_NE(printed("v + (1 - v)").find("T.axis.spatial((v, v + 1), v)"), std::string::npos);
  EXPECT_NE(printed("v + 1").find("T.axis.spatial((v, v + 1), v)"), std::string::npos);
  EXPECT_NE(printed("v + 4").find("T.axis.spatial((v, v + 4), v)"), std::string::npos);
}

TEST(PeerText, SmallThings) {
  EXPECT_EQ(Body("A[0] = T.float32(-0.0)\nif (n < 3) ^ (n > 1):\n    C[0] = T.atan2(C[1], C[2])"),
            "A[0] = T.float32(-0.0)\nif (n < 3) != (n > 1):\n    C[0] = T.atan2(C[1], C[2])\n");
  EXPECT_EQ(
      Canonical("@I.ir_module\nclass Module:\n    pass\n"),
      "# from tvm.script import ir as I\n# from tvm.script import tir as T\n\n@I.ir_module\nclass Module:\n    pass\n");
  Canonical("@T.prim_func\ndef f(A: T.Buffer((4,), elem_offset=T.int64(0))):\n    A[0] = T.s_tir.x(\"float32\", 1)\n");
  // An offset that is known when the program runs; TVM prints a name that nothing defines.
  EXPECT_NE(Canonical("@T.prim_func\ndef f(A: T.Buffer((4,), elem_offset=off)):\n    A[0] = T.float32(0)\n")
                .find("A = T.match_buffer(var_A, (4,), offset_factor=1)"),
            std::string::npos);
}

}  // namespace
}  // namespace tilewright
