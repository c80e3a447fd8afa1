// The functions of f32, of vectors and in loops that LLVM makes vectors of, against the C library's results in double:
// for numbers of any bits, huge and subnormal ones, infinities, NaN and zeros of both signs.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/substitute.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "codegen/testing/equivalence.h"
#include "ir/float_format.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using runtime::Tensor;

constexpr int kNumbers = 8192;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSpecial[] = {0.0f,    -0.0f,    1.0f,           -1.0f,        kInfinity,   -kInfinity, kNan,
                              1e-45f,  -1e-45f,  1e-38f,         -1e-38f,      3.4e38f,     -3.4e38f,   0.5f,
                              -0.5f,   2.0f,     -2.0f,          3.0f,         -3.0f,       0x1p-24f,   0x1p24f,
                              0x1p26f, -0x1p26f, 0x1.fffffep25f, 0x1.0002p24f, 0.99999994f, 1.0000001f, 127.0f,
                              128.0f,  -126.0f,  -149.0f,        -150.0f};

double Exp10(double x) { return std::pow(10, x); }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Function {
  const char* name;
  double (*reference)(double);
  double units;          // largest error, in units in the last place
  bool flushes = false;  // subnormal results are zero
  double Of(double x) const {
    const double exact = reference(x);
    return flushes && exact < 0x1p-126 ? 0 : exact;
  }
};
const Function kFunctions[] = {
    {"exp", std::exp, 2, true},    {"exp2", std::exp2, 2, true}, {"exp10", Exp10, 0.6},      {"log", std::log, 2},
    {"log2", std::log2, 0.6},      {"log10", std::log10, 0.6},   {"log1p", std::log1p, 0.6}, {"sin", std::sin, 0.6},
    {"cos", std::cos, 0.6},        {"tan", std::tan, 0.6},       {"asin", std::asin, 0.6},   {"acos", std::acos, 0.6},
    {"atan", std::atan, 0.6},      {"sinh", std::sinh, 0.6},     {"cosh", std::cosh, 0.6},   {"tanh", std::tanh, 3},
    {"asinh", std::asinh, 0.6},    {"acosh", std::acosh, 0.6},   {"atanh", std::atanh, 0.6}, {"erf", std::erf, 3},
    {"sigmoid", Sigmoid, 3, true},
};

struct FunctionOfTwo {
  const char* name;
  double (*reference)(double, double);
};
const FunctionOfTwo kFunctionsOfTwo[] = {{"pow", std::pow}, {"atan2", std::atan2}, {"hypot", std::hypot}};

// The distance of neighbours of `type` at x.
double Unit(DataType type, double x) {
  const int fraction = type == DataType::Float(32) ? 23 : type == DataType::Float(16) ? 10 : 7;
  const int least = type == DataType::Float(16) ? -14 : -126;
  return std::ldexp(1.0, (x == 0 ? least : std::max(std::ilogb(x), least)) - fraction);
}

::testing::AssertionResult IsNear(DataType type, double got, double want, double units) {
  if (std::isnan(want) && std::isnan(got)) return ::testing::AssertionSuccess();
  const double rounded = RoundTo(type, want);
  bool good = got == rounded && std::signbit(got) == std::signbit(rounded);
  if (std::isfinite(got) && std::isfinite(want) && want != 0) {
    good = std::abs(got - want) <= units * Unit(type, want) && std::signbit(got) == std::signbit(want);
  }
  if (good) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << got << ", not " << want << " (" << std::abs(got - want) / Unit(type, want)
                                       << " units)";
}

std::unique_ptr<CompiledModule> Compile(const std::string& call, const std::string& type, const char* loop) {
  constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer(($0,), "$1"), B: T.Buffer(($0,), "$1"), C: T.Buffer(($0,), "$1")):
    for o in range($3):
        for i in T.$2(16):
            with T.block("C"):
                v = T.axis.spatial($0, o * 16 + i)
                C[v] = $4
)";
  auto compiled = CompileAndLoad(ParseOrDie(absl::Substitute(kProgram, kNumbers, type, loop, kNumbers / 16, call)),
                                 testing::TestedTarget());
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  return compiled.ok() ? *std::move(compiled) : nullptr;
}

void CallOn(CompiledModule& module, Tensor& a, Tensor& b, Tensor& c) {
  TwTensor* args[] = {a.abi(), b.abi(), c.abi()};
  const absl::Status status = module.Run("main", args);
  ASSERT_TRUE(status.ok()) << status.message();
}

Tensor Floats() { return *Tensor::Allocate({kTwFloat, 32, 1}, {kNumbers}); }

// A third of any bits; the others where functions are neither infinite nor constant.
float AnyNumber(std::mt19937& random) {
  const uint32_t bits = random();
  if (bits % 3 == 0) return std::bit_cast<float>(static_cast<uint32_t>(random()));
  const double share = std::ldexp(random(), -32) * 2 - 1;
  return static_cast<float>(bits % 3 == 1 ? share * 2 : share * 120);
}

