// Programs as people write them, run.
#include <cmath>
#include <limits>
#include <string>

#include "ir/interp/testing.h"
#include "ir/script/parse_or_die.h"

namespace tilewright::interp {
namespace {

// A matrix product in 4x4x4 tiles, each a call of an intrinsic that is given by its description; the tiles of A are
// copied first.
constexpr std::string_view kTensorized = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    A_reg = T.alloc_buffer((8, 8), "float32", scope="global.A_reg")
    for i, k in T.grid(8, 8):
        with T.block("A_reg"):
            vi, vk = T.axis.remap("SS", [i, k])
            A_reg[vi, vk] = A[vi, vk]
    for io, jo in T.grid(2, 3):
        with T.block("init"):
            vio, vjo = T.axis.remap("SS", [io, jo])
            T.writes(C[vio * 4:vio * 4 + 4, vjo * 4:vjo * 4 + 4])
            for i, j in T.grid(4, 4):
                with T.block("zero"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vio * 4 + vi, vjo * 4 + vj] = T.float32(0)
        for ko in range(2):
            with T.block("tile"):
                vio, vjo, vko = T.axis.remap("SSR", [io, jo, ko])
                T.reads(C[vio * 4:vio * 4 + 4, vjo * 4:vjo * 4 + 4], A_reg[vio * 4:vio * 4 + 4, vko * 4:vko * 4 + 4], B[vko * 4:vko * 4 + 4, vjo * 4:vjo * 4 + 4])
                T.writes(C[vio * 4:vio * 4 + 4, vjo * 4:vjo * 4 + 4])
                sa = T.int32()
                sb = T.int32()
                sc = T.int32()
                At = T.match_buffer(A_reg[vio * 4:vio * 4 + 4, vko * 4:vko * 4 + 4], (4, 4), strides=[sa, 1], scope="global.A_reg", offset_factor=4)
                Bt = T.match_buffer(B[vko * 4:vko * 4 + 4, vjo * 4:vjo * 4 + 4], (4, 4), strides=[sb, 1], offset_factor=4)
                Ct = T.match_buffer(C[vio * 4:vio * 4 + 4, vjo * 4:vjo * 4 + 4], (4, 4), strides=[sc, 1], offset_factor=4)
                T.call_extern("int32", "tmm4", Ct.access_ptr("rw"), At.access_ptr("r"), Bt.access_ptr("r"))
)";
constexpr std::string_view kDescription = R"(
@T.prim_func
def tmm4_desc(c: T.handle, a: T.handle, b: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, (4, 4), "float32", strides=[sa, 1], scope="global.A_reg", offset_factor=4)
    B = T.match_buffer(b, (4, 4), "float32", strides=[sb, 1], offset_factor=4)
    C = T.match_buffer(c, (4, 4), "float32", strides=[sc, 1], offset_factor=4)
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for i, j, k in T.grid(4, 4, 4):
            with T.block(""):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

TEST(Script, TensorizedMatmul) {
  const Function description = ParseFunctionOrDie(kDescription);
  CompileOptions options = CompileOptions::AllChecks();
  options.environment.find_function = [&](std::string_view name) { return name == "tmm4" ? description : Function(); };
  NDArray a(kF32, {8, 8}), b(kF32, {8, 12}), c(kF32, {8, 12});
  FillIntegers(a, 1);
  FillIntegers(b, 2);
  ASSERT_EQ(Text(RunOnce(ParseFunctionOrDie(kTensorized), {a, b, Uninitialized(c)}, options)), "OK");
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t j = 0; j < 12; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 8; ++k) sum += a.Get(i * 8 + k) * b.Get(k * 12 + j);
      EXPECT_EQ(c.Get(i * 12 + j), sum);
    }
  }
}

// A sum over 256 elements by 64 threads, in shared memory.
constexpr std::string_view kTreeSum = R"(
@T.prim_func
def main(A: T.Buffer((256,), "float32"), S: T.Buffer((1,), "float32")):
    with T.launch_thread("threadIdx.x", 64) as tx:
        with T.block("sum"):
            v = T.axis.opaque(64, tx)
            T.reads(A[0:256])
            T.writes(S[0])
            P = T.alloc_buffer((64,), "float32", scope="shared")
            P[v] = A[v] + A[v + 64] + A[v + 128] + A[v + 192]
            T.tvm_storage_sync("shared")
            for step in range(6):
                if v < T.shift_right(32, step):
                    P[v] = P[v] + P[v + T.shift_right(32, step)]
                T.tvm_storage_sync("shared")
            if v == 0:
                S[0] = P[0]
)";

