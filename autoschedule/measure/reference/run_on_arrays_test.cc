#include "autoschedule/measure/reference/run_on_arrays.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/interp/interp.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

std::unique_ptr<CompiledModule> Compiled(const Module& module) {
  auto code = CompileAndLoad(module, HostTarget());
  EXPECT_TRUE(code.ok()) << code.status();
  return code.ok() ? *std::move(code) : nullptr;
}

NDArray Filled(DataType type, std::vector<int64_t> shape, uint64_t seed) {
  NDArray array(type, std::move(shape));
  FillIntegers(array, seed);
  return array;
}

// A's rows lie 8 elements apart, B's 16: both get memory of their own, out of which B comes back.
constexpr char kStrided[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle, x: T.float32):
    n = T.int64()
    A = T.match_buffer(a, (n, 6), "float32", strides=(8, 1))
    B = T.match_buffer(b, (n, 6), "float32", strides=(16, 2))
    for i, j in T.grid(n, 6):
        if i != 1:
            B[i, j] = A[n - 1 - i, 5 - j] * x
)";

TEST(RunOnArrays, IsWhatTheInterpreterComputes) {
  const Module module = ParseOrDie(kStrided);
  const auto code = Compiled(module);
  const auto program = interp::Compile(module.Main());
  ASSERT_TRUE(code != nullptr && program.ok());
  for (const int64_t n : {1, 5}) {
    const NDArray a = Filled(DataType::Float(32), {n, 6}, 1), b = Filled(DataType::Float(32), {n, 6}, 2);
    const NDArray x = Filled(DataType::Float(32), {}, 3), before = a.Clone(), want = b.Clone();
    const absl::Status status = RunOnArrays(*code, module.Main(), {a, b, x});
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(program->Run({a, want, x.Get(0)}).ok());
    EXPECT_TRUE(BitEqual(b, want)) << "what is not written stays";
    EXPECT_TRUE(BitEqual(a, before));
  }
}

TEST(RunOnArrays, RefusalsAreTheCodes) {
  const Module module = ParseOrDie(kStrided);
  const auto code = Compiled(module);
  ASSERT_NE(code, nullptr);
  const NDArray a = Filled(DataType::Float(32), {4, 6}, 1), x = Filled(DataType::Float(32), {}, 3);
  const NDArray shorter = Filled(DataType::Float(32), {3, 6}, 2), kept = shorter.Clone();
  const absl::Status refusal = RunOnArrays(*code, module.Main(), {a, shorter, x});
  EXPECT_NE(refusal.message().find("argument 1 (B): dimension 0 has "), refusal.message().npos) << refusal;
  EXPECT_TRUE(BitEqual(shorter, kept));
  const NDArray wide = Filled(DataType::Float(64), {4, 6}, 2);
  EXPECT_FALSE(RunOnArrays(*code, module.Main(), {a, wide, x}).ok());
  EXPECT_FALSE(RunOnArrays(*code, module.Main(), {a}).ok());
}

// One of several functions, with loops that the hook runs.
TEST(RunOnArrays, RunsTheFunctionByTheHook) {
  const Module module = ParseOrDie(R"(
@I.ir_module
class Module:
    @T.prim_func
    def first(A: T.Buffer((8,), "int32")):
        for i in T.parallel(8):
            A[i] = i
    @T.prim_func
    def second(A: T.Buffer((8,), "int32")):
        for i in T.parallel(8):
            A[i] = i * 2
)");
  const auto code = Compiled(module);
  ASSERT_NE(code, nullptr);
  int calls = 0;
  TwParallelHook hook = {.pool = &calls, .num_threads = 2};
  hook.parallel_for = [](void* pool, TwParallelBody body, void* closure, int64_t extent, int64_t) {
    ++*static_cast<int*>(pool);
    body(0, extent / 2, closure);
    body(extent / 2, extent, closure);
    return 0;
  };
  for (const auto& [name, factor] : {std::pair("first", 1), {"second", 2}}) {
    for (const TwParallelHook* parallel : {static_cast<TwParallelHook*>(nullptr), &hook}) {
      calls = 0;
      const NDArray a(DataType::Int(32), {8});
      ASSERT_TRUE(RunOnArrays(*code, module.Find(name), {a}, parallel).ok());
      for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(a.GetInt(i), i * factor);
      EXPECT_EQ(calls, parallel != nullptr ? 1 : 0);
    }
  }
}

}  // namespace
}  // namespace tilewright