class OneArgument : public ::testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(Wide, OneArgument, ::testing::ValuesIn(kFunctions),
                         [](const auto& info) { return info.param.name; });

TEST_P(OneArgument, IsAccurateEverywhere) {
  const Function& function = GetParam();
  for (const char* loop : {"vectorized", "serial"}) {
    const auto module = Compile(absl::Substitute("T.$0(A[v])", function.name), "float32", loop);
    ASSERT_NE(module, nullptr);
    Tensor a = Floats(), b = Floats(), c = Floats();
    std::mt19937 random(7);
    for (int round = 0; round < 12; ++round) {
      for (int i = 0; i < kNumbers; ++i) a.data<float>()[i] = AnyNumber(random);
      if (round == 0) std::copy(std::begin(kSpecial), std::end(kSpecial), a.data<float>());
      CallOn(*module, a, b, c);
      for (int i = 0; i < kNumbers; ++i) {
        const float x = a.data<float>()[i];
        ASSERT_TRUE(IsNear(DataType::Float(32), c.data<float>()[i], function.Of(x), function.units))
            << function.name << " of " << x << " (" << loop << ")";
      }
    }
  }
}

// All numbers of a narrow type. Their results pass through f32.
TEST_P(OneArgument, IsAccurateForAllHalves) {
  const Function& function = GetParam();
  for (const DataType type : {DataType::Float(16), DataType::BFloat16()}) {
    const auto module = Compile(absl::Substitute("T.$0(A[v])", function.name), type.ToString(), "vectorized");
    ASSERT_NE(module, nullptr);
    const TwDataType dtype = {static_cast<uint8_t>(type == DataType::Float(16) ? kTwFloat : kTwBfloat), 16, 1};
    Tensor a = *Tensor::Allocate(dtype, {kNumbers}), c = *Tensor::Allocate(dtype, {kNumbers});
    for (int first = 0; first < 65536; first += kNumbers) {
      for (int i = 0; i < kNumbers; ++i) a.data<uint16_t>()[i] = static_cast<uint16_t>(first + i);
      CallOn(*module, a, a, c);
      for (int i = 0; i < kNumbers; ++i) {
        const double x = FromBits(type, static_cast<uint64_t>(first + i));
        const double units = 0.5 + std::ldexp(function.units, type == DataType::Float(16) ? -13 : -16);
        ASSERT_TRUE(IsNear(type, FromBits(type, c.data<uint16_t>()[i]), function.Of(x), units))
            << function.name << " of " << x << " in " << type.ToString();
      }
    }
  }
}

TEST(TwoArguments, AreAccurateEverywhere) {
  for (const FunctionOfTwo& function : kFunctionsOfTwo) {
    for (const char* loop : {"vectorized", "serial"}) {
      const auto module = Compile(absl::Substitute("T.$0(A[v], B[v])", function.name), "float32", loop);
      ASSERT_NE(module, nullptr);
      Tensor a = Floats(), b = Floats(), c = Floats();
      std::mt19937 random(9);
      for (int round = 0; round < 24; ++round) {
        for (int i = 0; i < kNumbers; ++i) {
          const bool whole = i % 4 == 0, near_one = i % 8 == 1, special = round == 0 && i < 32 * 32;
          const float x = AnyNumber(random), y = AnyNumber(random);
          a.data<float>()[i] = special    ? kSpecial[i / 32]
                               : near_one ? static_cast<float>(1 + std::ldexp(random(), -43) - 0x1p-12)
                                          : x;
          b.data<float>()[i] = special ? kSpecial[i % 32] : whole ? std::nearbyint(y) : y;
        }
        CallOn(*module, a, b, c);
        for (int i = 0; i < kNumbers; ++i) {
          const float x = a.data<float>()[i], y = b.data<float>()[i];
          ASSERT_TRUE(IsNear(DataType::Float(32), c.data<float>()[i], function.reference(x, y), 0.6))
              << function.name << " of " << x << " and " << y << " (" << loop << ")";
        }
      }
    }
  }
}

TEST(Powers, OfConstantExponents) {
  for (const float exponent : {1.0f, 2.0f, 3.0f, 5.0f, 8.0f, 9.0f, 0.0f, 0.5f, -1.0f, -2.0f}) {
    const auto module = Compile(absl::Substitute("T.pow(A[v], T.float32($0))", exponent), "float32", "vectorized");
    ASSERT_NE(module, nullptr);
    Tensor a = Floats(), c = Floats();
    std::mt19937 random(11);
    for (int i = 0; i < kNumbers; ++i) a.data<float>()[i] = i < 32 ? kSpecial[i] : AnyNumber(random);
    CallOn(*module, a, a, c);
    for (int i = 0; i < kNumbers; ++i) {
      const float x = a.data<float>()[i];
      ASSERT_TRUE(IsNear(DataType::Float(32), c.data<float>()[i], std::pow(x, static_cast<double>(exponent)), 0.6))
          << x << " to the power of " << exponent;
    }
  }
}

}  // namespace
}  // namespace tilewright
