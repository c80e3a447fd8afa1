// Programs with symbolic extents through AutoSchedule: every schedule is verified, and equals the program as it was
// written at sizes around those of tiles, in the interpreter with all detectors and as machine code.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/space.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "schedule/script/trace_text.h"
#include "schedule/testing/equivalence.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr const char* kTargets[] = {"x86-znver4", "x86-haswell", "arm-neoverse-n1"};

// With the type of indices in the place of INDEX.
Function Program(const std::string& text, const char* index) {
  return ParseFunctionOrDie(absl::StrReplaceAll(text, {{"INDEX", index}}));
}

std::map<std::string, int64_t> Dims(int64_t n) { return {{"n", n}, {"m", n / 2 + 3}}; }

// Values of the variables in the order in which parameters' shapes use them.
std::vector<int64_t> Variables(const Function& function, int64_t n) {
  std::vector<int64_t> values;
  std::vector<const VarNode*> seen;
  for (const Param& param : function->params) {
    for (const Expr& extent : param.buffer->shape) {
      PreOrder(extent, [&](const Expr& e) {
        const auto* var = dyn_cast<VarNode>(e);
        if (var != nullptr && std::ranges::find(seen, var) == seen.end()) {
          seen.push_back(var);
          values.push_back(Dims(n).at(var->name));
        }
        return true;
      });
    }
  }
  return values;
}

void ExpectRightAt(const Function& before, const Module& scheduled, int64_t n, double max_error) {
  SCOPED_TRACE(n);
  const Function main = scheduled.Find("main");
  EXPECT_TRUE(testing::SameResults(before, main, {.dims = Dims(n), .max_error = max_error}));
}

// Around tiles of 6, 8, 12, 14 and 16 rows and vectors of 8 and 16 lanes.
constexpr int64_t kSizes[] = {0, 1, 2, 5, 6, 7, 13, 15, 16, 17, 29};

// `max_error`: of what does not compute exact sums of integers. `least`: sums over nothing leave their output as it was
// until they are scheduled.
void ExpectRight(const std::string& text, double max_error = 0, int64_t least = 0) {
  for (const char* index : {"int32", "int64"}) {
    SCOPED_TRACE(index);
    const Function function = Program(text, index);
    for (const char* name : kTargets) {
      SCOPED_TRACE(name);
      const Target target = *NamedTarget(name);
      IntrinRegistry intrins = IntrinRegistry::Builtin();
      const AutoScheduled result = AutoSchedule(Module(function), target, &intrins);
      const bool has_tiles = target.lanes(32) > 4;
      if (has_tiles && !result.left_alone.empty()) FAIL() << result.left_alone[0].ToString();
      const Function main = result.schedule.module().Find("main");
      const VerifyResult verified = VerifyProgram(main, &target);
      ASSERT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, main);
      for (const int64_t n : kSizes) {
        if (n >= least) ExpectRightAt(function, result.schedule.module(), n, max_error);
      }
      if (::testing::Test::HasFailure()) FAIL() << ToText(result.schedule.trace());
    }
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const AutoScheduled result = AutoSchedule(Module(function), HostTarget(), &intrins);
    for (const int64_t n : {0, 1, 5, 13, 16, 31, 37, 70}) {
      EXPECT_EQ(
          testing::CompareWithInterpreter(result.schedule.module(),
                                          {.tolerance = 1e-4, .variables = Variables(function, n), .parallel = true}),
          "")
          << n << "\n"
          << ToText(result.schedule.trace());
    }
  }
}

// Random choices of the space: what is made is accepted, and right at a random size.
void ExpectSpaceRight(const std::string& text, int count, double max_error = 0) {
  std::mt19937_64 random(11);
  const Target target = *NamedTarget("x86-znver4");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Function function = Program(text, "int64");
  const Space space(Module(function), target, &intrins);
  for (int seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    const Outcome<Candidate> candidate = space.Make(Choices::Drawn(static_cast<uint64_t>(seed)));
    ASSERT_TRUE(candidate.ok()) << candidate.refusal().primitive << ": " << candidate.refusal().reason;
    ExpectRightAt(function, candidate->schedule.module(), static_cast<int64_t>(random() % 40), max_error);
    if (::testing::Test::HasFailure()) FAIL() << ToText(candidate->schedule.trace());
  }
}

