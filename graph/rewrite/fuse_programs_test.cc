#include "graph/rewrite/fuse_programs.h"

#include <gtest/gtest.h>

#include "graph/ir/basic_ops.h"
#include "graph/ir/parser.h"
#include "graph/ir/printer.h"
#include "graph/ir/well_formed.h"
#include "graph/rewrite/basic_lowering.h"
#include "graph/rewrite/interpreter.h"
#include "graph/rewrite/legalize.h"
#include "ir/well_formed.h"

namespace tilewright::graph {
namespace {

class FuseProgramsTest : public testing::Test {
 protected:
  FuseProgramsTest() {
    AddBasicOps(&ops_);
    AddBasicLowerings(&lowerings_);
  }

  // Fuses the module's primitive functions, checks that `left` graph functions are left, and compares results of
  // "main".
  void FuseAndCompare(const std::string& text, int left, const std::vector<std::vector<int64_t>>& shapes) {
    const absl::StatusOr<GraphModule> module = ParseGraphModule(text, "graph.py", ops_);
    ASSERT_TRUE(module.ok()) << module.status().message();
    const absl::StatusOr<GraphModule> legal = LegalizeOps(*module, ops_, lowerings_);
    ASSERT_TRUE(legal.ok()) << legal.status().message();
    const absl::StatusOr<GraphModule> fused = FusePrograms(*legal, ops_);
    ASSERT_TRUE(fused.ok()) << fused.status().message();
    int functions = 0;
    for (const ModuleEntry& entry : fused->entries()) {
      functions += static_cast<bool>(entry.function);
      if (!entry.program) continue;
      for (const WellFormedViolation& violation : tilewright::FindViolations(entry.program)) {
        ADD_FAILURE() << entry.name() << ": " << violation.reason << "\n" << Print(*fused).text;
      }
    }
    for (const std::string& violation : FindViolations(*fused)) ADD_FAILURE() << violation;
    EXPECT_EQ(functions, left) << Print(*fused).text;
    std::vector<RuntimeValue> args;
    for (const std::vector<int64_t>& shape : shapes) {
      const NDArray array(DataType::Float(32), shape);
      FillUniform(array, args.size());
      args.emplace_back(array);
    }
    const absl::StatusOr<RuntimeValue> expected = Interpreter(&*legal).Run("main", args);
    const absl::StatusOr<RuntimeValue> actual = Interpreter(&*fused).Run("main", args);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ASSERT_TRUE(actual.ok()) << actual.status().message() << Print(*fused).text;
    const std::vector<NDArray> a = TensorsOf(*expected), b = TensorsOf(*actual);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(BitEqual(a[i], b[i])) << i << Print(*fused).text;
  }

  OpTable ops_;
  LoweringTable lowerings_;
};

constexpr char kHeader[] =
    "@R.function(private=True)\ndef f(x: R.Tensor((\"n\", 4), \"float32\"), y: R.Tensor((\"n\", 4), "
    "\"float32\")):\n    R.func_attr({\"Primitive\": True})\n";
constexpr char kMain[] =
    "@R.function\ndef main(a: R.Tensor((\"m\", 4), \"float32\"), b: R.Tensor((\"m\", 4), \"float32\")):\n";

TEST_F(FuseProgramsTest, ChainsWithSymbolsAndConstants) {
  FuseAndCompare(std::string(kHeader) +
                     "    p = R.multiply(x, R.const([1.0, 2.0, 3.0, 4.0], \"float32\"))\n"
                     "    q = R.mean(p, axis=[1], keepdims=True)\n"
                     "    r = R.add(R.add(q, y), p)\n"
                     "    return r\n" +
                     kMain + "    u = R.exp(a)\n    r = cls.f(u, b)\n    s = cls.f(r, r)\n    return (r, s)\n",
                 1, {{5, 4}, {5, 4}});
}

TEST_F(FuseProgramsTest, SymbolsThatAreNoExtentArePassed) {
  // The extent 4 * n of the reshaped value is not an extent of a parameter.
  FuseAndCompare(std::string(kHeader) +
                     "    p = R.reshape(x, R.shape([n * 4]))\n"
                     "    q = R.exp(p)\n"
                     "    s = R.shape_to_tensor(R.shape([n * 2, n]))\n"
                     "    return (q, s)\n" +
                     kMain + "    r = cls.f(a, b)\n    t = r[0]\n    s = r[1]\n    return (t, s)\n",
                 1, {{3, 4}, {3, 4}});
}

TEST_F(FuseProgramsTest, PartsOfTuples) {
  FuseAndCompare(std::string(kHeader) +
                     "    p = R.split(x, indices_or_sections=[1], axis=1)\n"
                     "    u = p[0]\n    v = p[1]\n"
                     "    q = R.concat((v, u), axis=1)\n"
                     "    r = R.subtract(q, y)\n"
                     "    return r\n" +
                     kMain + "    r = cls.f(a, b)\n    return r\n",
                 1, {{2, 4}, {2, 4}});
}

TEST_F(FuseProgramsTest, AFieldAsTheResult) {
  FuseAndCompare(std::string(kHeader) +
                     "    p = R.split(x, indices_or_sections=[1], axis=1)\n    u = p[0]\n    return u\n" + kMain +
                     "    r = cls.f(a, b)\n    return r\n",
                 1, {{2, 4}, {2, 4}});
}

TEST_F(FuseProgramsTest, WhatIsNoChainOfProgramsStays) {
  // A parameter as the result.
  FuseAndCompare(std::string(kHeader) + "    p = R.exp(x)\n    return (p, y)\n" + kMain +
                     "    r = cls.f(a, b)\n    s = r[1]\n    return s\n",
                 2, {{2, 4}, {2, 4}});
  // Nothing says that the function is one kernel.
  FuseAndCompare(
      "@R.function(private=True)\ndef f(x: R.Tensor((\"n\", 4), \"float32\")):\n    p = R.exp(x)\n    return p\n" +
          std::string(kMain) + "    r = cls.f(a)\n    return r\n",
      2, {{2, 4}, {2, 4}});
}

}  // namespace
}  // namespace tilewright::graph
