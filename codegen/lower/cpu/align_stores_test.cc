#include "codegen/lower/cpu/align_stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "codegen/lower/common/simplify.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// Registers of four elements, as wide as a line.
Target NarrowTarget() {
  Target target;
  target.mutable_cpu_part().vector_bits = 128;
  target.levels = {{.bytes = 32 << 10, .line_bytes = 16}};
  return target;
}

// Three rows of `vectors` times `width` elements, one every `pitch`, the first from `first` on.
std::string Rows(int vectors, int width, int pitch, int first, const std::string& value) {
  return absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((400,), "float32"), B: T.Buffer((400,), "float32"), n: T.int32):
    for i in range(3):
        for k in range($0):
            for j in T.vectorized($1):
                B[i * $2 + k * $1 + j + $3] = $4
)",
                          vectors, width, pitch, first, value);
}

std::string ShiftedRows(const std::string& value) { return Rows(8, 8, 75, 5, value); }

Function Aligned(const Function& program) { return SimplifyFunction(AlignStores(program, NarrowTarget())); }

std::vector<double> ResultOf(const Function& function) {
  const auto program = interp::Compile(function, {.check_bounds = true});
  EXPECT_TRUE(program.ok()) << program.status();
  NDArray a(DataType::Float(32), {400}), b(DataType::Float(32), {400});
  FillIntegers(a, 1);
  FillIntegers(b, 2);
  const std::vector<interp::Argument> arguments = {a, b, int64_t{3}};
  EXPECT_TRUE(program->Run(arguments).ok());
  std::vector<double> result;
  for (int64_t i = 0; i < b.size(); ++i) result.push_back(b.Get(i));
  return result;
}

bool Changes(const std::string& program, const Target& target = NarrowTarget()) {
  const Function function = ParseFunctionOrDie(program);
  return !AlignStores(function, target)->body.same_as(function->body);
}

TEST(AlignStores, StoresTheMiddleOfARowInWholeLines) {
  const std::string after = Print(Aligned(ParseFunctionOrDie(ShiftedRows("A[i * 75 + k * 8 + j + 3] * T.float32(2)"))));
  EXPECT_THAT(after,
              ::testing::HasSubstr("for j in T.vectorized(4):\n            B[i * 75 + j + 5] = A[i * 75 + j + 3]"));
  EXPECT_THAT(after, ::testing::HasSubstr(
                         "for k in range(7):\n            for j in T.vectorized(8):\n                "
                         "B[k * 8 + (i * 75 + 1) // 4 * 4 + j + 8] = A[k * 8 + (i * 75 + 1) // 4 * 4 + j + 6]"));
  EXPECT_THAT(after, ::testing::HasSubstr("for j in T.vectorized(4):\n            B[(i * 75 + 1) // 4 * 4 + j + 64]"));
  EXPECT_THAT(after,
              ::testing::HasSubstr("for j in T.vectorized(4):\n            B[i * 75 + j + 65] = A[i * 75 + j + 63]"));
}

// Whatever the rows' lengths and places are, and whatever besides is known of an element.
TEST(AlignStores, ComputesTheSame) {
  for (const char* value :
       {"A[i * 75 + k * $0 + j]", "A[i * 75 + k * $0 + j + 3] + A[300 - (k * $0 + j) * 2] * A[i + 7]",
        "T.if_then_else(k * $0 + j < 37, A[k * $0 + j], T.float32(-1)) + T.Cast(\"float32\", (k * $0 + j) % 7)"}) {
    for (const int width : {4, 8, 12, 16}) {
      for (const int vectors : {5, 6, 12}) {
        if (width * vectors < 64 || width * vectors > 120) continue;
        for (int first = 1; first < 8; ++first) {
          const Function program = ParseFunctionOrDie(Rows(vectors, width, 123, first, absl::Substitute(value, width)));
          SCOPED_TRACE(Print(program));
          const Function after = Aligned(program);
          EXPECT_FALSE(after->body.same_as(program->body));
          EXPECT_EQ(ResultOf(after), ResultOf(program)) << Print(after);
        }
      }
    }
  }
}

TEST(AlignStores, LeavesWhatIsAligned) {
  EXPECT_FALSE(Changes(Rows(8, 8, 72, 8, "A[i * 75 + k * 8 + j + 3]")));
  EXPECT_TRUE(Changes(Rows(8, 8, 75, 8, "A[i * 75 + k * 8 + j + 3]")));
}

TEST(AlignStores, LeavesShortRows) {
  EXPECT_FALSE(Changes(Rows(3, 16, 75, 5, "A[i * 75 + k * 16 + j]")));
  EXPECT_TRUE(Changes(Rows(4, 16, 75, 5, "A[i * 75 + k * 16 + j]")));
}

TEST(AlignStores, LeavesWhatCannotBeRepeated) {
  EXPECT_FALSE(Changes(ShiftedRows("A[i * 75 + k * 8 + j] + B[i * 75 + k * 8 + j + 5]")));
  EXPECT_FALSE(Changes(ShiftedRows("T.call_extern(\"float32\", \"next\", k * 8 + j)")));
}

TEST(AlignStores, LeavesLoopsThatAreNotOneRun) {
  EXPECT_FALSE(Changes(ShiftedRows("A[i * 75 + k * 9 + j]")));
  EXPECT_FALSE(Changes(ShiftedRows("A[i * 75 + j]")));
  EXPECT_FALSE(Changes(ShiftedRows("T.if_then_else(j < n, A[k * 8 + j], T.float32(0))")));
  EXPECT_TRUE(Changes(ShiftedRows("T.if_then_else(k * 8 + j < n, A[k * 8 + j], T.float32(0))")));
}

TEST(AlignStores, NeedsRegistersAsWideAsALine) {
  const std::string program = ShiftedRows("A[i * 75 + k * 8 + j]");
  Target target = NarrowTarget();
  target.levels[0].line_bytes = 64;
  EXPECT_FALSE(Changes(program, target));
  EXPECT_TRUE(Changes(program));
}

}  // namespace
}  // namespace tilewright