std::string Product(const std::string& shape_a, const std::string& shape_b, const std::string& shape_c,
                    const std::string& grid, const std::string& b, const std::string& types = "float32 float32") {
  const size_t space = types.find(' ');
  const std::string type = types.substr(0, space), sum = types.substr(space + 1);
  return absl::StrReplaceAll(R"(
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.INDEX()
    m = T.INDEX()
    A = T.match_buffer(a, SHAPE_A, "TYPE")
    B = T.match_buffer(b, SHAPE_B, "TYPE")
    C = T.match_buffer(c, SHAPE_C, "SUM")
    for i, j, k in T.grid(GRID):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.SUM(0)
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "SUM") * T.cast(B[PLACE], "SUM")
)",
                             {{"SHAPE_A", shape_a},
                              {"SHAPE_B", shape_b},
                              {"SHAPE_C", shape_c},
                              {"GRID", grid},
                              {"PLACE", b},
                              {"TYPE", type},
                              {"SUM", sum}});
}

TEST(Symbolic, SequencesBeforeABatchThatIsProbablyOne) {
  ExpectRight(R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((T.INDEX(8), T.INDEX(20)), "float32"), c: T.handle):
    T.func_attr({"tilewright.likely_sizes": {"n": [1]}})
    n = T.INDEX()
    A = T.match_buffer(a, (T.INDEX(9), n, T.INDEX(8)))
    C = T.match_buffer(c, (T.INDEX(9), n, T.INDEX(20)))
    for i, s, j, k in T.grid(T.INDEX(9), n, T.INDEX(20), T.INDEX(8)):
        with T.block("C"):
            vi, vs, vj, vk = T.axis.remap("SSSR", [i, s, j, k])
            with T.init():
                C[vi, vs, vj] = T.float32(0)
            C[vi, vs, vj] = C[vi, vs, vj] + A[vi, vs, vk] * B[vk, vj]
)");
}

TEST(Symbolic, ProductsWithAnyNumberOfRows) {
  ExpectRight(Product("(n, 40)", "(40, 48)", "(n, 48)", "n, 48, 40", "vk, vj"));
  ExpectRight(Product("(n, 40)", "(33, 40)", "(n, 33)", "n, 33, 40", "vj, vk"));
}

TEST(Symbolic, ProductsOfNarrowTypes) {
  ExpectRight(Product("(n, 22)", "(22, 33)", "(n, 33)", "n, 33, 22", "vk, vj", "bfloat16 float32"));
  ExpectRight(Product("(n, 22)", "(33, 22)", "(n, 33)", "n, 33, 22", "vj, vk", "int8 int32"));
}

TEST(Symbolic, ProductsWithAnyNumberOfColumnsAndDepth) {
  ExpectRight(Product("(20, 24)", "(24, n)", "(20, n)", "20, n, 24", "vk, vj"));
  ExpectRight(Product("(20, n)", "(n, 32)", "(20, 32)", "20, 32, n", "vk, vj"), 0, 1);
  ExpectRight(Product("(20, n)", "(32, n)", "(20, 32)", "20, 32, n", "vj, vk"), 0, 1);
  ExpectRight(Product("(n, m)", "(m, n)", "(n, n)", "n, n, m", "vk, vj"));
  ExpectRight(Product("(n, m)", "(m, 24)", "(n, 24)", "n, 24, m", "vk, vj", "int8 int32"));
}

// Zero points are split off: the sums wrap around, whatever the depth is.
std::string WithZeroPoint() {
  return absl::StrReplaceAll(Product("(n, m)", "(m, 24)", "(n, 24)", "n, 24, m", "vk, vj", "int8 int32"),
                             {{"T.cast(A[vi, vk], \"int32\")", "(T.cast(A[vi, vk], \"int32\") - 7)"}});
}

TEST(Symbolic, ProductsWithZeroPointsAndAnyDepth) { ExpectRight(WithZeroPoint()); }

