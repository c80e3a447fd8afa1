// Every math builtin against the C library in double, over its whole range.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/substitute.h"
#include "codegen/llvm/jit.h"
#include "codegen/runtime/tensor.h"
#include "ir/float_format.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using runtime::Tensor;

struct Reference {
  const char* name;
  double (*function)(double);
  double low, high;
  double units;  // largest error, in units in the last place of f32
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }
double Exp10(double x) { return std::pow(10, x); }

const Reference kReferences[] = {
    {"exp", std::exp, -87.3, 88.7, 2},
    {"log", std::log, 1e-40, 1e38, 2},
    {"log", std::log, 0.5, 2, 2},
    {"tanh", std::tanh, -10, 10, 3},
    {"tanh", std::tanh, -0.7, 0.7, 3},
    {"erf", std::erf, -5, 5, 3},
    {"erf", std::erf, -1e-3, 1e-3, 3},
    {"sigmoid", Sigmoid, -80, 80, 3},
    {"sqrt", std::sqrt, 0, 1e30, 0.5},
    {"rsqrt", Rsqrt, 1e-20, 1e20, 2},
    {"sin", std::sin, -100, 100, 1},
    {"cos", std::cos, -100, 100, 1},
    {"tan", std::tan, -1.5, 1.5, 1},
    {"asin", std::asin, -1, 1, 1},
    {"acos", std::acos, -1, 1, 1},
    {"atan", std::atan, -50, 50, 1},
    {"sinh", std::sinh, -20, 20, 2},
    {"cosh", std::cosh, -20, 20, 2},
    {"asinh", std::asinh, -50, 50, 2},
    {"acosh", std::acosh, 1, 50, 2},
    {"atanh", std::atanh, -0.99, 0.99, 2},
    {"exp2", std::exp2, -120, 120, 1},
    {"exp10", Exp10, -35, 35, 2},
    {"log2", std::log2, 1e-20, 1e20, 1},
    {"log10", std::log10, 1e-20, 1e20, 2},
    {"log1p", std::log1p, -0.9, 100, 1},
    {"floor", std::floor, -100, 100, 0},
    {"ceil", std::ceil, -100, 100, 0},
    {"trunc", std::trunc, -100, 100, 0},
    {"round", std::nearbyint, -100, 100, 0},
    {"round_away", std::round, -100, 100, 0},
    {"nearbyint", std::nearbyint, -100, 100, 0},
    {"abs", std::fabs, -100, 100, 0},
};

double UnitInTheLastPlace(double x) {
  const double least = std::numeric_limits<float>::denorm_min();
  return std::max(least, std::ldexp(1.0, std::ilogb(x == 0 ? least : x) - 23));
}

class Math : public ::testing::TestWithParam<Reference> {};
INSTANTIATE_TEST_SUITE_P(F32, Math, ::testing::ValuesIn(kReferences), [](const auto& reference) {
  return std::string(reference.param.name) + "_" + std::to_string(reference.index);
});

constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer((4096,), "$1"), B: T.Buffer((4096,), "$1")):
    for i in T.$2(4096):
        with T.block("B"):
            vi = T.axis.spatial(4096, i)
            B[vi] = T.$0(A[vi])
)";

template <class T>
std::vector<T> Compute(const std::string& name, const char* type, const char* loop, std::vector<T> inputs) {
  auto compiled = CompileToJit(ParseOrDie(absl::Substitute(kProgram, name, type, loop)), HostTarget());
  if (!compiled.ok()) {
    ADD_FAILURE() << compiled.status().message();
    return inputs;
  }
  inputs.resize(4096);
  const TwDataType dtype = {kTwFloat, sizeof(T) * 8, 1};
  Tensor a = *Tensor::Allocate(dtype, {4096}), b = *Tensor::Allocate(dtype, {4096});
  std::copy(inputs.begin(), inputs.end(), a.data<T>());
  TwTensor* args[] = {a.abi(), b.abi()};
  absl::Status status = (*compiled)->Run("main", args);
  EXPECT_TRUE(status.ok()) << status.message();
  return {b.data<T>(), b.data<T>() + 4096};
}

