// Libraries for a GPU, called in processes of their own beside an emulated driver, compute and refuse what the same
// programs do in this process.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/host/launcher_library.h"
#include "codegen/cuda/host/launcher_text.h"
#include "codegen/cuda/host/numbers.h"
#include "codegen/cuda/host/testing/library_call.h"
#include "codegen/lower/pipeline.h"
#include "intrin/registry.h"
#include "ir/float_format.h"
#include "ir/script/parse_or_die.h"

namespace tilewright::cuda {
namespace {

using testing::CallLibrary;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LibraryCall;
using ::testing::Not;

const Target& Gpu(const std::string& name = "cuda-sm90a") {
  static auto* const targets = new std::map<std::string, Target>;
  return targets->emplace(name, NamedTarget(name).value()).first->second;
}

// A library with kernels of the emulator; empty, with a failure, where there is none.
std::string LibraryOf(const Module& module, const Target& target = Gpu()) {
  const auto artifact = Compile(module, target, {.format = "so", .emulate = true});
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  return artifact.ok() ? artifact->bytes : "";
}

NDArray Random(DataType type, std::vector<int64_t> shape, uint64_t seed) {
  NDArray array(type, std::move(shape));
  FillUniform(array, seed);
  return array;
}
NDArray Floats(std::vector<int64_t> shape, uint64_t seed) {
  return Random(DataType::Float(32), std::move(shape), seed);
}

// The sentence of the same call in this process, in the words of call_library.cc.
std::string SentenceHere(const Module& module, const std::vector<NDArray*>& arrays) {
  const auto loaded = CompileAndLoad(module, Gpu(), {.emulate = true});
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  std::vector<TwTensor> tensors;
  std::vector<TwTensor*> args;
  for (const NDArray* array : arrays) {
    tensors.push_back({.data = array->data(),
                       .device = {kTwCpu, 0},
                       .ndim = static_cast<int32_t>(array->shape().size()),
                       .dtype = AbiType(array->dtype()),
                       .shape = const_cast<int64_t*>(array->shape().data())});
  }
  for (TwTensor& tensor : tensors) args.push_back(&tensor);
  char message[1024] = "";
  const TwCall call = {.message = message, .message_bytes = sizeof message};
  const int code = (*loaded)->Find("main")(&call, args.data(), static_cast<int32_t>(args.size()));
  return absl::StrCat("code ", code, ": ", message);
}

constexpr char kAdd[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle, alpha: T.float16):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    assert n % 7 != 3, "n is 3 more than a multiple of 7"
    for i_0 in T.thread_binding((n + 127) // 128, thread="blockIdx.x"):
        for i_1 in T.thread_binding(128, thread="threadIdx.x"):
            with T.block("C"):
                vi = T.axis.spatial(n, i_0 * 128 + i_1)
                T.where(i_0 * 128 + i_1 < n)
                C[vi] = A[vi] + B[vi] * T.Cast("float32", alpha)
)";

TEST(Library, ComputesWhatTheProgramDoesOnEveryPlace) {
  const Module module = ParseOrDie(kAdd);
  const std::string library = LibraryOf(module);
  for (const char* place : {"cpu", "gpu", "stream"}) {
    for (const int64_t n : {1, 200}) {
      SCOPED_TRACE(absl::StrCat(place, " ", n));
      NDArray a = Floats({n}, 1), b = Floats({n}, 2), c = Floats({n}, 3), want = Floats({n}, 4);
      NDArray alpha = Random(DataType::Float(16), {}, 5);
      EXPECT_EQ(CallLibrary(library, "main", {&a, &b, &c, &alpha}, {.place = place}).sentence, "code 0: ");
      EXPECT_EQ(SentenceHere(module, {&a, &b, &want, &alpha}), "code 0: ");
      EXPECT_TRUE(BitEqual(c, want));
    }
  }
}

TEST(Library, RefusesCallsAsTheProgramDoes) {
  const Module module = ParseOrDie(kAdd);
  const std::string library = LibraryOf(module);
  NDArray a = Floats({8}, 1), c = Floats({8}, 3), alpha = Random(DataType::Float(16), {}, 5);
  NDArray longer = Floats({9}, 1), matrix = Floats({8, 1}, 1), other = Random(DataType::Float(64), {8}, 1);
  NDArray ten = Floats({10}, 1), also_ten = Floats({10}, 1), wide = Random(DataType::Float(32), {}, 5);
  const std::vector<std::vector<NDArray*>> calls = {
      {&a, &a, &c},        {&a, &longer, &c, &alpha},       {&a, &matrix, &c, &alpha}, {&a, &other, &c, &alpha},
      {&a, &a, &c, &wide}, {&ten, &ten, &also_ten, &alpha},
  };
  for (const std::vector<NDArray*>& arrays : calls) {
    const std::string here = SentenceHere(module, arrays);
    EXPECT_THAT(here, Not(HasSubstr("code 0")));
    EXPECT_EQ(CallLibrary(library, "main", arrays).sentence, here);
  }
}

TEST(Library, SaysWhatTheMachineLacks) {
  const std::string library = LibraryOf(ParseOrDie(kAdd));
  NDArray a = Floats({64}, 1), c = Floats({64}, 3), alpha = Random(DataType::Float(16), {}, 5);
  const std::vector<NDArray*> arrays = {&a, &a, &c, &alpha};
  EXPECT_EQ(CallLibrary(library, "main", arrays, {.environment = "TILEWRIGHT_EMULATED_CAPABILITY=80"}).sentence,
            "code 3: this machine's emulated GPU (sm_80) does not run code for cuda-sm90a");
  EXPECT_EQ(CallLibrary(library, "main", arrays, {.environment = "TILEWRIGHT_EMULATED_CAPABILITY=100"}).sentence,
            "code 3: this machine's emulated GPU (sm_100) does not run code for cuda-sm90a");
  EXPECT_EQ(
      CallLibrary(library, "main", arrays, {.place = "cpu", .environment = "TILEWRIGHT_EMULATED_BYTES=256"}).sentence,
      "code 10: no memory on emulated GPU for 1536 bytes of arguments");
  // Code that is not of one machine alone runs on later ones of its generation.
  const std::string sm80 = LibraryOf(ParseOrDie(kAdd), Gpu("cuda-sm80"));
  EXPECT_EQ(CallLibrary(sm80, "main", arrays, {.environment = "TILEWRIGHT_EMULATED_CAPABILITY=86"}).sentence,
            "code 0: ");
  EXPECT_EQ(CallLibrary(sm80, "main", arrays, {.environment = "TILEWRIGHT_EMULATED_CAPABILITY=90"}).sentence,
            "code 3: this machine's emulated GPU (sm_90) does not run code for cuda-sm80");
}

TEST(Library, SaysThatThereIsNoDriver) {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    dlclose(driver);
    GTEST_SKIP() << "this machine has a driver";
  }
  NDArray a = Floats({64}, 1), c = Floats({64}, 3), alpha = Random(DataType::Float(16), {}, 5);
  EXPECT_EQ(CallLibrary(LibraryOf(ParseOrDie(kAdd)), "main", {&a, &a, &c, &alpha}, {.place = "cpu", .driver = false})
                .sentence,
            "code 3: this machine has no NVIDIA driver (libcuda.so.1)");
}

// A loop of the host around two kernels, one of which runs under a condition, and memory between them.
constexpr char kHost[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle, rounds: T.int32):
    n = T.int64()
    A = T.match_buffer(a, (n, 64), "float32")
    B = T.match_buffer(b, (n, 64), "float32")
    with T.block("root"):
        fixed = T.alloc_buffer((64,), "float32")
        sized = T.alloc_buffer((n, 64), "float32")
        for r in range(rounds):
            for i in T.thread_binding(n, thread="blockIdx.x"):
                for j in T.thread_binding(64, thread="threadIdx.x"):
                    with T.block("first"):
                        vi = T.axis.spatial(n, i)
                        vj = T.axis.spatial(64, j)
                        sized[vi, vj] = A[vi, vj] + T.Cast("float32", r)
            if r % 2 == 1:
                for j in T.thread_binding(64, thread="threadIdx.x"):
                    with T.block("second"):
                        vj = T.axis.spatial(64, j)
                        fixed[vj] = sized[0, vj]
                for i in T.thread_binding(n, thread="blockIdx.x"):
                    for j in T.thread_binding(64, thread="threadIdx.x"):
                        with T.block("third"):
                            vi = T.axis.spatial(n, i)
                            vj = T.axis.spatial(64, j)
                            B[vi, vj] = sized[vi, vj] * fixed[vj]
)";

