// Copies into another order and what is computed with them: vectors that go down rows, by the rules on several targets.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/substitute.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "intrin/registry.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// Unrolled loops of the scheduled program: columns of tiles.
std::vector<int64_t> Unrolled(const Function& function) {
  std::vector<int64_t> extents;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop != nullptr && loop->kind == ForKind::kUnrolled) extents.push_back(AsInt(loop->extent).value_or(-1));
    return true;
  });
  return extents;
}

Function Scheduled(const Function& program, const char* target) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(program), *NamedTarget(target), &intrins);
  EXPECT_TRUE(result.left_alone.empty());
  return result.schedule.module().Main();
}

void ExpectRight(const Function& program) {
  for (const char* target : {"x86-znver4", "x86-haswell", "arm-neoverse-n1"}) {
    const Function scheduled = Scheduled(program, target);
    EXPECT_EQ(
        testing::CompareWithInterpreter(Module(scheduled), {.original = program, .integers = 3, .variables = {5, 21}}),
        "")
        << target << Print(scheduled);
  }
}

Function Transposed(int rows, int columns, const std::string& type, const std::string& value = "A[vi, vj]") {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($0, $1), "$2"), C: T.Buffer(($1, $0), "$2"), B: T.Buffer(($1, $0), "$2")):
    for j, i in T.grid($1, $0):
        with T.block("B"):
            vj, vi = T.axis.remap("SS", [j, i])
            B[vj, vi] = $3
)",
                                             rows, columns, type, value));
}

// Extents that neither vectors nor the parts in which they are transposed divide.
TEST(Transposed, OddExtents) {
  for (const auto& [rows, columns] : {std::pair(64, 64), {67, 45}, {13, 70}, {200, 19}, {33, 6}, {5, 129}}) {
    for (const char* type : {"float32", "uint8", "bfloat16", "float64", "int64", "float16"}) {
      SCOPED_TRACE(absl::Substitute("$0 x $1 $2", rows, columns, type));
      ExpectRight(Transposed(rows, columns, type));
    }
  }
}

TEST(Transposed, AlsoWhatIsComputed) {
  ExpectRight(Transposed(67, 45, "float32", "A[vi, vj] * T.float32(2) + C[vj, vi] + A[vi, vj] * C[vj, vi]"));
  ExpectRight(Transposed(67, 45, "uint8", "T.max(A[vi, vj], C[vj, vi])"));
}

TEST(Transposed, OtherPermutations) {
  ExpectRight(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((3, 21, 9, 11), "float32"), B: T.Buffer((11, 3, 9, 21), "float32")):
    for l, i, k, j in T.grid(11, 3, 9, 21):
        with T.block("B"):
            vl, vi, vk, vj = T.axis.remap("SSSS", [l, i, k, j])
            B[vl, vi, vk, vj] = A[vi, vj, vk, vl]
)"));
}

TEST(Transposed, SymbolicExtents) {
  ExpectRight(ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m, 37), "float32")
    B = T.match_buffer(b, (n, 37, m), "float32")
    for i, k, j in T.grid(n, 37, m):
        with T.block("B"):
            vi, vk, vj = T.axis.remap("SSS", [i, k, j])
            B[vi, vk, vj] = A[vi, vj, vk]
)"));
}

// A line of columns, of which the rest is tiles of whole parts too; fewer where there are fewer.
TEST(Transposed, TilesAreLines) {
  EXPECT_EQ(Unrolled(Scheduled(Transposed(1000, 300, "float32"), "x86-znver4")), std::vector<int64_t>({16}));
  EXPECT_EQ(Unrolled(Scheduled(Transposed(1000, 300, "float32"), "x86-haswell")), std::vector<int64_t>({16}));
  EXPECT_EQ(Unrolled(Scheduled(Transposed(1000, 300, "uint8"), "x86-znver4")), std::vector<int64_t>({64}));
  EXPECT_EQ(Unrolled(Scheduled(Transposed(1000, 9, "float32"), "x86-znver4")), std::vector<int64_t>({8}));
  // Neighbours a few elements apart are picked from vectors.
  EXPECT_EQ(Unrolled(Scheduled(Transposed(1000, 3, "float32"), "x86-znver4")), std::vector<int64_t>());
}

}  // namespace
}  // namespace tilewright
