// What the parser refuses, and exactly what it says.
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parser.h"

namespace tilewright {
namespace {

std::string Error(std::string_view text) {
  absl::StatusOr<Module> module = ParseModule(text, "f.py");
  return module.ok() ? "accepted" : std::string(module.status().message());
}

// The message about a function with buffers A (16 floats), B (4x4 floats), C (16 int32), H (16 halves) and a scalar n,
// without file and source line: "LINE:COL message". The body starts in line 3, indented by four columns.
std::string BodyError(const std::string& body) {
  std::string text =
      "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((4, 4), \"float32\"), C: T.Buffer((16,), "
      "\"int32\"), H: T.Buffer((16,), \"float16\"), n: T.int32):\n";
  size_t begin = 0;
  while (begin < body.size()) {
    const size_t end = std::min(body.find('\n', begin), body.size());
    text += "    " + body.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  script::ParseResult result = script::Parse(text);
  if (result.diagnostics.empty()) return "accepted";
  const script::Diagnostic& first = result.diagnostics[0];
  return std::to_string(first.line) + ":" + std::to_string(first.column) + " " + first.message;
}

TEST(ParserError, ShowsTheLineAndACaret) {
  EXPECT_EQ(Error("@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\")):\n\tA[0] = A[0, 1]\n"),
            "f.py:3:9: error: buffer 'A' has 1 dimension, 2 indices are given\n\tA[0] = A[0, 1]\n\t       ^");
  EXPECT_EQ(Error("# only a comment"),
            "f.py:1:1: error: expected a function: @T.prim_func and def NAME(...)\n# only a comment\n^");
  EXPECT_EQ(Error(""), "f.py:1:1: error: expected a function: @T.prim_func and def NAME(...)\n\n^");
  // Columns count characters, not bytes.
  EXPECT_EQ(BodyError("T.attr(\"\xc3\xa9\xc3\xa9\", \"k\", x)"), "3:23 'x' is not defined");
}

TEST(ParserError, ReportsEveryFunction) {
  script::ParseResult result = script::Parse(
      "@T.prim_func\ndef f(A: T.handle):\n    x\n@T.prim_func\ndef g():\n    pass\n@T.prim_func\ndef h(y):\n    "
      "pass\n");
  ASSERT_EQ(result.diagnostics.size(), 2u);
  EXPECT_EQ(result.diagnostics[0].message, "expected a statement; an expression alone does nothing");
  EXPECT_EQ(result.diagnostics[1].line, 8);
  EXPECT_TRUE(result.module.Find("g"));
}

TEST(ParserError, Tokens) {
  EXPECT_EQ(BodyError("A[0] = \"x"), "3:12 this string is never closed");
  EXPECT_EQ(BodyError("A[0] = \"\\q\""),
            "3:13 unknown escape in a string; known are \\n \\t \\r \\a \\b \\f \\v \\\\ \\' \\\" \\OOO \\xHH \\uHHHH "
            "\\UHHHHHHHH");
  EXPECT_EQ(BodyError("A[0] = \"\\ud800\"").substr(0, 19), "3:13 unknown escape");
  EXPECT_EQ(Error("@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\")):  # \xff\n    A[0] = 1\n").substr(0, 71),
            "f.py:2:42: error: the text is not UTF-8: this byte begins no character\n");
  EXPECT_EQ(BodyError("A[0] = 1$"), "3:13 unexpected character");
  EXPECT_EQ(BodyError("A[0] = 12x"), "3:12 malformed number");
  EXPECT_EQ(BodyError("A[0] = 99999999999999999999"), "3:12 this integer does not fit into 64 bits");
  EXPECT_EQ(BodyError("A[0) = 1"), "3:8 expected ']' to close '[', found ')'");
  EXPECT_EQ(BodyError("A[0]] = 1"), "3:9 this ']' closes nothing");
  EXPECT_EQ(BodyError("A[0 = 1"), "3:6 this '[' is never closed");
  EXPECT_EQ(BodyError("if n > 0:\n    A[0] = 1\n  A[1] = 2"), "5:7 this indentation matches no line above");
}

TEST(ParserError, Syntax) {
  EXPECT_EQ(BodyError("for i range(4):\n    pass"), "3:11 expected 'in', found 'range'");
  EXPECT_EQ(BodyError("for i in range(4)\n    pass"), "3:22 expected ':', found the end of the line");
  EXPECT_EQ(BodyError("for i in range(4):\nA[0] = 1"), "4:5 expected an indented line, found 'A'");
  EXPECT_EQ(BodyError("A[0] = 1 +"), "3:15 expected an expression, found the end of the line");
  EXPECT_EQ(BodyError("A[0] = (1 2)"), "3:15 expected ',' or ')', found '2'");
  EXPECT_EQ(BodyError("A[0] = T.exp(1 2)"), "3:20 expected ',' or ')' after an argument, found '2'");
  EXPECT_EQ(BodyError("A[0:1:2:3] = 1"), "3:12 expected at most two ':' in an index");
  EXPECT_EQ(BodyError("A[] = 1"), "3:6 expected an index");
  EXPECT_EQ(BodyError("A[0] = 1\n    A[1] = 1"), "4:9 unexpected indentation");
  EXPECT_EQ(BodyError("A[0] = T.Cast(dtype=\"int32\", 1)"),
            "3:34 expected a keyword argument (NAME=VALUE) after keyword arguments, found '1'");
  EXPECT_EQ(Error("@T.prim_func\nx = 1\n"),
            "f.py:2:1: error: expected 'def' or 'class' after a decorator, found 'x'\nx = 1\n^");
}

TEST(ParserError, DepthIsBounded) {
  const std::string parentheses = std::string(100000, '(') + "1" + std::string(100000, ')');
  EXPECT_EQ(BodyError("A[0] = " + parentheses), "3:112 nested more than 200 levels deep");
  EXPECT_EQ(BodyError("A[0] = " + std::string(100000, '-') + "1"), "3:211 nested more than 200 levels deep");
  std::string sum = "A[0]";
  for (int i = 0; i < 20000; ++i) sum += " + A[0]";
  EXPECT_EQ(BodyError("A[0] = " + sum), "3:3503 this expression is more than 500 operators deep");
  std::string chain = "n < n";
  for (int i = 0; i < 90; ++i) chain = "n < (" + chain + ") < n";
  EXPECT_EQ(BodyError("assert " + chain), "3:549 this expression is too large");
  // -n is n * -1, in brackets.
  std::string negated = "n";
  for (int i = 0; i < 90; ++i) negated = "~-" + negated;
  EXPECT_EQ(BodyError("C[0] = " + negated), "1:1 an expression of function 'f' nests too deep to be printed");
  std::string lets;
  for (int i = 0; i < 2000; ++i) lets += "x" + std::to_string(i) + " = n + 1\n";
  EXPECT_EQ(BodyError(lets), "1003:5 statements nested more than 1000 deep");
  std::string grid = "i0", extents = "1";
  for (int i = 1; i < 1200; ++i) {
    grid += ", i" + std::to_string(i);
    extents += ", 1";
  }
  EXPECT_EQ(BodyError("for " + grid + " in T.grid(" + extents + "):\n    pass"),
            "3:5 loops nested more than 1000 deep");
  std::string alias = "x0 = T.meta_var(n + n)\n";
  for (int i = 1; i < 60; ++i) {
    const std::string last = "x" + std::to_string(i - 1);
    alias += "x" + std::to_string(i) + " = T.meta_var(" + last + " + " + last + ")\n";
  }
  EXPECT_EQ(BodyError(alias), "13:22 'x9' stands for an expression that is too large to repeat");
}

TEST(ParserError, Names) {
  EXPECT_EQ(BodyError("A[i] = 1"), "3:7 'i' is not defined");
  EXPECT_EQ(BodyError("for i, i in T.grid(2, 2):\n    pass"), "3:12 'i' is already defined here");
  EXPECT_EQ(BodyError("for T in range(2):\n    pass"), "3:9 'T' names the dialect");
  EXPECT_EQ(BodyError("for i in range(4):\n    A[i] = 1\nA[i] = 2"), "5:7 'i' is not defined");
  EXPECT_EQ(BodyError("m = T.int32()\nA[m] = 1"),
            "3:5 'm' is used, but is not a size of a parameter or matched buffer");
  EXPECT_EQ(BodyError("A[0] = A.size"),
            "3:12 a buffer has no '.size'; known are data, shape, strides, elem_offset and dtype");
  EXPECT_EQ(
      BodyError("A[0] = T.expo(A[0])"),
      "3:12 T.expo is not known; did you mean exp or exp2? T.call_intrin(\"type\", \"expo\", ...) calls any intrinsic");
  EXPECT_EQ(BodyError("A[0] = T.frobnicate(A[0])"),
            "3:12 T.frobnicate is not known; T.call_intrin(\"type\", \"frobnicate\", ...) calls any intrinsic");
  EXPECT_EQ(Error("@T.prim_func\ndef f(A: T.handle, A: T.handle):\n    pass\n"),
            "f.py:2:20: error: 'A' is already defined here\ndef f(A: T.handle, A: T.handle):\n                   ^");
}

TEST(ParserError, Types) {
  EXPECT_EQ(BodyError("A[0] = A[1] + A.data"), "3:17 operands have types float32 and handle");
  EXPECT_EQ(BodyError("A[0:4] = A[0:4] + A[0:2]"), "3:21 operands have 4 and 2 lanes");
  EXPECT_EQ(BodyError("C[0] = C[1] / 2"), "3:17 '/' of int32; write // (rounds down) or T.truncdiv(a, b)");
  EXPECT_EQ(BodyError("C[0] = 1e30"), "3:12 1e+30 does not fit into int32");
  EXPECT_EQ(BodyError("C[0] = A.data"), "3:12 expected int32, found handle");
  EXPECT_EQ(BodyError("C[0] = 3000000000"), "3:12 3000000000 does not fit into int32");
  EXPECT_EQ(BodyError("A[A[0]] = 1"), "3:7 expected an integer, found float32");
  EXPECT_EQ(BodyError("A[0] = A[1] // 2"), "3:17 operands of type float32; expected integers");
  EXPECT_EQ(BodyError("C[0] = n and n"), "3:14 operands of type int32; expected conditions (bool)");
  EXPECT_EQ(BodyError("A[0] = T.exp(n)"), "3:12 T.exp of int32; expected a floating-point number");
  EXPECT_EQ(BodyError("A[0] = T.exp(A[0], A[1])"), "3:12 T.exp takes 1 arguments, found 2");
  EXPECT_EQ(BodyError("if n:\n    pass"), "3:8 expected a condition (bool), found int32");
  EXPECT_EQ(BodyError("A[0] = A"), "3:12 expected a number, found a buffer; an element is written A[i]");
  EXPECT_EQ(BodyError("A[0] = T.cast(A[0], \"float33\")"), "3:25 'float33' is not a type");
  EXPECT_EQ(BodyError("x: T.float32 = n"), "accepted");
  EXPECT_EQ(BodyError("x: T.float32 = A[0:2]"), "3:20 'x' has type float32, the value has type float32x2");
  EXPECT_EQ(BodyError("A[0] = T.Select(n, A[0], A[1])"), "3:12 expected a condition (bool), found int32");
  EXPECT_EQ(BodyError("A[0:4] = A[0:8]"),
            "3:14 buffer 'A' holds float32x4, the value is float32x8; convert it with T.cast(value, \"float32x4\")");
  EXPECT_EQ(BodyError("A[0] = 1 // 0"), "3:14 division by zero");
}

TEST(ParserError, BuffersAndIndices) {
  EXPECT_EQ(BodyError("B[0] = 1"), "3:5 buffer 'B' has 2 dimensions, 1 index is given");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((4,), \"float32\", scope=\"a..b\")"), "3:47 'a..b' is not a storage scope");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((4, 4), strides=(1,))"), "3:40 buffer 'X' has 2 dimensions, but 1 strides");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((-4,))"), "3:25 an extent is not negative");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((4.0,))"), "3:25 expected an integer, found float32");
  EXPECT_EQ(BodyError("x: T.float32 = 1.0\nX = T.alloc_buffer((\"x\",))"),
            "4:25 expected a size of type int32 or int64, found float32");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((4,), \"void\")"), "3:30 a buffer holds numbers");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((4,), sizes=3)"), "3:30 unexpected argument 'sizes'");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((4,), shape=(3,))"), "3:30 argument 'shape' is given twice");
  EXPECT_EQ(BodyError("X = T.alloc_buffer()"), "3:9 argument 'shape' is missing");
  EXPECT_EQ(BodyError("X = T.decl_buffer((4,), data=n)"), "3:34 expected a pointer such as A.data");
  EXPECT_EQ(BodyError("X = T.match_buffer(A[0:4], (4,))"), "3:9 T.match_buffer of a region stands in a block");
  EXPECT_EQ(BodyError("A = T.match_buffer(n, (4,))"), "3:24 'n' is not a parameter of type T.handle");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((4,), layout=T.layout(lambda i, j: (i, j), shape=(4, 4)))"),
            "3:46 the map has 2 indices, buffer 'X' has 1 dimensions");
}

