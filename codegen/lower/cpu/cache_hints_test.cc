#include "codegen/lower/cpu/cache_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;

const Target kTarget = *NamedTarget("x86-znver4");

// Rows of 32 in two passes; `hints` are annotations of the loop over rows.
Function Rows(const std::string& hints) {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((32,), "float32"), O: T.Buffer((256,), "float32")):
    for i in T.parallel(8, annotations={)" +
                            hints + R"(}):
        S = T.decl_buffer((16,))
        S[0:16] = T.Broadcast(T.float32(0), 16)
        for k in range(2):
            S[0:16] = S[0:16] + A[i * 32 + k * 16:i * 32 + k * 16 + 16] * B[k * 16:k * 16 + 16]
        for k in range(2):
            O[i * 32 + k * 16:i * 32 + k * 16 + 16] = A[i * 32 + k * 16:i * 32 + k * 16 + 16] * A[i * 32 + k * 16:i * 32 + k * 16 + 16] * S[0:16] + B[k * 16:k * 16 + 16]
        O[i * 32] = A[i * 32]
)");
}

TEST(CacheHints, FetchTheNextRowWhereTheRowIsReadAgain) {
  const std::string text = Print(InsertCacheHints(Rows(R"("tilewright.prefetch_next": 1)"), kTarget));
  // Once for a vector that is used twice, and not for B, which every row reads.
  EXPECT_THAT(text, HasSubstr(R"(
    for i in T.parallel(8):
        S = T.decl_buffer((16,))
        S[0:16] = T.Broadcast(T.float32(0), 16)
        for k in range(2):
            S[0:16] = S[0:16] + A[i * 32 + k * 16:i * 32 + k * 16 + 16] * B[k * 16:k * 16 + 16]
        for k in range(2):
            T.prefetch(T.address_of(A[(i + 1) * 32 + k * 16]))
            O[i * 32 + k * 16:i * 32 + k * 16 + 16] = )"));
  EXPECT_THAT(text, Not(HasSubstr("stream")));
}

// Tiles of two rows of `width` elements, whose elements are read four at a time; `hints` are annotations of the loop
// over tiles.
std::string Tiles(int width, const std::string& hints) {
  const std::string w = std::to_string(width);
  return Print(InsertCacheHints(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((1048576,), "float32"), O: T.Buffer((64,), "float32")):
    for i in T.serial(8, annotations={)" + hints + R"(}):
        for g in range(4):
            O[i * 8 + g * 2] = T.float32(0)
            O[i * 8 + g * 2 + 1] = T.float32(0)
            for k in range()" + std::to_string(width / 16) +
                                                   R"():
                O[i * 8 + g * 2] = O[i * 8 + g * 2] + A[i * 8192 + g * )" +
                                                   w + R"( + k * 4] * A[i * 8192 + g * )" + w +
                                                   R"( + k * 4 + 3]
                O[i * 8 + g * 2 + 1] = O[i * 8 + g * 2 + 1] + A[i * 8192 + g * )" +
                                                   w + R"( + k * 4 + 4096]
)"),
                                kTarget));
}

TEST(CacheHints, FetchLinesOfLaterRowsOnce) {
  // 8 elements of each row are one line, 20 are two; both elements of O are in one.
  EXPECT_THAT(Tiles(32, R"("tilewright.prefetch_rows": 2)"), HasSubstr(R"(
    for i, g in T.grid(8, 4):
        T.prefetch(T.address_of(O[(i + 2) * 8 + g * 2]))
        T.prefetch(T.address_of(A[(i + 2) * 8192 + g * 32]))
        T.prefetch(T.address_of(A[(i + 2) * 8192 + g * 32 + 4096]))
        O[i * 8 + g * 2] = T.float32(0)
)"));
  EXPECT_THAT(Tiles(80, R"("tilewright.prefetch_rows": 1)"), HasSubstr(R"(
        T.prefetch(T.address_of(A[(i + 1) * 8192 + g * 80]))
        T.prefetch(T.address_of(A[(i + 1) * 8192 + g * 80 + 16]))
        T.prefetch(T.address_of(A[(i + 1) * 8192 + g * 80 + 4096]))
        T.prefetch(T.address_of(A[(i + 1) * 8192 + g * 80 + 4112]))
        O[i * 8 + g * 2] = T.float32(0)
)"));
}

TEST(CacheHints, FetchNoRowsOfManyLines) {
  EXPECT_THAT(Tiles(1024, R"("tilewright.prefetch_rows": 2)"), Not(HasSubstr("prefetch")));
  EXPECT_THAT(Tiles(32, R"("tilewright.prefetch_rows": "far")"), Not(HasSubstr("prefetch")));
}

TEST(CacheHints, StreamVectorsThatAreStoredToParameters) {
  const std::string text = Print(InsertCacheHints(Rows(R"("tilewright.stream": 1)"), kTarget));
  EXPECT_THAT(text, HasSubstr(R"(
        S[0:16] = T.Broadcast(T.float32(0), 16)
)"));
  EXPECT_THAT(text, HasSubstr(R"(
            T.attr(0, "tilewright.stream", 1)
            O[i * 32 + k * 16:i * 32 + k * 16 + 16] = )"));
  EXPECT_THAT(text, HasSubstr(R"(
        O[i * 32] = A[i * 32]
)"));
  EXPECT_THAT(text, Not(HasSubstr("prefetch")));
}

TEST(CacheHints, LeaveOutputsThatAreReadAgain) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
    for i in T.serial(8, annotations={"tilewright.stream": 1}):
        O[i * 16:i * 16 + 16] = A[i * 16:i * 16 + 16]
    for i in T.serial(8):
        O[i * 16:i * 16 + 16] = O[i * 16:i * 16 + 16] + A[i * 16:i * 16 + 16]
)");
  EXPECT_THAT(Print(InsertCacheHints(function, kTarget)), Not(HasSubstr("stream")));
}

TEST(CacheHints, AreGivenWhereTheyAreAskedFor) {
  const Function function = Rows("");
  EXPECT_TRUE(InsertCacheHints(function, kTarget)->body.same_as(function->body));
}

}  // namespace
}  // namespace tilewright