TEST(Script, TreeSum) {
  const Function f = ParseFunctionOrDie(kTreeSum);
  NDArray a(kF32, {256}), s(kF32, {1});
  FillIntegers(a, 1);
  const CompileOptions options = {.check_bounds = true, .check_uninitialized = true, .check_races = true};
  ASSERT_EQ(Text(RunOnce(f, {a, Uninitialized(s)}, options)), "OK");
  double sum = 0;
  for (int64_t i = 0; i < 256; ++i) sum += a.Get(i);
  EXPECT_EQ(s.Get(0), sum);
  // Without the barrier inside of the loop the steps race.
  std::string racy(kTreeSum);
  const size_t second = racy.rfind("                T.tvm_storage_sync");
  racy.replace(second, racy.find('\n', second) - second, "");
  EXPECT_EQ(RunOnce(ParseFunctionOrDie(racy), {a, s}, options).code(), absl::StatusCode::kAborted);
}

// The threads of each row sum together in memory of each thread: all of them have the total.
TEST(Script, SumsOfThreadsInLocalMemory) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((4, 8), "float32"), Y: T.Buffer((4, 8), "float32")):
    S = T.alloc_buffer((4,), scope="local")
    for row in T.thread_binding(4, thread="threadIdx.y"):
        for lane in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [row, lane])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + X[vi, vk]
        for lane in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [row, lane])
                Y[vi, vj] = X[vi, vj] - S[vi]
)");
  NDArray x(kF32, {4, 8}), y(kF32, {4, 8});
  FillIntegers(x, 1);
  ASSERT_EQ(Text(RunOnce(f, {x, Uninitialized(y)}, CompileOptions::AllChecks())), "OK");
  for (int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < 8; ++k) sum += x.Get(i * 8 + k);
    for (int64_t k = 0; k < 8; ++k) EXPECT_EQ(y.Get(i * 8 + k), x.Get(i * 8 + k) - sum);
  }
}

// Between the barriers around the copy a thread writes its window again, while others have not read theirs.
TEST(Script, WindowsOfThreads) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), W: T.Buffer((4, 4), "float32"), Y: T.Buffer((4, 4), "float32")):
    X_local = T.alloc_buffer((8,), scope="local")
    W_shared = T.alloc_buffer((4, 4), scope="shared")
    for h in range(4):
        for t in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("X_local"):
                vh = T.axis.spatial(4, h)
                T.reads(X[vh:vh + 4])
                T.writes(X_local[vh:vh + 4])
                for a in range(4):
                    X_local[vh + a] = X[vh + a]
            for u in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("W_shared"):
                    v0, v1 = T.axis.remap("SS", [h, u])
                    W_shared[v0, v1] = W[v0, v1]
            with T.block("Y"):
                vh, vt = T.axis.remap("SS", [h, t])
                Y[vh, vt] = X_local[vh + 3 - vt] * W_shared[vh, 3 - vt])");
  NDArray x(DataType::Float(32), {8}), w(DataType::Float(32), {4, 4}), y(DataType::Float(32), {4, 4});
  FillIntegers(x, 1);
  FillIntegers(w, 2);
  absl::StatusOr<Program> program = Compile(f, CompileOptions::AllChecks());
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->Run({x, w, y}), absl::OkStatus());
  for (int64_t h = 0; h < 4; ++h) {
    for (int64_t t = 0; t < 4; ++t) EXPECT_EQ(y.Get(h * 4 + t), x.Get(h + 3 - t) * w.Get(h * 4 + 3 - t));
  }
}

TEST(Script, SymbolicSoftmaxOfRows) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i in T.parallel(n):
        with T.block("row"):
            vi = T.axis.spatial(n, i)
            T.reads(A[vi, 0:m])
            T.writes(B[vi, 0:m])
            high = T.alloc_buffer((1,), "float32")
            total = T.alloc_buffer((1,), "float32")
            high[0] = T.min_value("float32")
            total[0] = T.float32(0)
            for j in range(m):
                high[0] = T.max(high[0], A[vi, j])
            for j in range(m):
                total[0] += T.exp(A[vi, j] - high[0])
            for j in range(m):
                B[vi, j] = T.exp(A[vi, j] - high[0]) / total[0]
)");
  NDArray a(kF32, {3, 5}), b(kF32, {3, 5});
  FillUniform(a, 1);
  ASSERT_EQ(Text(RunOnce(f, {a, Uninitialized(b)})), "OK");
  double sum = 0, expected = 0;
  for (int64_t j = 0; j < 5; ++j) {
    sum += b.Get(5 + j);
    expected += std::exp(a.Get(5 + j));
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_NEAR(b.Get(7), std::exp(a.Get(7)) / expected, 1e-6);
}