TEST_P(Math, IsAccurate) {
  const Reference& reference = GetParam();
  std::vector<float> inputs(4096);
  // Evenly over the interval; over its magnitudes where it spans many.
  const bool magnitudes = reference.low > 0 && reference.high / reference.low > 1e6;
  for (int i = 0; i < 4096; ++i) {
    const double t = i / 4095.0;
    inputs[i] = static_cast<float>(magnitudes ? reference.low * std::pow(reference.high / reference.low, t)
                                              : reference.low + (reference.high - reference.low) * t);
  }
  for (const char* loop : {"vectorized", "serial"}) {
    const std::vector<float> results = Compute(reference.name, "float32", loop, inputs);
    double worst = 0, at = 0;
    for (int i = 0; i < 4096; ++i) {
      const double expected = reference.function(inputs[i]);
      const double error = std::abs(results[i] - expected) / UnitInTheLastPlace(expected);
      if (error > worst) worst = error, at = inputs[i];
    }
    EXPECT_LE(worst, reference.units + 0.501) << "at " << at << " (" << loop << ")";
  }
}

TEST_P(Math, IsAccurateInDouble) {
  const Reference& reference = GetParam();
  std::vector<double> inputs(4096);
  for (int i = 0; i < 4096; ++i) {
    inputs[i] = reference.low + (reference.high - reference.low) * i / 4095;
  }
  const std::vector<double> results = Compute(reference.name, "float64", "vectorized", inputs);
  for (int i = 0; i < 4096; ++i) {
    const double expected = reference.function(inputs[i]);
    ASSERT_NEAR(results[i], expected, 1e-13 * std::max(1.0, std::abs(expected))) << "at " << inputs[i];
  }
}

// Results below the least normal number are zero, that number is there, those above the greatest one are infinite, and
// NaN stays NaN.
TEST(Exponentials, EndInZero) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float nan_of_bits = std::bit_cast<float>(0x7fc001ffu);
  const struct {
    const char* name;
    double (*function)(double);
    std::vector<float> inputs;
  } cases[] = {
      {"exp",
       std::exp,
       {-infinity, -1e30f, -104, -103, -88, -87.33655f, -87.33654f, -87.3f, 0, 88.7f, 88.72283f, 88.72284f, 1e30f,
        infinity, nan, nan_of_bits}},
      {"exp2",
       std::exp2,
       {-infinity, -1e30f, -151, -149, -127, -126.00001f, -126, -125.9f, 0, 127.9f, 127.99999f, 128, 1e30f, infinity,
        nan, nan_of_bits}},
  };
  for (const auto& [name, function, inputs] : cases) {
    for (const char* loop : {"vectorized", "serial"}) {
      const std::vector<float> results = Compute(name, "float32", loop, inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        SCOPED_TRACE(absl::Substitute("$0($1), $2", name, inputs[i], loop));
        const double exact = function(inputs[i]);
        if (std::isnan(exact)) {
          EXPECT_TRUE(std::isnan(results[i]));
        } else if (std::isinf(static_cast<float>(exact))) {
          EXPECT_EQ(results[i], static_cast<float>(exact));
        } else if (exact < std::numeric_limits<float>::min()) {
          EXPECT_EQ(results[i], 0.0f);
        } else {
          EXPECT_LE(std::abs(results[i] - exact), 1.501 * UnitInTheLastPlace(exact));
        }
      }
    }
  }
}