TEST(Symbolic, ProductsWithZeroPointsAndAnyDepthHaveTiles) {
  const Function function = Program(WithZeroPoint(), "int32");
  for (const char* name : {"x86-znver4", "arm-neoverse-n1"}) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const std::string trace = ToText(AutoSchedule(Module(function), *NamedTarget(name), &intrins).schedule.trace());
    EXPECT_NE(trace.find("split_offset"), trace.npos) << name;
    EXPECT_NE(trace.find("tensorize"), trace.npos) << trace;
  }
}

constexpr char kBatches[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.INDEX()
    A = T.match_buffer(a, (n, 10, 16), "float32")
    B = T.match_buffer(b, (n, 16, 20), "float32")
    C = T.match_buffer(c, (n, 10, 20), "float32")
    for h, i, j, k in T.grid(n, 10, 20, 16):
        with T.block("C"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                C[vh, vi, vj] = T.float32(0)
            C[vh, vi, vj] = C[vh, vi, vj] + A[vh, vi, vk] * B[vh, vk, vj]
)";
TEST(Symbolic, ProductsWithAnyBatch) { ExpectRight(kBatches); }

// With a bias, and a maximum with 0.
constexpr char kLinear[] = R"(
@T.prim_func
def main(a: T.handle, W: T.Buffer((24, 32), "float32"), bias: T.Buffer((32,), "float32"), c: T.handle):
    n = T.INDEX()
    A = T.match_buffer(a, (n, 24), "float32")
    C = T.match_buffer(c, (n, 32), "float32")
    Y = T.alloc_buffer((n, 32), "float32")
    Z = T.alloc_buffer((n, 32), "float32")
    for i, j, k in T.grid(n, 32, 24):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * W[vk, vj]
    for i, j in T.grid(n, 32):
        with T.block("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = Y[vi, vj] + bias[vj]
    for i, j in T.grid(n, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(Z[vi, vj], T.float32(0))
)";
TEST(Symbolic, WhatIsComputedOfAProductJoinsIt) { ExpectRight(kLinear); }

std::string Convolution(const std::string& batch, const std::string& height, const std::string& output) {
  return absl::StrReplaceAll(R"(
@T.prim_func
def main(a: T.handle, W: T.Buffer((3, 3, 8, 16), "float32"), c: T.handle):
    n = T.INDEX()
    A = T.match_buffer(a, (BATCH, HEIGHT, HEIGHT, 8), "float32")
    C = T.match_buffer(c, (BATCH, OUTPUT, OUTPUT, 16), "float32")
    P = T.alloc_buffer((BATCH, HEIGHT + 2, HEIGHT + 2, 8), "float32")
    for b, y, x, d in T.grid(BATCH, HEIGHT + 2, HEIGHT + 2, 8):
        with T.block("P"):
            vb, vy, vx, vd = T.axis.remap("SSSS", [b, y, x, d])
            P[vb, vy, vx, vd] = T.if_then_else(1 <= vy and vy < HEIGHT + 1 and 1 <= vx and vx < HEIGHT + 1, A[vb, vy - 1, vx - 1, vd], T.float32(0))
    for b, y, x, o, r, q, d in T.grid(BATCH, OUTPUT, OUTPUT, 16, 3, 3, 8):
        with T.block("C"):
            vb, vy, vx, vo, vr, vq, vd = T.axis.remap("SSSSRRR", [b, y, x, o, r, q, d])
            with T.init():
                C[vb, vy, vx, vo] = T.float32(0)
            C[vb, vy, vx, vo] = C[vb, vy, vx, vo] + P[vb, vy + vr, vx + vq, vd] * W[vr, vq, vd, vo]
)",
                             {{"BATCH", batch}, {"HEIGHT", height}, {"OUTPUT", output}});
}
TEST(Symbolic, Convolutions) {
  ExpectRight(Convolution("n", "7", "7"));
  ExpectRight(Convolution("1", "n", "n"));
}

constexpr char kSoftmax[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.INDEX()
    A = T.match_buffer(a, (ROWS, LENGTH), "float32")
    B = T.match_buffer(b, (ROWS, LENGTH), "float32")
    M = T.alloc_buffer((ROWS,), "float32")
    E = T.alloc_buffer((ROWS, LENGTH), "float32")
    S = T.alloc_buffer((ROWS,), "float32")
    for i, k in T.grid(ROWS, LENGTH):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32(-3.4e38)
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid(ROWS, LENGTH):
        with T.block("E"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = T.exp(A[vi, vk] - M[vi])
    for i, k in T.grid(ROWS, LENGTH):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, k in T.grid(ROWS, LENGTH):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = E[vi, vk] / S[vi]
)";
std::string Softmax(const char* rows, const char* length) {
  return absl::StrReplaceAll(kSoftmax, {{"ROWS", rows}, {"LENGTH", length}});
}
TEST(Symbolic, ChainsAlongRows) {
  ExpectRight(Softmax("n", "40"), 1e-5);
  ExpectRight(Softmax("5", "n"), 1e-5, 1);
  ExpectRight(absl::StrReplaceAll(Softmax("n", "m"), {{"n = T.INDEX()", "n = T.INDEX()\n    m = T.INDEX()"}}), 1e-5);
}

std::string Elementwise(const char* rows, const char* columns) {
  return absl::StrReplaceAll(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.INDEX()
    A = T.match_buffer(a, (ROWS, COLUMNS), "float32")
    B = T.match_buffer(b, (ROWS, COLUMNS), "float32")
    for i, k in T.grid(ROWS, COLUMNS):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * T.float32(2)
)",
                             {{"ROWS", rows}, {"COLUMNS", columns}});
}
TEST(Symbolic, Elementwise) {
  ExpectRight(Elementwise("n", "24"));
  ExpectRight(Elementwise("3", "n"));
  ExpectRight(Elementwise("n", "n"));
}

TEST(Symbolic, AllChoicesAreRight) {
  ExpectSpaceRight(Product("(n, 24)", "(24, 33)", "(n, 33)", "n, 33, 24", "vk, vj"), 25);
  ExpectSpaceRight(kLinear, 15);
  ExpectSpaceRight(kBatches, 15);
  ExpectSpaceRight(Softmax("n", "40"), 15, 1e-5);
  ExpectSpaceRight(Softmax("5", "n"), 15, 1e-5);
  ExpectSpaceRight(Elementwise("n", "24"), 10);
}

// What a small size has to do is not worth threads; that one thread does it is a choice with a name.
TEST(Symbolic, ThreadsAreAChoiceBySize) {
  const Function function = Program(Product("(n, 24)", "(24, 33)", "(n, 33)", "n, 33, 24", "vk, vj"), "int64");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Target target = *NamedTarget("x86-znver4");
  const auto is_asked = [&](Choices& choices) {
    const AutoScheduled result = AutoSchedule(Module(function), target, &intrins, choices);
    return ToText(result.schedule.trace()).find("tilewright.threads_from") != std::string::npos;
  };
  Choices preferred = Choices::Preferred();
  EXPECT_TRUE(is_asked(preferred));
  std::vector<Choice> always;
  for (const Choice& choice : preferred.made()) {
    if (choice.label() == "where_worth") always.push_back(Choice::Of(choice.name, "always"));
  }
  ASSERT_EQ(always.size(), 1u);
  Choices given = Choices::GivenOrPreferred(always);
  EXPECT_FALSE(is_asked(given));
  target.cores = 1;
  Choices alone = Choices::Preferred();
  EXPECT_FALSE(is_asked(alone));
}

// Sizes that are named change what is fast, not what is right.
TEST(Symbolic, NamedSizesAreRightAtOthers) {
  const Function function = Program(Product("(n, 24)", "(24, 33)", "(n, 33)", "n, 33, 24", "vk, vj"), "int64");
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{1}, {37}, {1, 37, 512}}) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const Target target = *NamedTarget("x86-znver4");
    const AutoScheduled result = AutoSchedule(Module(WithLikelySizes(function, {{"n", sizes}})), target, &intrins);
    for (const int64_t n : kSizes) ExpectRightAt(function, result.schedule.module(), n, 0);
  }
}

}  // namespace
}  // namespace tilewright