TEST(Library, RunsTheHostsPart) {
  const Module module = ParseOrDie(kHost);
  const std::string library = LibraryOf(module);
  NDArray a = Floats({3, 64}, 1), b = Floats({3, 64}, 2), want = Floats({3, 64}, 2), rounds(DataType::Int(32), {});
  *static_cast<int32_t*>(rounds.data()) = 5;
  const LibraryCall call = CallLibrary(library, "main", {&a, &b, &rounds}, {.calls = 2});
  EXPECT_EQ(call.sentence, "code 0: ");
  // The workspace stays; memory whose size depends on extents is the call's.
  EXPECT_THAT(call.costs,
              ElementsAre("allocations 2 copies_in 0 copies_out 0 launches 9 graphs 0 graph_launches 0 dependent 8",
                          "allocations 1 copies_in 0 copies_out 0 launches 9 graphs 0 graph_launches 0 dependent 8"));
  EXPECT_EQ(SentenceHere(module, {&a, &want, &rounds}), "code 0: ");
  EXPECT_TRUE(BitEqual(b, want));
}

// Two kernels that add to what is there: after three calls it is there three times.
constexpr char kSteps[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    with T.block("root"):
        between = T.alloc_buffer((8, 64), "float32")
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("first"):
                    vi = T.axis.spatial(8, i)
                    vj = T.axis.spatial(64, j)
                    between[vi, vj] = A[vi, vj] * T.float32(2)
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("second"):
                    vi = T.axis.spatial(8, i)
                    vj = T.axis.spatial(64, j)
                    T.reads(B[vi, vj], between[7 - vi, vj])
                    T.writes(B[vi, vj])
                    B[vi, vj] = B[vi, vj] + between[7 - vi, vj]
)";