// Whatever the numbers that share a vector: denormals in f32 or in bfloat16 only, ties, what overflows, NaN.
TEST(BFloat16, IsRoundedToNearest) {
  constexpr char kRounding[] = R"(
@T.prim_func
def main(A: T.Buffer((65536,), "float32"), B: T.Buffer((65536,), "bfloat16")):
    for o in range(4096):
        for i in T.vectorized(16):
            with T.block("B"):
                vi = T.axis.spatial(65536, o * 16 + i)
                B[vi] = T.Cast("bfloat16", A[vi])
)";
  auto compiled = CompileToJit(ParseOrDie(kRounding), HostTarget());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  Tensor a = *Tensor::Allocate({kTwFloat, 32, 1}, {65536}), b = *Tensor::Allocate({kTwBfloat, 16, 1}, {65536});
  std::mt19937 random(1);
  for (int i = 0; i < 65536; ++i) {
    uint32_t bits = random();
    if (i % 3 == 0) bits = (bits & 0xffff0000) | 0x8000;           // a tie
    if (i / 16 % 2 == 0) bits = (bits & 0x87ffffff) | 0x20000000;  // a vector without denormals
    if (i / 16 % 4 == 1 && i % 5 == 0) bits &= 0x80ffffff;         // denormals, and the least normal numbers
    a.data<float>()[i] = std::bit_cast<float>(bits);
  }
  TwTensor* args[] = {a.abi(), b.abi()};
  ASSERT_TRUE((*compiled)->Run("main", args).ok());
  for (int i = 0; i < 65536; ++i) {
    const float x = a.data<float>()[i];
    const double got = FromBits(DataType::BFloat16(), b.data<uint16_t>()[i]), want = RoundTo(DataType::BFloat16(), x);
    ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want))
        << x << " -> " << got;
  }
}

// Vectors of halves are compared like their values: NaN with nothing, both zeros alike. Neither kind of minimum and
// maximum changes an operand.
TEST(Halves, CompareLikeTheirValues) {
  constexpr char kComparisons[] = R"(
@T.prim_func
def main(A: T.Buffer((65536,), "float16"), B: T.Buffer((65536,), "float16"), C: T.Buffer((65536,), "int32"),
         Least: T.Buffer((65536,), "float16"), Greatest: T.Buffer((65536,), "float16")):
    for o in range(2048):
        for i in T.vectorized(32):
            with T.block("C"):
                v = T.axis.spatial(65536, o * 32 + i)
                C[v] = T.Select(A[v] < B[v], 1, 0) + T.Select(A[v] <= B[v], 2, 0) + T.Select(A[v] == B[v], 4, 0) + T.Select(A[v] != B[v], 8, 0) + T.Select(A[v] > B[v], 16, 0) + T.Select(A[v] >= B[v], 32, 0)
        for i in T.vectorized(32):
            with T.block("Least"):
                v = T.axis.spatial(65536, o * 32 + i)
                Least[v] = T.min(A[v], B[v])
        for i in T.vectorized(32):
            with T.block("Greatest"):
                v = T.axis.spatial(65536, o * 32 + i)
                Greatest[v] = T.max(A[v], B[v])
)";
  auto compiled = CompileToJit(ParseOrDie(kComparisons), HostTarget());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const TwDataType half = {kTwFloat, 16, 1};
  Tensor a = *Tensor::Allocate(half, {65536}), b = *Tensor::Allocate(half, {65536});
  Tensor c = *Tensor::Allocate({kTwInt, 32, 1}, {65536});
  Tensor least = *Tensor::Allocate(half, {65536}), greatest = *Tensor::Allocate(half, {65536});
  constexpr uint16_t kSpecial[] = {0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e01, 0xfd00, 0x3c00, 0x0001, 0x8001};
  std::mt19937 random(2);
  for (int i = 0; i < 65536; ++i) {
    a.data<uint16_t>()[i] = static_cast<uint16_t>(i);
    const uint32_t drawn = random();
    const auto other = drawn % 4 == 0   ? kSpecial[drawn / 4 % std::size(kSpecial)]
                       : drawn % 4 == 1 ? static_cast<uint16_t>(i ^ 0x8000)
                                        : static_cast<uint16_t>(drawn >> 16);
    b.data<uint16_t>()[i] = drawn % 16 == 2 ? static_cast<uint16_t>(i) : other;
  }
  TwTensor* args[] = {a.abi(), b.abi(), c.abi(), least.abi(), greatest.abi()};
  ASSERT_TRUE((*compiled)->Run("main", args).ok());
  for (int i = 0; i < 65536; ++i) {
    const uint16_t bits_x = a.data<uint16_t>()[i], bits_y = b.data<uint16_t>()[i];
    const double x = FromBits(DataType::Float(16), bits_x), y = FromBits(DataType::Float(16), bits_y);
    ASSERT_EQ(c.data<int32_t>()[i], (x < y ? 1 : 0) + (x <= y ? 2 : 0) + (x == y ? 4 : 0) + (x != y ? 8 : 0) +
                                        (x > y ? 16 : 0) + (x >= y ? 32 : 0))
        << x << " and " << y;
    ASSERT_EQ(least.data<uint16_t>()[i], x < y ? bits_x : bits_y) << x << " and " << y;
    ASSERT_EQ(greatest.data<uint16_t>()[i], x > y ? bits_x : bits_y) << x << " and " << y;
  }
}

