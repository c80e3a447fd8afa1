// A sequence by hand, of two kernels and all extents.
#include "codegen/sequence_library.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "codegen/llvm/sequence_object.h"
#include "codegen/runtime/loaded_module.h"
#include "gtest/gtest.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

Expr I(int64_t value) { return Const(DataType::Int(64), value); }

const Var n("n", DataType::Int(64)), half("half", DataType::Int(64));

// y = 2 x, then z = y of every second element, of which there may be none.
SizedSequence Halves() {
  using Memory = SizedSequence::Memory;
  const DataType f32 = DataType::Float(32);
  const Buffer x({.name = "x", .dtype = f32, .shape = {n}}), z({.name = "z", .dtype = f32, .shape = {FloorDiv(n, 2)}});
  SizedSequence sequence{.name = "halves",
                         .params = {{Var("x", DataType::Handle()), x}, {Var("z", DataType::Handle()), z}},
                         .num_inputs = 1,
                         .extents = {n}};
  const Var bytes("bytes", DataType::Int(64)), written("written", DataType::Int(64)), total("total", DataType::Int(64));
  sequence.sizes = {{half, FloorDiv(n, I(2))},
                    {bytes, n * 4},
                    {written, half * 4},
                    {total, FloorDiv(bytes + 63, I(64)) * 64 + FloorDiv(I(0), n)}};
  sequence.checks = {{FloorMod(n, I(5)) != I(3), "the model needs n % 5 != 3, but ", {{"n", n}}}};
  sequence.calls = {{.function = "twice",
                     .arguments = {{Memory::kParam, I(0), {n}}, {Memory::kWorkspace, I(0), {n}}},
                     .workspace_offset = I(0),
                     .written = {bytes}},
                    {.function = "second",
                     .arguments = {{Memory::kWorkspace, I(0), {n}}, {Memory::kParam, I(1), {half}}},
                     .written = {written}}};
  sequence.workspace_bytes = total;
  return sequence;
}

constexpr char kKernels[] = R"(
@T.prim_func
def twice(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] * T.float32(2)

@T.prim_func
def second(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for i in range(m):
        B[i] = A[i * T.int64(2)]
)";

class SequenceLibrary : public testing::Test {
 protected:
  SequenceLibrary() {
    const std::string path = testing::TempDir() + "/halves.so";
    const auto bytes = CompileSequence(ParseOrDie(kKernels), HostTarget(), Halves(), "so");
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(WriteFile(path, bytes.value_or("")), absl::OkStatus());
    std::string error;
    library_ = runtime::LoadedModule::Open(path, &error);
    EXPECT_TRUE(library_.has_value()) << error;
  }

  // The code and the message.
  std::pair<int, std::string> Call(int64_t extent, const float* x, float* z) const {
    int64_t half_extent = extent / 2;
    TwTensor tensors[] = {{.data = const_cast<float*>(x),
                           .device = {kTwCpu, 0},
                           .ndim = 1,
                           .dtype = {.code = kTwFloat, .bits = 32, .lanes = 1},
                           .shape = &extent},
                          {.data = z,
                           .device = {kTwCpu, 0},
                           .ndim = 1,
                           .dtype = {.code = kTwFloat, .bits = 32, .lanes = 1},
                           .shape = &half_extent}};
    TwTensor* args[] = {&tensors[0], &tensors[1]};
    char message[256] = "";
    const TwCall call = {.message = message, .message_bytes = sizeof message};
    const int code = library_->Find("halves")(&call, args, 2);
    return {code, message};
  }

  std::optional<runtime::LoadedModule> library_;
};

TEST_F(SequenceLibrary, ServesEveryExtent) {
  alignas(64) float x[40], z[20];
  for (int i = 0; i < 40; ++i) x[i] = static_cast<float>(i);
  for (const int64_t extent : {1, 2, 7, 40}) {
    std::fill(std::begin(z), std::end(z), -1.f);
    ASSERT_EQ(Call(extent, x, z), std::pair(0, std::string()));
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(z[i], i < extent / 2 ? static_cast<float>(4 * i) : -1.f) << extent << ", " << i;
    }
  }
}

TEST_F(SequenceLibrary, RefusesExtents) {
  alignas(64) float x[40] = {}, z[20];
  EXPECT_EQ(Call(8, x, z), std::pair(int{kTwErrorShape}, std::string("the model needs n % 5 != 3, but n = 8")));
  EXPECT_EQ(Call(-2, x, z), std::pair(int{kTwErrorShape}, std::string("an extent is negative: n = -2")));
  // One that divides, and one whose bytes are no int64.
  EXPECT_EQ(Call(0, x, z),
            std::pair(int{kTwErrorShape}, std::string("the extents are too large, or one that divides is 0: n = 0")));
  const int64_t large = INT64_MAX / 2;
  EXPECT_EQ(Call(large - large % 5, x, z).first, kTwErrorShape);
}

TEST(SequenceLibraryTargets, AreCpus) {
  const auto object = EmitSequenceObject(ParseOrDie(kKernels), NamedTarget("arm-neoverse-n1").value(), Halves());
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_NE(object->find("halves_workspace_bytes"), object->npos);
  EXPECT_EQ(CompileSequence(ParseOrDie(kKernels), NamedTarget("cuda-sm90a").value(), Halves(), "so").status().message(),
            "libraries of models are written for CPUs, not for cuda-sm90a");
}

}  // namespace
}  // namespace tilewright