TEST(ParserError, LoopsAndBlocks) {
  EXPECT_EQ(BodyError("for i in A:\n    pass"),
            "3:14 expected range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll or T.thread_binding after 'in'");
  EXPECT_EQ(BodyError("for i, j in T.grid(4):\n    pass"), "3:17 T.grid has 1 extents for 2 loop variables");
  EXPECT_EQ(BodyError("for i in T.thread_binding(4):\n    pass"), "3:14 argument 'thread' is missing");
  EXPECT_EQ(BodyError("for i in range(2.0):\n    pass"), "3:20 expected an integer, found float32");
  EXPECT_EQ(BodyError("for i in range(0, 8, 0):\n    pass"), "3:26 the step of a loop is not 0");
  EXPECT_EQ(BodyError("for i in range(0, 8, n):\n    pass"), "3:26 expected an integer from -2147483647 to 2147483647");
  EXPECT_EQ(BodyError("for i in range(T.uint64(4)):\n    pass"), "3:20 a loop counts in int32 or int64, not in uint64");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    for i in range(2):\n        with T.init():\n            A[0] = 0"),
            "5:18 T.init stands directly in its block, not in a loop or another statement of it");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    if n > 1:\n        v = T.axis.spatial(4, n)"),
            "5:17 T.axis.spatial stands directly in its block, not in a loop or another statement of it");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    for i in range(2):\n        T.where(i < 1)"),
            "5:13 T.where stands directly in its block, not in a loop or another statement of it");
  EXPECT_EQ(BodyError("x = y = n"), "3:5 write one assignment for each name");
  EXPECT_EQ(BodyError("T.reads(A[0])"), "3:5 T.reads stands in a block");
  EXPECT_EQ(BodyError("v = T.axis.spatial(4, n)"), "3:9 T.axis.spatial stands in a block");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    v = T.axis.spacial(4, n)"),
            "4:13 T.axis.spacial is not known; expected T.axis.spatial, T.axis.reduce, T.axis.scan, T.axis.opaque or "
            "T.axis.remap");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    v, w = T.axis.remap(\"SS\", [n])"),
            "4:16 T.axis.remap has 2 kinds and 1 loop variables for 2 iterators");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    v = T.axis.remap(\"S\", [n])"),
            "4:32 expected a loop variable; write T.axis.spatial(extent, value) instead");
  constexpr char kNoValueYet[] = " 'v' is an iterator of this block, which has no value yet: write what it is bound to";
  const std::string axis = "with T.block(\"b\"):\n    v = T.axis.opaque(4, n)\n    ";
  EXPECT_EQ(BodyError(axis + "w = T.axis.opaque(4, T.max(v, n))"), std::string("5:30") + kNoValueYet);
  EXPECT_EQ(BodyError(axis + "w = T.axis.opaque(v, n)"), std::string("5:27") + kNoValueYet);
  EXPECT_EQ(BodyError(axis + "T.where(v < 3)"), std::string("5:19") + kNoValueYet);
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    T.reads(A[0])\n    T.reads(A[1])"),
            "5:9 this block has T.reads already");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    T.reads(B[0])"), "4:17 buffer 'B' has 2 dimensions, the region has 1");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    T.reads(n)"), "4:17 expected a region of a buffer: A[i, 0:16]");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    T.reads(A[8:4])"), "4:19 this region is negative");
  EXPECT_EQ(BodyError("with T.block(\"b\"):\n    with T.init():\n        pass\n    with T.init():\n        pass"),
            "6:14 this block has an init already");
  EXPECT_EQ(BodyError("with open(\"x\"):\n    pass"),
            "3:10 expected T.block, T.init, T.attr, T.launch_thread, T.LetStmt, T.allocate or T.decl_buffer after "
            "'with'");
}