// The first call starts kernels, the second makes a graph of them, and the third finds it; in the caller's stream or in
// none, with the caller's workspace or without, with arrays of the CPU.
TEST(Library, CallsOfTheSameValuesAreOneGraph) {
  const std::string library = LibraryOf(ParseOrDie(kSteps));
  const NDArray a = Floats({8, 64}, 1);
  for (const char* place : {"stream", "gpu", "cpu"}) {
    for (const char* environment : {"TILEWRIGHT_EMULATED_GRAPHS=1", "TILEWRIGHT_EMULATED_GRAPHS=0"}) {
      SCOPED_TRACE(std::string(place) + " " + environment);
      const bool graphs = std::string(environment).back() == '1';
      NDArray given = a, b(DataType::Float(32), {8, 64});
      const LibraryCall call =
          CallLibrary(library, "main", {&given, &b}, {.place = place, .calls = 3, .environment = environment});
      EXPECT_EQ(call.sentence, "code 0: ");
      ASSERT_EQ(call.costs.size(), 3u);
      // The second kernel begins before the first has ended, in graphs too.
      EXPECT_THAT(call.costs, Each(HasSubstr(" dependent 1")));
      EXPECT_THAT(call.costs[0], HasSubstr(" launches 2 graphs 0 graph_launches 0"));
      EXPECT_THAT(call.costs[1],
                  HasSubstr(graphs ? " launches 2 graphs 1 graph_launches 1" : " graphs 0 graph_launches 0"));
      EXPECT_THAT(call.costs[2],
                  HasSubstr(graphs ? " launches 2 graphs 0 graph_launches 1" : " graphs 0 graph_launches 0"));
      for (int64_t i = 0; i < b.size(); ++i) {
        const int64_t mirrored = (7 - i / 64) * 64 + i % 64;
        ASSERT_FLOAT_EQ(static_cast<float>(b.Get(i)), static_cast<float>(6 * a.Get(mirrored))) << i;
      }
    }
  }
}

// Products whose operands come by bulk copies, over maps of the arrays.
Module Product() {
  constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((128, 256), "float16"), B: T.Buffer((256, 128), "float16"), C: T.Buffer((128, 128), "float32")):
    for i, j, k in T.grid(128, 128, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
)";
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  return AutoSchedule(ParseOrDie(kProduct), Gpu(), &intrins).schedule.module();
}

TEST(Library, EncodesTensorMaps) {
  const Module module = Product();
  NDArray a = Random(DataType::Float(16), {128, 256}, 1), b = Random(DataType::Float(16), {256, 128}, 2);
  NDArray c = Floats({128, 128}, 3), want = Floats({128, 128}, 4);
  EXPECT_EQ(CallLibrary(LibraryOf(module), "main", {&a, &b, &c}).sentence, "code 0: ");
  EXPECT_EQ(SentenceHere(module, {&a, &b, &want}), "code 0: ");
  EXPECT_TRUE(BitEqual(c, want));
}

