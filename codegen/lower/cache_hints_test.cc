#include "codegen/lower/cache_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  const std::string text = Print(InsertCacheHints(Rows(R"("tilewright.prefetch_next": 1)")));
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

TEST(CacheHints, StreamVectorsThatAreStoredToParameters) {
  const std::string text = Print(InsertCacheHints(Rows(R"("tilewright.stream": 1)")));
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
  EXPECT_THAT(Print(InsertCacheHints(function)), Not(HasSubstr("stream")));
}

TEST(CacheHints, AreGivenWhereTheyAreAskedFor) {
  const Function function = Rows("");
  EXPECT_TRUE(InsertCacheHints(function)->body.same_as(function->body));
}

}  // namespace
}  // namespace tilewright
