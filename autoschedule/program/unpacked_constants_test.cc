#include "autoschedule/program/unpacked_constants.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// A row times W, which is made of the elements of `type` in B.
Schedule Product(const char* type, const char* constants, const char* value) {
  return Schedule{Module(ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 64), "$0"), C: T.Buffer((64,), "float32")):
    T.func_attr({"tilewright.constant_params": $1})
    W = T.alloc_buffer((8, 64))
    for k, j in T.grid(8, 64):
        with T.block("W"):
            vk, vj = T.axis.remap("SS", [k, j])
            W[vk, vj] = $2
    for j, k in T.grid(64, 8):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vk] * W[vk, vj]
)",
                                                             type, constants, value)))};
}

bool HasUnpacker(Schedule sch) {
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  return UnpackerOf(sch, blocks[1], *MatchContraction(RealizeOf(sch, blocks[1]))).has_value();
}

TEST(UnpackedConstants, AreMadeOfConstantsOfAtMostHalfTheirBytes) {
  EXPECT_TRUE(HasUnpacker(Product("int8", "[1]", "T.Cast(\"float32\", B[vk, vj])")));
  EXPECT_TRUE(HasUnpacker(Product("float16", "[1]", "T.Cast(\"float32\", B[vk, vj])")));
  EXPECT_TRUE(HasUnpacker(Product("uint8", "[1]", "T.Cast(\"float32\", T.Cast(\"int32\", B[vk, vj]) >> 4)")));
  EXPECT_FALSE(HasUnpacker(Product("float32", "[1]", "B[vk, vj] * T.float32(2)")));
  EXPECT_FALSE(HasUnpacker(Product("int8", "[]", "T.Cast(\"float32\", B[vk, vj])")));
  EXPECT_FALSE(HasUnpacker(Product("int8", "[1]", "T.Cast(\"float32\", B[vk, vj]) * A[vk]")));
}

}  // namespace
}  // namespace tilewright