TEST(ParserError, ModulesAndParameters) {
  EXPECT_EQ(Error("def f():\n    pass\n"), "f.py:1:1: error: expected @T.prim_func before a function\ndef f():\n^");
  EXPECT_EQ(Error("class M:\n    pass\n"),
            "f.py:1:1: error: expected @I.ir_module before a class of functions\nclass M:\n^");
  EXPECT_EQ(Error("@T.prim_func\ndef f(A):\n    pass\n"),
            "f.py:2:7: error: parameter 'A' has no type; expected T.Buffer(...), T.handle, T.int32, ...\ndef f(A):\n"
            "      ^");
  EXPECT_EQ(Error("@T.prim_func\ndef f():\n    pass\n@T.prim_func\ndef f():\n    pass\n"),
            "f.py:4:1: error: function 'f' is already defined\n@T.prim_func\n^");
  EXPECT_EQ(Error("@T.prim_func\ndef f(*A):\n    pass\n"),
            "f.py:2:7: error: '*' is not supported here\ndef f(*A):\n      ^");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((\"4 4\",))").substr(0, 34), "3:25 this text is not an extent: e");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((\"n + 1.5\",))"),
            "3:25 this text is not an extent: expected an integer, found float32");
  EXPECT_EQ(BodyError("X = T.alloc_buffer((\"pass\",))"), "3:25 this text is not an extent");
}

