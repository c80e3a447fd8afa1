#include "graph/fusion/narrow_program.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "ir/float_format.h"
#include "ir/interp/interp.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

constexpr char kMatmul[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 6), "float32"), D: T.Buffer((6,), "float32"), C: T.Buffer((4, 6), "float32")):
    S = T.alloc_buffer((4, 6))
    for i, j, k in T.grid(4, 6, 8):
        with T.block("sums"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(4, 6):
        with T.block("bias"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[vi, vj] + D[vj]
)";
constexpr char kConvolution[] = R"(
@T.prim_func
def main(X: T.Buffer((9, 4), "float32"), W: T.Buffer((3, 4, 5), "float32"), Y: T.Buffer((9, 5), "float32")):
    P = T.alloc_buffer((11, 4))
    for i, c in T.grid(11, 4):
        with T.block("pad"):
            vi, vc = T.axis.remap("SS", [i, c])
            P[vi, vc] = T.if_then_else(1 <= vi and vi < 10, X[vi - 1, vc], T.float32(0))
    for i, o, r, c in T.grid(9, 5, 3, 4):
        with T.block("conv"):
            vi, vo, vr, vc = T.axis.remap("SSRR", [i, o, r, c])
            with T.init():
                Y[vi, vo] = T.float32(0)
            Y[vi, vo] = Y[vi, vo] + P[vi + vr, vc] * W[vr, vc, vo]
)";
constexpr char kSoftmax[] = R"(
@T.prim_func
def main(X: T.Buffer((4, 8), "float32"), Y: T.Buffer((4, 8), "float32")):
    S = T.alloc_buffer((4,))
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(X[vi, vk])
    for i, k in T.grid(4, 8):
        with T.block("divide"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = T.exp(X[vi, vk]) / S[vi]
)";

void Interpret(const PrimFunc& program, const std::vector<NDArray>& arrays) {
  const auto compiled = interp::Compile(program, {.check_bounds = true});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const std::vector<interp::Argument> arguments(arrays.begin(), arrays.end());
  const absl::Status status = compiled->Run(absl::MakeConstSpan(arguments));
  ASSERT_TRUE(status.ok()) << status;
}

std::string Elementwise(const std::string& value) {
  return R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), Z: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("Y"):
            vi = T.axis.spatial(8, i)
            Y[vi] = )" +
         value + "\n";
}
std::string Reduction(const std::string& init, const std::string& value) {
  return R"(
@T.prim_func
def main(X: T.Buffer((4, 8), "float32"), Z: T.Buffer((8, 1), "float32"), Y: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = )" +
         init + "\n            Y[vi] = " + value + "\n";
}

TEST(FloatRole, IsWhatBlocksCompute) {
  const auto role = [](const std::string& text) { return FloatRoleOf(ParseFunctionOrDie(text)); };
  EXPECT_EQ(role(kMatmul), FloatRole::kMultiplies);
  EXPECT_EQ(role(kConvolution), FloatRole::kMultiplies);
  EXPECT_EQ(role(kSoftmax), FloatRole::kOther);
  EXPECT_EQ(role(Elementwise("T.max(X[vi] * Z[vi] + T.float32(1), T.float32(0))")), FloatRole::kFollows);
  EXPECT_EQ(role(Elementwise("T.tanh(X[vi]) / T.float32(3)")), FloatRole::kFollows);
  EXPECT_EQ(role(Elementwise("X[vi] * X[vi]")), FloatRole::kOther);
  EXPECT_EQ(role(Elementwise("X[vi] / Z[vi]")), FloatRole::kOther);
  EXPECT_EQ(role(Elementwise("T.exp(X[vi])")), FloatRole::kOther);
  EXPECT_EQ(role(Reduction("T.float32(-1)", "T.max(Y[vi], X[vi, vk])")), FloatRole::kFollows);
  EXPECT_EQ(role(Reduction("T.float32(0)", "Y[vi] + X[vi, vk]")), FloatRole::kOther);
}