// Minima and maxima in each other, with numbers on either side: each is the second operand where one is NaN.
TEST(Choices, OfChoicesForgetNanInOrder) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float numbers[] = {0, 2, -1}, inputs[] = {nan, 0, 1, 2, 3, -1, -2, inf, -inf};
  // The outer one's number stands right or left, like the inner one's.
  const auto choose = [](bool max, float a, float b) { return max ? (a > b ? a : b) : (a < b ? a : b); };
  const auto text = [](bool max, const std::string& a, const std::string& b) {
    return std::string(max ? "T.max(" : "T.min(") + a + ", " + b + ")";
  };
  for (int form = 0; form < 16; ++form) {
    const bool outer = (form & 1) != 0, inner = (form & 2) != 0, outer_right = (form & 4) != 0,
               inner_right = (form & 8) != 0;
    for (const float c : numbers) {
      for (const float d : numbers) {
        const std::string of_c = "T.float32(" + std::to_string(c) + ")", of_d = "T.float32(" + std::to_string(d) + ")";
        const std::string of_inner = inner_right ? text(inner, "A[v]", of_c) : text(inner, of_c, "A[v]");
        const auto compiled = CompileToJit(
            ParseOrDie("@T.prim_func\ndef main(A: T.Buffer((9,), \"float32\"), B: T.Buffer((9,), \"float32\")):\n"
                       "    for i in range(9):\n"
                       "        with T.block(\"B\"):\n"
                       "            v = T.axis.spatial(9, i)\n"
                       "            B[v] = " +
                       (outer_right ? text(outer, of_inner, of_d) : text(outer, of_d, of_inner)) + "\n"),
            HostTarget());
        ASSERT_TRUE(compiled.ok()) << compiled.status().message();
        Tensor a = *Tensor::Allocate({kTwFloat, 32, 1}, {9}), b = *Tensor::Allocate({kTwFloat, 32, 1}, {9});
        std::copy(std::begin(inputs), std::end(inputs), a.data<float>());
        TwTensor* args[] = {a.abi(), b.abi()};
        ASSERT_TRUE((*compiled)->Run("main", args).ok());
        for (int i = 0; i < 9; ++i) {
          const float x = inputs[i], of_x = inner_right ? choose(inner, x, c) : choose(inner, c, x);
          const float want = outer_right ? choose(outer, of_x, d) : choose(outer, d, of_x), got = b.data<float>()[i];
          EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
              << x << " by form " << form << " with " << c << " and " << d << " gives " << got << ", not " << want;
        }
      }
    }
  }
}

// The same number twice, which LLVM knows to be one only when buffers have become values or where it is converted.
TEST(Choices, OfOneNumberTwiceForgetNan) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const float inputs[] = {kNan, 0, 1, 2, 3, -1, -2, kInf, -kInf};
  constexpr char kChoices[] = R"(