// Rows eight elements apart, columns first; a view sees the gap between two rows.
TEST(InterpScript, DeclaredStridesAreThoseOfMemoryWithGaps) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((3, 6), "float32", strides=(8, 1)), O: T.Buffer((6, 3), "float32", strides=(1, 7))):
    F = T.decl_buffer((22,), "float32", data=A.data)
    for i, j in T.grid(6, 3):
        with T.block("o"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = A[vj, vi] + F[vj * 8 + vi]
)");
  NDArray a(kF32, {3, 6}), o(kF32, {6, 3});
  FillIntegers(a, 1);
  const absl::Status status = RunOnce(f, {a, Uninitialized(o)}, {.check_bounds = true, .check_uninitialized = true});
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(o.Get(i * 3 + j), 2 * a.Get(j * 6 + i)) << i << " " << j;
  }
}

// The distance from the domain's begin takes more than 63 bits.
TEST(Script, IteratorsFarFromTheirDomain) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(n: T.int64, C: T.Buffer((8,), "float32")):
    with T.block("C"):
        v = T.axis.spatial((T.int64(-2), T.int64(6)), n)
        T.writes(C[v + T.int64(2)])
        C[v + T.int64(2)] = T.float32(1)
)");
  const NDArray c(kF32, {8});
  EXPECT_EQ(Text(RunOnce(f, {INT64_MAX, c})),
            "OUT_OF_RANGE: iterator v of block \"C\" is 9223372036854775807, outside of its domain [-2, 6)");
  EXPECT_TRUE(RunOnce(f, {int64_t{5}, c}).ok());
}

// What updates an element wraps; what it is updated by does not.
TEST(Script, UpdatesWrap) {
  const auto run = [](const std::string& value, int64_t before, int64_t x) {
    const Function function = ParseFunctionOrDie(
        "@T.prim_func\ndef main(C: T.Buffer((1,), \"int32\"), X: T.Buffer((2,), \"int32\")):\n    C[0] = " + value +
        "\n");
    const NDArray c(kI32, {1}), xs(kI32, {2});
    c.SetInt(0, before);
    xs.SetInt(0, x);
    xs.SetInt(1, x);
    const absl::Status status = Compile(function)->Run({c, xs});
    return status.ok() ? std::to_string(c.GetInt(0)) : std::string(status.message());
  };
  const int64_t most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(run("C[0] + X[0]", most, 1), std::to_string(-most - 1));
  EXPECT_EQ(run("X[0] + X[1] + C[0]", most, 1), std::to_string(-most));
  EXPECT_EQ(run("X[0] * X[1] + C[0]", most, 2), std::to_string(-most + 2));
  EXPECT_EQ(run("C[0] - X[0] - X[1]", -most, 1), std::to_string(most));
  EXPECT_EQ(run("C[0] * X[0]", 1 << 30, 4), "0");
  EXPECT_EQ(run("C[0] + X[0] * X[1]", 0, most), "signed overflow");
  EXPECT_EQ(run("C[0] + (X[0] + X[1])", 0, most), "-2");
  EXPECT_EQ(run("X[0] + X[1]", 0, most), "signed overflow");
}

// What the first part of a condition guards need not have a value.
TEST(Script, GuardedSumsMayOverflow) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(C: T.Buffer((2,), "int32"), x: T.int32, y: T.int32):
    C[0] = T.if_then_else(x < 100 and x + y < 5, 1, 2)
    C[1] = T.if_then_else(x >= 100 or x * y - 1 == 5, 3, 4)
)");
  const auto run = [&](int x, int y) {
    const NDArray c(kI32, {2});
    const absl::Status status = RunOnce(function, {c, x, y});
    return status.ok() ? std::to_string(c.GetInt(0)) + " " + std::to_string(c.GetInt(1))
                       : std::string(status.message());
  };
  const int most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(run(most, most), "2 3");
  EXPECT_EQ(run(2, 3), "2 3");
  EXPECT_EQ(run(1, 3), "1 4");
  EXPECT_EQ(run(99, most), "signed overflow");
}

}  // namespace
}  // namespace tilewright::interp
