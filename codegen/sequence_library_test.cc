// A sequence by hand, of two kernels and all extents.
#include "codegen/sequence_library.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "codegen/cuda/host/testing/library_call.h"
#include "codegen/llvm/sequence_object.h"
#include "codegen/runtime/loaded_module.h"
#include "gtest/gtest.h"
#include "ir/ndarray.h"
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
    const auto bytes = CompileSequence(ParseOrDie(kKernels), HostTarget(), Halves(), {.format = "so"});
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
  // One that divides, and one whose bytes are not an int64.
  EXPECT_EQ(Call(0, x, z),
            std::pair(int{kTwErrorShape}, std::string("the extents are too large, or one that divides is 0: n = 0")));
  const int64_t large = INT64_MAX / 2;
  EXPECT_EQ(Call(large - large % 5, x, z).first, kTwErrorShape);
}

constexpr char kVersions[] = R"(
@T.prim_func
def copy(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i]

@T.prim_func
def copy_three(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] + T.float32(100)

@T.prim_func
def first(b: T.handle):
    n = T.int64()
    B = T.match_buffer(b, (n,), "float32")
    B[T.int64(0)] = T.float32(7)
)";

// Another function where a number fits, and one where the caller gives argument and result the same memory.
TEST(SequenceLibraryVersions, TheFirstThatFitsIsCalled) {
  using Memory = SizedSequence::Memory;
  const Var whole("whole", DataType::Int(64));
  const auto param = [&](const char* name) {
    return Param{Var(name, DataType::Handle()), Buffer({.name = name, .dtype = DataType::Float(32), .shape = {whole}})};
  };
  const std::vector<SizedSequence::Argument> both = {{Memory::kParam, I(0), {whole}}, {Memory::kParam, I(1), {whole}}};
  SizedSequence sequence{.name = "versions", .params = {param("x"), param("z")}, .num_inputs = 1, .extents = {whole}};
  sequence.calls = {{.function = "copy",
                     .arguments = both,
                     .workspace_offset = I(0),
                     .versions = {{.shared = {{0, 1}}, .function = "first", .arguments = {both[1]}},
                                  {.when = {{whole, 3}}, .function = "copy_three", .arguments = both}}}};
  sequence.shared = {{0, 1}};
  sequence.workspace_bytes = I(0);
  const std::string path = testing::TempDir() + "/versions.so";
  const auto bytes = CompileSequence(ParseOrDie(kVersions), HostTarget(), sequence, {.format = "so"});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  ASSERT_EQ(WriteFile(path, *bytes), absl::OkStatus());
  std::string error;
  const auto library = runtime::LoadedModule::Open(path, &error);
  ASSERT_TRUE(library.has_value()) << error;
  alignas(64) float x[64] = {1, 2, 3, 4}, z[64] = {};
  const auto call = [&](int64_t extent, float* from, float* to, int64_t of_result) {
    const TwDataType real = {.code = kTwFloat, .bits = 32, .lanes = 1};
    TwTensor a = {.data = from, .device = {kTwCpu, 0}, .ndim = 1, .dtype = real, .shape = &extent};
    TwTensor b = {.data = to, .device = {kTwCpu, 0}, .ndim = 1, .dtype = real, .shape = &of_result};
    TwTensor* args[] = {&a, &b};
    return library->Find("versions")(nullptr, args, 2);
  };
  EXPECT_EQ(call(2, x, z, 2), kTwOk);
  EXPECT_EQ(z[1], 2);
  EXPECT_EQ(call(3, x, z, 3), kTwOk);
  EXPECT_EQ(z[1], 102);
  EXPECT_EQ(call(3, x, x, 3), kTwOk);
  EXPECT_EQ(x[0], 7);
  EXPECT_EQ(x[1], 2);
  // Memory that is shared in part is refused.
  EXPECT_EQ(call(32, x, x + 16, 32), kTwErrorAliasing);
}

TEST(SequenceLibraryTargets, ObjectsAreOfCpus) {
  const auto object = EmitSequenceObject(ParseOrDie(kKernels), NamedTarget("arm-neoverse-n1").value(), Halves());
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_NE(object->find("halves_workspace_bytes"), object->npos);
  const Target gpu = NamedTarget("cuda-sm90a").value();
  EXPECT_EQ(CompileSequence(ParseOrDie(kKernels), gpu, Halves(), {.format = "o"}).status().message(),
            "a model for cuda-sm90a is written as .so");
}

TEST(SequenceLibraryTargets, LoopsAreOfCpus) {
  SizedSequence sequence = Halves();
  sequence.loops.push_back({.count = I(2)});
  const auto bytes = CompileSequence(ParseOrDie(kKernels), *NamedTarget("cuda-sm90a"), sequence, {.format = "so"});
  EXPECT_EQ(bytes.status().message(),
            "halves repeats calls or reads elements before them, which libraries for cuda-sm90a do not do");
}

// The same sequence on a GPU: its host part computes sizes and refuses extents with the same sentences.
TEST(SequenceLibraryTargets, GpusServeEveryExtent) {
  const auto library = CompileSequence(ParseOrDie(kKernels), NamedTarget("cuda-sm90a").value(), Halves(),
                                       {.format = "so", .emulate = true});
  ASSERT_TRUE(library.ok()) << library.status();
  const auto call = [&](int64_t extent, std::vector<float>* result) {
    NDArray x(DataType::Float(32), {extent}), z(DataType::Float(32), {extent / 2});
    for (int64_t i = 0; i < extent; ++i) static_cast<float*>(x.data())[i] = static_cast<float>(i);
    const std::string sentence = cuda::testing::CallLibrary(*library, "halves", {&x, &z}).sentence;
    result->assign(static_cast<float*>(z.data()), static_cast<float*>(z.data()) + z.size());
    return sentence;
  };
  for (const int64_t extent : {1, 2, 7, 40}) {
    std::vector<float> z;
    ASSERT_EQ(call(extent, &z), "code 0: ");
    for (size_t i = 0; i < z.size(); ++i) EXPECT_EQ(z[i], static_cast<float>(4 * i)) << extent << ", " << i;
  }
  std::vector<float> z;
  EXPECT_EQ(call(8, &z), "code 6: the model needs n % 5 != 3, but n = 8");
  EXPECT_EQ(call(0, &z), "code 6: the extents are too large, or one that divides is 0: n = 0");
}

}  // namespace
}  // namespace tilewright
