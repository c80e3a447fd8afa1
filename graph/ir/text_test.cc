#include <gtest/gtest.h>

#include <cctype>
#include <random>

#include "absl/strings/match.h"
#include "graph/ir/basic_ops.h"
#include "graph/ir/parser.h"
#include "graph/ir/printer.h"
#include "graph/ir/structural.h"
#include "graph/ir/well_formed.h"
#include "graph/testing/random_graph.h"

namespace tilewright::graph {
namespace {

class TextTest : public testing::Test {
 protected:
  TextTest() { AddBasicOps(&ops_); }

  GraphModule Parse(const std::string& text, const std::vector<Constant>& constants = {}) {
    absl::StatusOr<GraphModule> module = ParseGraphModule(text, "graph.py", ops_, constants);
    EXPECT_TRUE(module.ok()) << module.status().message() << "\n" << text;
    return module.ok() ? *module : GraphModule();
  }
  std::string Error(const std::string& text) {
    const absl::StatusOr<GraphModule> module = ParseGraphModule(text, "graph.py", ops_);
    return module.ok() ? "" : std::string(module.status().message());
  }
  // Names, numbers, and all other characters one by one.
  static std::vector<std::string> Words(const std::string& text) {
    std::vector<std::string> words;
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (char c : text) {
      if (!words.empty() && is_word(c) && is_word(words.back().back())) {
        words.back() += c;
      } else {
        words.emplace_back(1, c);
      }
    }
    return words;
  }
  // The message without its place, for one function with this body after the parameter x: R.Tensor(("n", 4),
  // "float32").
  std::string ErrorInBody(const std::string& body) {
    const std::string error =
        Error("@R.function\ndef main(x: R.Tensor((\"n\", 4), \"float32\"), c: R.Tensor((), \"bool\")):\n" + body);
    const size_t begin = error.find("error: ");
    return begin == std::string::npos ? error : error.substr(begin + 7, error.find('\n') - begin - 7);
  }

  OpTable ops_;
};

constexpr char kModule[] = R"(# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"producer": "a test", "sizes": [1, 2], "version": 3})

    @T.prim_func
    def relu(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        # with T.block("root"):
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0))

    @R.function(private=True)
    def half(x: R.Tensor(("k",), dtype="float32")) -> R.Tensor(("k",), dtype="float32"):
        R.func_attr({"Primitive": 1})
        k = T.int64()
        with R.dataflow():
            gv: R.Tensor((k,), dtype="float32") = R.multiply(x, R.const(0.5, "float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4, 4), dtype="float32"), y: R.Tensor(("n", "n * 2"), dtype="float32"), z: R.Tensor(("m",), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor(("n",), dtype="float32")):
        n = T.int64()
        m = T.int64()
        cls = Module
        assert n == m
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype="float32") = R.call_tir(cls.relu, (x,), out_sinfo=R.Tensor((4, 4), dtype="float32"))
            lv1: R.Tensor((n,), dtype="float32") = R.sum(y, axis=[1], keepdims=False)
            lv2: R.Tensor((n,), dtype="float32") = R.add(lv1, z)
            lv3: R.Tensor((n,), dtype="float32") = cls.half(lv2)
            lv4: R.Tuple(R.Tensor((4, 1), dtype="float32"), R.Tensor((4, 3), dtype="float32")) = R.split(lv, axis=1, indices_or_sections=[1])
            lv5: R.Tensor((4, 3), dtype="float32") = lv4[1]
            lv6: R.Tensor((4, 4), dtype="float32") = R.concat((lv5, R.const([[1.0], [-2.5], [0.1], [float("inf")]], "float32")), axis=1)
            R.output(lv6, lv3)
        if c:
            lv7: R.Tensor((4, 4), dtype="float32") = R.exp(lv6)
            gv: R.Tensor((4, 4), dtype="float32") = lv7
        else:
            gv: R.Tensor((4, 4), dtype="float32") = lv6
        lv8: R.Tensor((1, 16), dtype="float32") = R.reshape(gv, R.shape([1, 16]))
        lv9: R.Tensor((4, 4), dtype="float32") = R.reshape(lv8, R.const([4, -1], "int64"))
        return (lv9, lv3)
)";

TEST_F(TextTest, WhatIsPrintedReadsBack) {
  const GraphModule module = Parse(kModule);
  for (const std::string& violation : FindViolations(module)) ADD_FAILURE() << violation;
  EXPECT_EQ(Print(module).text, kModule);
}

// What the peer prints: no types on results, redundant names, constants beside the text.
TEST_F(TextTest, PeersText) {
  const NDArray weights(DataType::Float(32), {4, 100});
  const GraphModule module = Parse(R"(
from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("batch", 4), "float32")) -> R.Tensor(("batch", 100), dtype="float32"):
        batch = T.int64()
        with R.dataflow():
            lv = R.nn.relu(R.matmul(x, metadata["relax.expr.Constant"][0], out_dtype="void"))
            lv1: R.Tensor((batch, 100)  , dtype="float32") = lv
            gv = lv1
            R.output(gv)
        return gv
)",
                                   {Constant(weights)});
  const GraphText text = Print(module);
  ASSERT_EQ(text.constants.size(), 1u);
  EXPECT_EQ(text.text, R"(# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("batch", 4), dtype="float32")) -> R.Tensor(("batch", 100), dtype="float32"):
        batch = T.int64()
        with R.dataflow():
            lv: R.Tensor((batch, 100), dtype="float32") = R.matmul(x, metadata["relax.expr.Constant"][0], out_dtype="void")
            lv_1: R.Tensor((batch, 100), dtype="float32") = R.nn.relu(lv)
            R.output(lv_1)
        return lv_1
)");
}