@T.prim_func
def main(A: T.Buffer((9,), "float32"), P: T.Buffer((9,), "int32"), B: T.Buffer((9,), "float32")):
    for i in T.$0(9):
        with T.block("B"):
            v = T.axis.spatial(9, i)
            T.reads(A[v], P[v])
            T.writes(B[v])
            number = T.alloc_buffer((1,), "float32", scope="local")
            chosen = T.alloc_buffer((1,), "float32", scope="local")
            number[0] = $1
            chosen[0] = T.$2(number[0], A[v])
            B[v] = T.$2(chosen[0], number[0])
)";
  for (const std::string loop : {"serial", "vectorized"}) {
    for (const std::string number : {"T.float32(2)", "T.Cast(\"float32\", P[v])"}) {
      for (const bool max : {false, true}) {
        const auto compiled =
            CompileToJit(ParseOrDie(absl::Substitute(kChoices, loop, number, max ? "max" : "min")), HostTarget());
        ASSERT_TRUE(compiled.ok()) << compiled.status().message();
        Tensor a = *Tensor::Allocate({kTwFloat, 32, 1}, {9}), b = *Tensor::Allocate({kTwFloat, 32, 1}, {9});
        Tensor p = *Tensor::Allocate({kTwInt, 32, 1}, {9});
        std::copy(std::begin(inputs), std::end(inputs), a.data<float>());
        std::fill_n(p.data<int32_t>(), 9, 2);
        TwTensor* args[] = {a.abi(), p.abi(), b.abi()};
        ASSERT_TRUE((*compiled)->Run("main", args).ok());
        for (int i = 0; i < 9; ++i) {
          const float x = inputs[i], want = (max ? x > 2 : x < 2) ? x : 2;
          EXPECT_EQ(b.data<float>()[i], want)
              << x << " by " << (max ? "max" : "min") << " of " << number << ", " << loop;
        }
      }
    }
  }
}

// A vector divided by one number: like a division where that is exact or not finite, within a unit elsewhere.
TEST(Quotients, AreThoseOfADivision) {
  constexpr char kQuotients[] = R"(
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), S: T.Buffer((1,), "float32"), B: T.Buffer((4096,), "float32")):
    for i in T.vectorized(4096):
        with T.block("B"):
            vi = T.axis.spatial(4096, i)
            B[vi] = A[vi] / S[0]
)";
  auto compiled = CompileToJit(ParseOrDie(kQuotients), HostTarget());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  Tensor a = *Tensor::Allocate({kTwFloat, 32, 1}, {4096}), s = *Tensor::Allocate({kTwFloat, 32, 1}, {1});
  Tensor b = *Tensor::Allocate({kTwFloat, 32, 1}, {4096});
  for (const float divisor : {3.0f, 0.1f, -7.7e12f, 1.9999999f, 1e-20f, 0.0f, -0.0f, inf, nan, 1e-45f, 1e-39f, 3e38f}) {
    for (int i = 0; i < 4096; ++i) a.data<float>()[i] = static_cast<float>(i - 2048) * divisor;
    const float special[] = {inf, -inf, nan, 0.0f, -0.0f, 1e-45f, 1e-38f, 3e38f, 1.0f};
    for (int i = 0; i < 9; ++i) a.data<float>()[16 * i] = special[i];
    for (int i = 2000; i < 2048; ++i) a.data<float>()[i] = 1.0f / static_cast<float>(i);
    s.data<float>()[0] = divisor;
    TwTensor* args[] = {a.abi(), s.abi(), b.abi()};
    ASSERT_TRUE((*compiled)->Run("main", args).ok());
    for (int i = 0; i < 4096; ++i) {
      const float x = a.data<float>()[i], got = b.data<float>()[i], want = x / divisor;
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << x << " / " << divisor;
      } else if (std::isinf(want) || static_cast<double>(want) * divisor == x) {
        EXPECT_EQ(got, want) << x << " / " << divisor;
      } else {
        const double units = std::abs(want) < 0x1p-100 ? 2 : 1;
        EXPECT_LE(std::abs(got - want), units * UnitInTheLastPlace(want)) << x << " / " << divisor;
      }
    }
  }
}