std::string TextOf(const Module& module, const Target& target) {
  const auto lowered = Lower(module, target);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  const auto program = EmitProgram(*lowered, target);
  EXPECT_TRUE(program.ok()) << program.status();
  const LauncherImage image = {.program = &*program, .file = "x.cubin"};
  const auto text = LauncherText({&image, 1}, target);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

TEST(LauncherText, SaysGridsOfExtents) {
  const std::string text = TextOf(ParseOrDie(kAdd), Gpu("cuda-sm80"));
  EXPECT_THAT(text, HasSubstr(R"(TW_EMBED(tw_image_0, "x.cubin");)"));
  EXPECT_THAT(text, HasSubstr("// main(A: float32[n], B: float32[n], C: float32[n], alpha: float16)\n"));
  EXPECT_THAT(text, HasSubstr(R"(  if (run.Begins(kernels[0], {FloorDiv(n + 127, 128), 1, 1}, {128, 1, 1})) {
    void* params[] = {&A, &B, &C, &n, &alpha};
    run.Start(params);
  })"));
  EXPECT_THAT(text, HasSubstr(R"(  run.Assert(FloorMod(n, 7) != 3, "n is 3 more than a multiple of 7");)"));
  EXPECT_THAT(text,
              HasSubstr("TW_EXPORT int tw_main(const TwCall* call, TwTensor* const* args, int32_t num_args) {\n"));
  EXPECT_THAT(text, HasSubstr(R"(TW_EXPORT const char tw_required_gpu[] = "sm_80";)"));
}

TEST(LauncherText, SaysTensorMaps) {
  const std::string text = TextOf(Product(), Gpu());
  EXPECT_THAT(
      text,
      HasSubstr(R"(run.Encode(&A_map, "A", {.type = 6, .address = A, .extents = {256, 128}, .strides = {512}, )"));
  EXPECT_THAT(text, HasSubstr("void* params[] = {&C, &A_map, &B_map};"));
}

// Floats of every narrow type, as the IR reads them.
TEST(Numbers, NarrowFloatsBecomeWideOnes) {
  struct Row {
    DataType type;
    int exponent_bits, mantissa_bits;
    bool has_infinity;
  };
  for (const Row& row :
       {Row{DataType::Float(16), 5, 10, true}, Row{DataType::BFloat16(), 8, 7, true},
        Row{DataType(TypeCode::kE4M3, 8), 4, 3, false}, Row{DataType(TypeCode::kE5M2, 8), 5, 2, true}}) {
    for (uint64_t bits = 0; bits < uint64_t{1} << row.type.bits(); ++bits) {
      const double want = FromBits(row.type, bits);
      const uint32_t wide = host::WidenFloat(bits, row.exponent_bits, row.mantissa_bits, row.has_infinity);
      const double got = FromBits(DataType::Float(32), wide);
      ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << row.type.ToString() << " " << bits;
      ASSERT_EQ(std::signbit(got), std::signbit(want)) << row.type.ToString() << " " << bits;
    }
  }
}

TEST(Numbers, RememberWhatIsNoNumber) {
  using host::Int;
  EXPECT_EQ(FloorDiv(Int(-7), 2).value, -4);
  EXPECT_EQ(FloorMod(Int(-7), 2).value, 1);
  EXPECT_EQ((Int(-7) / 2).value, -3);
  EXPECT_EQ((Int(-7) % 2).value, -1);
  EXPECT_EQ((host::WrapTo<8, true>(200).value), -56);
  EXPECT_EQ((host::WrapTo<8, false>(-56).value), 200);
  EXPECT_TRUE((Int(INT64_MAX) + 1).bad);
  EXPECT_TRUE((Int(INT64_MAX) * 2).bad);
  EXPECT_TRUE(FloorDiv(Int(1), 0).bad);
  EXPECT_TRUE((Int(INT64_MIN) / -1).bad);
  EXPECT_EQ((Int(5) % 0).value, 0);
  // What is not chosen does not count.
  EXPECT_FALSE(Select(Int(0), FloorDiv(Int(1), 0), 7).bad);
  EXPECT_FALSE((Int(4) - 5).bad);
}

}  // namespace
}  // namespace tilewright::cuda