TEST(ParserError, OtherPython) {
  EXPECT_EQ(Error("import os\nprint(1)\n"),
            "f.py:2:1: error: a program file holds functions (@T.prim_func), modules (@I.ir_module) and NAME = number; "
            "this is other Python, and there is no function\nprint(1)\n^");
  EXPECT_EQ(Error("try:\n    pass\nexcept:\n    pass\n"),
            "f.py:1:1: error: expected an expression, found 'try'\ntry:\n^");
  constexpr std::string_view kFunction = "@T.prim_func\ndef f(A: T.Buffer((N,), \"float32\")):\n    A[0] = 1\n";
  EXPECT_EQ(Error("import os\nN = os.cpu_count()\n" + std::string(kFunction)),
            "f.py:4:20: error: 'N' is not defined: line 2, which gives it a value, is other Python\ndef f(A: "
            "T.Buffer((N,), \"float32\")):\n                   ^");
  EXPECT_EQ(Error("N = 4\nif N > 2:\n    N = 8\n" + std::string(kFunction)).substr(0, 51),
            "f.py:5:20: error: 'N' is not defined: line 3, which");
  EXPECT_EQ(Error("@T.primfunc\ndef g(A):\n    pass\nN = 4\n" + std::string(kFunction)),
            "f.py:1:1: error: @T.primfunc is not known; expected @T.prim_func\n@T.primfunc\n^");
  EXPECT_EQ(Error("@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    yield A\n"),
            "f.py:3:5: error: expected an expression, found 'yield'\n    yield A\n    ^");
  EXPECT_EQ(Error("I.module_attrs({})\n"),
            "f.py:1:1: error: expected I.module_attrs({...}) in a module\nI.module_attrs({})\n^");
}

}  // namespace
}  // namespace tilewright
