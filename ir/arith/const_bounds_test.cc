// Constant bounds of functions of integers: each number is inside, and they are as narrow as indices need.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/expr.h"

namespace tilewright::arith {
namespace {

TEST(ConstBounds, OfFunctionsOfBitsHoldEachNumber) {
  struct Function {
    const char* name;
    int64_t (*run)(int64_t, int64_t);
  };
  const Function functions[] = {
      {"bitwise_and", [](int64_t a, int64_t b) { return a & b; }},
      {"bitwise_or", [](int64_t a, int64_t b) { return a | b; }},
      {"bitwise_xor", [](int64_t a, int64_t b) { return a ^ b; }},
      {"shift_left", [](int64_t a, int64_t b) { return a * (int64_t{1} << b); }},
      {"shift_right", [](int64_t a, int64_t b) { return a >> b; }},
      {"abs", [](int64_t a, int64_t) { return std::abs(a); }},
      {"bitwise_not", [](int64_t a, int64_t) { return ~a; }},
      {"popcount", [](int64_t a, int64_t) { return int64_t{std::popcount(static_cast<uint32_t>(a))}; }},
  };
  const DataType type = DataType::Int(32);
  for (const Function& function : functions) {
    const std::string name = function.name;
    const bool one = name == "abs" || name == "bitwise_not" || name == "popcount", shifts = name.starts_with("shift");
    for (int64_t first = -9; first < 10; ++first) {
      for (int64_t second = shifts ? 0 : -9; second < 10; second += 3) {
        for (const int64_t count : {1, 4, 9}) {
          Analyzer analyzer;
          const Var a("a", type), b("b", type);
          analyzer.Bind(a, Range{Const(type, first), Const(type, count)});
          analyzer.Bind(b, Range{Const(type, second), Const(type, count)});
          const Bounds bounds =
              analyzer.ConstBounds(Call(type, name, one ? std::vector<Expr>{a} : std::vector<Expr>{a, b}));
          for (int64_t i = 0; i < count * count; ++i) {
            const int64_t x = first + i / count, y = second + i % count, value = function.run(x, y);
            EXPECT_TRUE(bounds.min <= value && value <= bounds.max) << name << " of " << x << " and " << y;
          }
        }
      }
    }
  }
}

TEST(ConstBounds, OfFunctionsOfBitsAreAsNarrowAsUsersNeed) {
  const DataType type = DataType::Int(32), byte = DataType::UInt(8);
  Analyzer analyzer;
  const Var a("a", type), any("any", type), narrow("narrow", byte), wide("wide", DataType::UInt(64));
  analyzer.Bind(a, Range{Const(type, 0), Const(type, 100)});
  const auto of = [&](const char* name, std::vector<Expr> args) {
    const DataType dtype = args[0].dtype();
    return analyzer.ConstBounds(Call(dtype, name, std::move(args)));
  };
  EXPECT_EQ(of("shift_right", {a, Const(type, 3)}), (Bounds{0, 12}));
  EXPECT_EQ(of("shift_left", {a, Const(type, 3)}), (Bounds{0, 792}));
  EXPECT_EQ(of("bitwise_and", {any, Const(type, 63)}), (Bounds{0, 63}));
  EXPECT_EQ(of("bitwise_xor", {a, Const(type, 1)}), (Bounds{0, 127}));
  EXPECT_EQ(of("bitwise_or", {a, Const(type, 64)}), (Bounds{64, 127}));
  EXPECT_EQ(of("abs", {a - 30}), (Bounds{0, 69}));
  EXPECT_EQ(of("popcount", {a}), (Bounds{0, 7}));
  EXPECT_EQ(of("bitwise_not", {a}), (Bounds{-100, -1}));
  EXPECT_EQ(of("bitwise_xor", {narrow, narrow}), (Bounds{0, 255}));
  // What may wrap, and numbers of uint64 beyond those of int64, have no bounds.
  EXPECT_LE(of("shift_left", {a, Const(type, 30)}).min, MinValue(type));
  EXPECT_LE(of("abs", {any}).min, MinValue(type));
  EXPECT_EQ(of("shift_left", {narrow, Const(byte, 1)}), (Bounds{0, 255}));
  EXPECT_EQ(of("bitwise_and", {wide, wide}), Bounds());
}

}  // namespace
}  // namespace tilewright::arith