// Remainders of vectors are those of the library, bit by bit: of magnitudes that differ much or little, of multiples,
// of neighbours of multiples and of special numbers.
TEST(Remainders, AreThoseOfTheLibrary) {
  constexpr char kRemainders[] = R"(
@T.prim_func
def main(A: T.Buffer((4099,), "float32"), B: T.Buffer((4099,), "float32"), C: T.Buffer((4099,), "float32")):
    for i in T.vectorized(4099):
        with T.block("C"):
            vi = T.axis.spatial(4099, i)
            C[vi] = T.fmod(A[vi], B[vi])
)";
  auto compiled = CompileToJit(ParseOrDie(kRemainders), HostTarget());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  constexpr int64_t kCount = 4099;
  Tensor a = *Tensor::Allocate({kTwFloat, 32, 1}, {kCount}), b = *Tensor::Allocate({kTwFloat, 32, 1}, {kCount});
  Tensor c = *Tensor::Allocate({kTwFloat, 32, 1}, {kCount});
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float special[] = {inf, -inf, nan, 0.0f, -0.0f, 1e-45f, -1e-39f, 3e38f, 1.0f, -1.0f};
  std::mt19937_64 random(1);
  // Vectors of all kinds, of specials too, and vectors of quotients that fit.
  for (const int spread : {1, 20, 28, 29, 100, 250}) {
    for (int64_t i = 0; i < kCount; ++i) {
      const auto draw = [&] {
        return std::ldexp(static_cast<float>(static_cast<int64_t>(random() % (1 << 25)) - (1 << 24)), -24);
      };
      const int exponent = static_cast<int>(random() % static_cast<uint64_t>(spread));
      float divisor = std::ldexp(draw(), -exponent / 2), x = std::ldexp(draw(), exponent - exponent / 2);
      if (i % 3 == 0) x = divisor * static_cast<float>(random() % 1000);
      if (i % 3 == 1) x = std::nextafter(divisor * static_cast<float>(random() % 1000), i % 2 == 0 ? inf : -inf);
      if (spread > 100 && i % 7 == 0) x = special[random() % std::size(special)];
      if (spread > 100 && i % 5 == 0) divisor = special[random() % std::size(special)];
      a.data<float>()[i] = x;
      b.data<float>()[i] = divisor;
    }
    TwTensor* args[] = {a.abi(), b.abi(), c.abi()};
    ASSERT_TRUE((*compiled)->Run("main", args).ok());
    for (int64_t i = 0; i < kCount; ++i) {
      const float x = a.data<float>()[i], divisor = b.data<float>()[i], got = c.data<float>()[i];
      const float want = std::fmod(x, divisor);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << x << " % " << divisor;
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << x << " % " << divisor;
      }
    }
  }
}

TEST(MathEdges, InfinitiesAndNans) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [name, function] : {std::pair<const char*, double (*)(double)>{"exp", std::exp},
                                       {"log", std::log},
                                       {"tanh", std::tanh},
                                       {"erf", std::erf},
                                       {"sigmoid", Sigmoid}}) {
    const std::vector<float> inputs = {inf, -inf, nan, 0.0f, -0.0f, 1e-45f, 3e38f, -3e38f, 1.0f, -1.0f};
    const std::vector<float> results = Compute(name, "float32", "vectorized", inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto expected = static_cast<float>(function(inputs[i]));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(results[i])) << name << " of " << inputs[i];
      } else if (std::isinf(expected)) {
        EXPECT_EQ(results[i], expected) << name << " of " << inputs[i];
      } else {
        EXPECT_NEAR(results[i], expected, 1e-6) << name << " of " << inputs[i];
      }
    }
  }
}

// Near 1 and beyond, where a quotient of sums could be rounded past it.
TEST(MathEdges, TanhIsAtMostOne) {
  std::vector<float> inputs;
  for (int i = 0; i < 4096; ++i) inputs.push_back(static_cast<float>(4 + i * 0x1p-9) * (i % 2 == 0 ? 1.0f : -1.0f));
  for (const char* loop : {"vectorized", "serial"}) {
    for (const float result : Compute("tanh", "float32", loop, inputs)) EXPECT_LE(std::abs(result), 1.0f);
  }
}

}  // namespace
}  // namespace tilewright
