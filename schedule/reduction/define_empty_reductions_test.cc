#include "schedule/reduction/define_empty_reductions.h"

#include <gtest/gtest.h>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

constexpr char kRowSums[] = R"(
    @T.prim_func
    def main(a: T.handle, C: T.Buffer((4,), "float32")):
        n = T.int64()
        A = T.match_buffer(a, (4, n), "float32")
        for i, k in T.grid(4, n):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(3)
                C[vi] = C[vi] + A[vi, vk])";

NDArray ResultOf(const Function& function, const NDArray& a) {
  NDArray c(DataType::Float(32), {4});
  for (int64_t i = 0; i < 4; ++i) c.Set(i, -1);
  const auto program = interp::Compile(function, {});
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(program->Run({a, c}).ok());
  return c;
}

TEST(DefineEmptyReductions, SumsOfNoElementsAreTheIdentity) {
  const Function before = ParseFunctionOrDie(kRowSums), after = DefineEmptyReductions(before);
  const NDArray none(DataType::Float(32), {4, 0});
  EXPECT_EQ(ResultOf(before, none).Get(2), -1);
  EXPECT_EQ(ResultOf(after, none).Get(2), 3);
  NDArray some(DataType::Float(32), {4, 2});
  for (int64_t i = 0; i < 8; ++i) some.Set(i, static_cast<double>(i));
  EXPECT_EQ(ResultOf(after, some).Get(2), 12);
}

TEST(DefineEmptyReductions, ExtentsOfZero) {
  const Function after = DefineEmptyReductions(ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 0), "float32"), C: T.Buffer((4,), "float32")):
          for i, k in T.grid(4, 0):
              with T.block("C"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  with T.init():
                      C[vi] = T.float32(3)
                  C[vi] = C[vi] + A[vi, vk])"));
  EXPECT_EQ(ResultOf(after, NDArray(DataType::Float(32), {4, 0})).Get(2), 3);
}

TEST(DefineEmptyReductions, LeavesOtherReductions) {
  const Function matmul = testing::Matmul(4, 8, 16);
  EXPECT_TRUE(DefineEmptyReductions(matmul).same_as(matmul));
}

}  // namespace
}  // namespace tilewright