TEST_F(TextTest, RandomGraphsReadBack) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const GraphModule module = RandomGraph(seed, ops_);
    for (const std::string& violation : FindViolations(module)) ADD_FAILURE() << violation;
    const GraphText text = Print(module);
    const GraphModule back = Parse(text.text, text.constants);
    std::string why;
    ASSERT_TRUE(StructuralEqual(module, back, &why)) << why << "\n" << text.text << Print(back).text;
    ASSERT_EQ(Print(back).text, text.text);
    ASSERT_EQ(StructuralHash(back.Main()), StructuralHash(module.Main()));
  }
}

// Damaged text gives an error with its place, or a module that is well formed.
TEST_F(TextTest, DamagedTextIsNoCrash) {
  std::mt19937_64 random(1);
  int errors = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    const GraphText text = Print(RandomGraph(seed % 50, ops_, {.bindings = 6}));
    std::vector<std::string> words = Words(text.text);
    const int edits = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < edits; ++i) {
      const size_t at = random() % words.size(), from = random() % words.size();
      static const char* const kOthers[] = {
          "-1", "9223372036854775807", "None", "[", "\"n * 3\"", "float", "x", "0",
          "R",  "T.int64()",           "(",    "]", "float64",   "cls",   ":", "1e400"};
      switch (random() % 4) {
        case 0:
          words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 1:
          words[at] = words[from];
          break;
        case 2:
          words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), words[from]);
          break;
        default:
          words[at] = kOthers[random() % std::size(kOthers)];
      }
    }
    std::string damaged;
    for (const std::string& word : words) damaged += word;
    const absl::StatusOr<GraphModule> module = ParseGraphModule(damaged, "graph.py", ops_, text.constants);
    if (module.ok()) {
      for (const std::string& violation : FindViolations(*module)) ADD_FAILURE() << violation << "\n" << damaged;
      Print(*module);
    } else {
      ++errors;
      EXPECT_TRUE(absl::StartsWith(module.status().message(), "graph.py:")) << module.status().message();
    }
  }
  EXPECT_GT(errors, 500);
}

TEST_F(TextTest, ErrorsSayWhere) {
  EXPECT_EQ(Error("@R.function\ndef main(x: R.Tensor((4,), \"float32\")):\n    y = R.foo(x)\n    return y\n"),
            "graph.py:3:9: error: R.foo is not a known operator\n    y = R.foo(x)\n        ^");
  EXPECT_EQ(ErrorInBody("    y = R.add(x, R.const([1.0, 2.0], \"float32\"))\n    return y\n"),
            "add: cannot broadcast extents 4 and 2");
  EXPECT_EQ(ErrorInBody("    return y\n"), "'y' is not defined");
  EXPECT_EQ(ErrorInBody("    y = R.exp(x)\n"), "the function does not return a value");
  EXPECT_EQ(ErrorInBody("    y: R.Tensor((3, 4), \"float32\") = R.const([[1.0]], \"float32\")\n    return y\n"),
            "the type is written as R.Tensor((3, 4), dtype=\"float32\"), but R.Tensor((1, 1), dtype=\"float32\") is "
            "inferred");
  EXPECT_EQ(ErrorInBody("    if c:\n        y = R.exp(x)\n    return y\n"), "a branch of a graph needs an else");
  EXPECT_EQ(ErrorInBody("    if c:\n        y = R.exp(x)\n    else:\n        z = x\n    return y\n"),
            "both branches must end with a value for one variable; the other is y");
  EXPECT_EQ(ErrorInBody("    with R.dataflow():\n        y = R.exp(x)\n        R.output(y)\n    y\n    return y\n"),
            "a value without a name has no effect here");
  EXPECT_EQ(ErrorInBody("    y = cls.gone(x)\n    return y\n"), "there is no function 'gone'");
  EXPECT_EQ(ErrorInBody("    y = cls.main(x, c)\n    return y\n"), "function 'main' calls itself");
  EXPECT_EQ(ErrorInBody("    y = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((4,), \"float32\"))\n    return y\n"),
            "the module does not have a program f");
  EXPECT_EQ(ErrorInBody("    y = metadata[\"relax.expr.Constant\"][0]\n    return y\n"),
            "constant 0 stands beside the text, but was not given");
  EXPECT_EQ(ErrorInBody("    y = R.const([[1], [2, 3]], \"int8\")\n    return y\n"), "lists of different lengths");
  EXPECT_EQ(ErrorInBody("    y = R.const(300, \"int8\")\n    return y\n"), "the number does not fit into int8");
  EXPECT_EQ(ErrorInBody("    y = R.reshape(x, R.shape([k, 4]))\n    return y\n"), "'k' is not defined");
  EXPECT_EQ(ErrorInBody("    y = R.match_cast(x, R.Tensor((-1, 4), \"float32\"))\n    return y\n"),
            "an extent of a tensor is negative");
  EXPECT_EQ(ErrorInBody("    y = R.broadcast_to(x, R.shape([-2, 1, 4]))\n    return y\n"),
            "broadcast_to: extent -2 is negative");
  EXPECT_EQ(ErrorInBody("    y = x[0]\n    return y\n"), "a field of a value that is not a tuple");
}

}  // namespace
}  // namespace tilewright::graph