TEST(FactorsOfSums, AreWhatIsMultipliedAndWhatIsMovedIntoIt) {
  EXPECT_EQ(FactorsOfSums(ParseFunctionOrDie(kMatmul)), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(FactorsOfSums(ParseFunctionOrDie(kConvolution)), (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(FactorsOfSums(ParseFunctionOrDie(kSoftmax)).empty());
}

// An image that lies in 32 bits is converted once; its padded copy and the weights have 16, the sums 32.
TEST(Narrowed, APaddedImageHas16Bits) {
  const PrimFunc narrow = Narrowed(ParseFunctionOrDie(kConvolution),
                                   {Narrowing::kRead, Narrowing::kStored, Narrowing::kStored}, DataType::BFloat16());
  EXPECT_TRUE(StructuralEqual(narrow, ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((9, 4), "float32"), W: T.Buffer((3, 4, 5), "bfloat16"), Y: T.Buffer((9, 5), "bfloat16")):
    P = T.alloc_buffer((11, 4), "bfloat16")
    X_narrow = T.alloc_buffer((9, 4), "bfloat16")
    Y_wide = T.alloc_buffer((9, 5))
    for i, c in T.grid(9, 4):
        with T.block("X_narrow"):
            vi, vc = T.axis.remap("SS", [i, c])
            X_narrow[vi, vc] = T.Cast("bfloat16", X[vi, vc])
    for i, c in T.grid(11, 4):
        with T.block("pad"):
            vi, vc = T.axis.remap("SS", [i, c])
            P[vi, vc] = T.if_then_else(1 <= vi and vi < 10, X_narrow[vi - 1, vc], T.bfloat16(0))
    for i, o, r, c in T.grid(9, 5, 3, 4):
        with T.block("conv"):
            vi, vo, vr, vc = T.axis.remap("SSRR", [i, o, r, c])
            with T.init():
                Y_wide[vi, vo] = T.float32(0)
            Y_wide[vi, vo] = Y_wide[vi, vo] + T.Cast("float32", P[vi + vr, vc]) * T.Cast("float32", W[vr, vc, vo])
    for i, o in T.grid(9, 5):
        with T.block("Y"):
            vi, vo = T.axis.remap("SS", [i, o])
            Y[vi, vo] = T.Cast("bfloat16", Y_wide[vi, vo])
)"))) << Print(Module(narrow));
}

// Arithmetic keeps its 32 bits: on numbers that 16 bits hold, results are those of the program, rounded once.
TEST(Narrowed, RoundsWhatIsStoredAndNothingElse) {
  for (const DataType type : {DataType::Float(16), DataType::BFloat16()}) {
    for (const char* text : {kMatmul, kConvolution, kSoftmax}) {
      const PrimFunc program = ParseFunctionOrDie(text);
      const PrimFunc narrow =
          Narrowed(program, std::vector<Narrowing>(program->params.size(), Narrowing::kStored), type);
      std::vector<NDArray> wide_arrays, narrow_arrays;
      for (size_t i = 0; i < program->params.size(); ++i) {
        std::vector<int64_t> shape;
        for (const Expr& extent : program->params[i].buffer->shape) shape.push_back(*AsInt(extent));
        wide_arrays.emplace_back(DataType::Float(32), shape);
        narrow_arrays.emplace_back(type, shape);
        FillUniform(narrow_arrays.back(), i + 1);
        for (int64_t e = 0; e < wide_arrays.back().size(); ++e) wide_arrays.back().Set(e, narrow_arrays.back().Get(e));
      }
      Interpret(program, wide_arrays);
      Interpret(narrow, narrow_arrays);
      for (int64_t e = 0; e < wide_arrays.back().size(); ++e) {
        EXPECT_EQ(narrow_arrays.back().Get(e), RoundTo(type, wide_arrays.back().Get(e))) << text;
      }
    }
  }
}

// Between kernels that were joined; what a product reads stays rounded.
TEST(WithoutRoundings, TemporariesThatNoProductReadsHave32Bits) {
  constexpr char kJoined[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "bfloat16"), B: T.Buffer((8, 6), "bfloat16"), C: T.Buffer((4, 6), "bfloat16")):
    E = T.alloc_buffer((4, 8), "$0")
    F = T.alloc_buffer((4, 8), "bfloat16")
    S = T.alloc_buffer((4, 6))
    for i, k in T.grid(4, 8):
        with T.block("E"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = $1
    for i, k in T.grid(4, 8):
        with T.block("F"):
            vi, vk = T.axis.remap("SS", [i, k])
            F[vi, vk] = T.Cast("bfloat16", T.exp($2))
    for i, j, k in T.grid(4, 6, 8):
        with T.block("sums"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + T.Cast("float32", F[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Cast("bfloat16", S[vi, vj])
)";
  const std::string value = R"(T.Cast("float32", A[vi, vk]) + T.float32(1))";
  const PrimFunc joined = ParseFunctionOrDie(
      absl::Substitute(kJoined, "bfloat16", "T.Cast(\"bfloat16\", " + value + ")", "T.Cast(\"float32\", E[vi, vk])"));
  const PrimFunc wide = ParseFunctionOrDie(absl::Substitute(kJoined, "float32", value, "E[vi, vk]"));
  const PrimFunc actual = WithoutRoundings(joined, DataType::BFloat16());
  EXPECT_TRUE(StructuralEqual(actual, wide)) << Print(Module(actual));
  EXPECT_TRUE(WithoutRoundings(wide, DataType::BFloat16()).same_as(wide));
}

}  // namespace
}  // namespace tilewright::graph
