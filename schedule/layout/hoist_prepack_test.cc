#include "schedule/layout/hoist_prepack.h"

#include <gtest/gtest.h>

#include "ir/annotations.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/blocks/query.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr char kBefore[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr({"tilewright.constant_params": [1]})
    B_packed = T.alloc_buffer((2, 8, 8), "float32")
    for j, k in T.grid(16, 8):
        with T.block("pack"):
            vj, vk = T.axis.remap("SS", [j, k])
            B_packed[vj // 8, vk, vj % 8] = B[vk, vj]
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B_packed[vj // 8, vk, vj % 8]
)";

constexpr char kAfter[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B_packed: T.Buffer((2, 8, 8), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B_packed[vj // 8, vk, vj % 8]

@T.prim_func
def main_prepack(B: T.Buffer((8, 16), "float32"), B_packed: T.Buffer((2, 8, 8), "float32")):
    T.func_attr({"tilewright.prepack_of": "main"})
    for j, k in T.grid(16, 8):
        with T.block("pack"):
            vj, vk = T.axis.remap("SS", [j, k])
            B_packed[vj // 8, vk, vj % 8] = B[vk, vj]
)";

Function Before(std::string_view from = "", std::string_view to = "") {
  std::string text(kBefore);
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return ParseOrDie(text).functions()[0];
}

TEST(HoistPrepack, MovesThePackingIntoItsOwnFunction) {
  const Function before = Before();
  Outcome<HoistPrepackResult> result = HoistPrepack(before, *GetBlock(before, "pack"));
  ASSERT_TRUE(result.ok()) << result.refusal().reason;
  Module module(result->function);
  module.Set(result->prepack);
  Mismatch mismatch;
  EXPECT_TRUE(StructuralEqual(module, ParseOrDie(kAfter), &mismatch)) << mismatch.path << ": " << mismatch.reason;
}

// A root block that is written out declares what is read of the packed constant, not of the one that is gone.
TEST(HoistPrepack, KeepsTheRootsDeclarationsTrue) {
  std::string text(kBefore);
  const size_t body = text.find("    B_packed = ");
  std::string indented =
      "    with T.block(\"root\"):\n        T.reads(A[0:4, 0:8], B[0:8, 0:16])\n        T.writes(C[0:4, 0:16])\n";
  for (size_t at = body, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    indented += "    " + text.substr(at, end - at + 1);
  }
  const Function before = ParseOrDie(text.substr(0, body) + indented).functions()[0];
  const Outcome<HoistPrepackResult> result = HoistPrepack(before, *GetBlock(before, "pack"));
  ASSERT_TRUE(result.ok()) << result.refusal().reason;
  const VerifyResult verified = VerifyProgram(result->function);
  EXPECT_EQ(verified.diagnostics.size(), 0u) << Render(verified, result->function);
}

TEST(HoistPrepack, BothTogetherComputeTheSame) {
  const Function before = Before();
  const HoistPrepackResult after = *HoistPrepack(before, *GetBlock(before, "pack"));
  NDArray a(DataType::Float(32), {4, 8}), b(DataType::Float(32), {8, 16}), packed(DataType::Float(32), {2, 8, 8});
  NDArray expected(DataType::Float(32), {4, 16}), actual(DataType::Float(32), {4, 16});
  FillIntegers(a, 1);
  FillIntegers(b, 2);
  ASSERT_TRUE(interp::Compile(before)->Run({a, b, expected}).ok());
  ASSERT_TRUE(interp::Compile(after.prepack)->Run({b, packed}).ok());
  ASSERT_TRUE(interp::Compile(after.function)->Run({a, packed, actual}).ok());
  EXPECT_TRUE(BitEqual(expected, actual));
}

TEST(HoistPrepack, KeepsAParameterThatIsUsedElsewhere) {
  const Function before = Before("A[vi, vk] * B_packed", "B[vk, vj] * A[vi, vk] * B_packed");
  const HoistPrepackResult after = *HoistPrepack(before, *GetBlock(before, "pack"));
  ASSERT_EQ(after.function->params.size(), 4u);
  EXPECT_EQ(after.function->params[1].buffer->name, "B");
  EXPECT_EQ(after.function->params[3].buffer->name, "B_packed");
  EXPECT_TRUE(after.function->attrs.contains(kConstantParams));
}

// Two blocks that read the same constant: it is a parameter of the function ahead once, and no longer one of main.
TEST(HoistPrepack, AddsToTheFunctionThatIsThere) {
  const Module before = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr({"tilewright.constant_params": [1]})
    B_packed = T.alloc_buffer((2, 8, 8), "float32")
    S = T.alloc_buffer((16,), "float32")
    for j, k in T.grid(16, 8):
        with T.block("S"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                S[vj] = T.float32(0)
            S[vj] = S[vj] + B[vk, vj]
    for j, k in T.grid(16, 8):
        with T.block("pack"):
            vj, vk = T.axis.remap("SS", [j, k])
            B_packed[vj // 8, vk, vj % 8] = B[vk, vj]
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = S[vj]
            C[vi, vj] += A[vi, vk] * B_packed[vj // 8, vk, vj % 8]
)");
  const Function main = before.Main();
  const HoistPrepackResult first = *HoistPrepack(main, *GetBlock(main, "S"));
  Outcome<HoistPrepackResult> second = HoistPrepack(first.function, *GetBlock(first.function, "pack"), first.prepack);
  ASSERT_TRUE(second.ok()) << second.refusal().reason;
  const auto names = [](const Function& function) {
    std::vector<std::string> names;
    for (const Param& param : function->params) names.push_back(param.buffer->name);
    return names;
  };
  EXPECT_EQ(names(second->function), (std::vector<std::string>{"A", "B_packed", "C", "S"}));
  EXPECT_EQ(names(second->prepack), (std::vector<std::string>{"B", "S", "B_packed"}));

  NDArray a(DataType::Float(32), {4, 8}), b(DataType::Float(32), {8, 16}), packed(DataType::Float(32), {2, 8, 8});
  NDArray sums(DataType::Float(32), {16}), expected(DataType::Float(32), {4, 16}), actual(DataType::Float(32), {4, 16});
  FillIntegers(a, 1);
  FillIntegers(b, 2);
  ASSERT_TRUE(interp::Compile(main)->Run({a, b, expected}).ok());
  ASSERT_TRUE(interp::Compile(second->prepack)->Run({b, sums, packed}).ok());
  ASSERT_TRUE(interp::Compile(second->function)->Run({a, packed, actual, sums}).ok());
  EXPECT_TRUE(BitEqual(expected, actual));
}

std::string Reason(const Function& function, const char* block) {
  Outcome<HoistPrepackResult> result = HoistPrepack(function, *GetBlock(function, block));
  return result.ok() ? "accepted" : result.refusal().reason;
}

TEST(HoistPrepack, Refuses) {
  EXPECT_EQ(Reason(Before("[1]", "[0]"), "pack"), "{block0} reads {text0}, which is not a constant parameter");
  EXPECT_EQ(Reason(Before("[1]", "[7]"), "pack"), "{block0} reads {text0}, which is not a constant parameter");
  EXPECT_EQ(Reason(Before("    T.func_attr({\"tilewright.constant_params\": [1]})\n", ""), "pack"),
            "{block0} reads {text0}, which is not a constant parameter");
  EXPECT_EQ(Reason(Before(), "C"), "{block0} writes {text0}, which no block around it allocates");
  EXPECT_EQ(Reason(Before(), "root"), "{block0} is the root block");
  EXPECT_EQ(Reason(Before("(2, 8, 8), \"float32\")", "(2, 8, 8), \"float32\", scope=\"local\")"), "pack"),
            "{text0} is not in global memory");
}

// A parameter that nobody passes would hold what loops alone decide.
TEST(HoistPrepack, RefusesWhatReadsNoConstant) {
  EXPECT_EQ(Reason(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    F = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("pack"):
            vi = T.axis.spatial(8, i)
            F[vi] = T.Cast("float32", vi * 3 % 7)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] * F[vi]
)")
                       .functions()[0],
                   "pack"),
            "{block0} reads no constant parameter");
}

// A recurrence: each step multiplies by the same weights, of which PLACE says whether they depend on the step. Another
// product reads the other half.
Function Recurrence(std::string_view place) {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), W: T.Buffer((2, 8, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    T.func_attr({"tilewright.constant_params": [1]})
    S = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("start"):
            vi = T.axis.spatial(8, i)
            S[vi] = A[vi] + W[1, 0, vi]
    for t in range(4):
        with T.block("step"):
            vt = T.axis.opaque(4, t)
            T.reads(S[0:8], W[0, 0:8, 0:8])
            T.writes(C[vt, 0:8], S[0:8])
            A = T.alloc_buffer((8, 8), "float32")
            for k, j in T.grid(8, 8):
                with T.block("pack"):
                    vk, vj = T.axis.remap("SS", [k, j])
                    A[vk, vj] = W[PLACE, vj, vk]
            for j, k in T.grid(8, 8):
                with T.block("product"):
                    vj, vk = T.axis.remap("SR", [j, k])
                    with T.init():
                        C[vt, vj] = T.float32(0)
                    C[vt, vj] += S[vk] * A[vk, vj]
            for j in range(8):
                with T.block("keep"):
                    vj = T.axis.spatial(8, j)
                    S[vj] = C[vt, vj]
)";
  return ParseOrDie(text.replace(text.find("PLACE"), 5, place)).functions()[0];
}

// The block around it allocates what is packed, whose name is that of a parameter.
TEST(HoistPrepack, PacksOnceForAllSteps) {
  const Function before = Recurrence("0");
  const Outcome<HoistPrepackResult> result = HoistPrepack(before, *GetBlock(before, "pack"));
  ASSERT_TRUE(result.ok()) << result.refusal().reason;
  ASSERT_EQ(result->function->params.size(), 4);
  EXPECT_EQ(result->function->params.back().buffer->name, "A_1");
  const VerifyResult verified = VerifyProgram(result->function);
  EXPECT_EQ(verified.diagnostics.size(), 0u) << Render(verified, result->function);
  const NDArray a(DataType::Float(32), {8}), w(DataType::Float(32), {2, 8, 8}), packed(DataType::Float(32), {8, 8});
  const NDArray expected(DataType::Float(32), {4, 8}), actual(DataType::Float(32), {4, 8});
  FillUniform(a, 1);
  FillUniform(w, 2);
  const auto run = [](const Function& function, std::vector<interp::Argument> arguments) {
    absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(program->Run(std::move(arguments)), absl::OkStatus());
  };
  run(before, {a, w, expected});
  run(result->prepack, {w, packed});
  run(result->function, {a, w, actual, packed});
  EXPECT_TRUE(BitEqual(expected, actual));
}

TEST(HoistPrepack, RefusesWhatChangesFromStepToStep) {
  EXPECT_EQ(Reason(Recurrence("vt % 2"), "pack"), "{block0} depends on {text0} around it");
}

// Extents of the constant are known with it, others are not before the call.
TEST(HoistPrepack, AsksWhichExtentsAreKnown) {
  const auto program = [](std::string_view rows_of_b) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((n,), "float32"), B: T.Buffer((ROWS,), "float32"), C: T.Buffer((n,), "float32"), n: T.int32):
    T.func_attr({"tilewright.constant_params": [1]})
    B_packed = T.alloc_buffer((n,), "float32")
    for i in range(n):
        with T.block("pack"):
            vi = T.axis.spatial(n, i)
            B_packed[vi] = B[vi % 4]
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = A[vi] * B_packed[vi]
)";
    return ParseOrDie(text.replace(text.find("ROWS"), 4, rows_of_b)).functions()[0];
  };
  EXPECT_EQ(Reason(program("n"), "pack"), "accepted");
  EXPECT_EQ(Reason(program("4"), "pack"), "{block0} depends on {text0}, which is not known ahead of time");
}

}  // namespace
}  // namespace tilewright
