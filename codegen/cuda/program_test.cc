#include "codegen/cuda/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/emulator/tensor_map.h"
#include "codegen/lower/pipeline.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright::cuda {
namespace {

using ::testing::ElementsAre;

// The emulator numbers types as the driver does.
TEST(TensorMaps, TypesAreNumberedAsTheDriverDoes) {
  using emulator::MapType;
  const std::pair<const char*, MapType> rows[] = {
      {"uint8", MapType::kU8},    {"int8", MapType::kU8},        {"float8_e4m3fn", MapType::kU8},
      {"uint16", MapType::kU16},  {"float8_e5m2", MapType::kU8}, {"int16", MapType::kU16},
      {"uint32", MapType::kU32},  {"int32", MapType::kS32},      {"float16", MapType::kF16},
      {"float32", MapType::kF32}, {"bfloat16", MapType::kBf16},
  };
  for (const auto& [type, number] : rows) {
    EXPECT_EQ(MapTypeOf(*DataType::Parse(type)), static_cast<int>(number)) << type;
  }
}

TEST(TensorMaps, SwizzlesAreNumberedByTheirBytes) {
  int number = 0;
  for (const int span : {0, 32, 64, 128}) EXPECT_EQ(SwizzleOf(span), number++);
}

// C is written by the second kernel alone; the temporary between them is not a parameter.
TEST(DeviceFunction, KnowsWhatItsKernelsWrite) {
  const Target target = NamedTarget("cuda-sm80").value();
  const auto lowered = Lower(Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), x: T.float32, B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    T_1 = T.alloc_buffer((64,), "float32")
    for i in T.thread_binding(64, thread="blockIdx.x"):
        with T.block("T"):
            v = T.axis.spatial(64, i)
            T_1[v] = A[v] * x
    for i in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("C"):
            v = T.axis.spatial(64, i)
            C[v] = T_1[63 - v] + B[v]
)")),
                             target);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const auto program = EmitProgram(*lowered, target);
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(program->functions.size(), 1u);
  EXPECT_EQ(program->functions[0].kernels.size(), 2u);
  EXPECT_THAT(WrittenParams(program->functions[0]), ElementsAre(false, false, false, true));
}

}  // namespace
}  // namespace tilewright::cuda
