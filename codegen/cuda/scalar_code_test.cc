// What the host computes of scalars is what the interpreter computes of the same expressions.
#include "codegen/cuda/scalar_code.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/script/parse_or_die.h"

namespace tilewright::cuda {
namespace {

// The value of an expression of `a` and `b`, as a function that stores it.
Function Storing(const std::string& value, const std::string& type, const std::string& result) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(a: T.$0, b: T.$0, R: T.Buffer((1,), "$1")):
    R[0] = $2
)",
                                             type, result, value));
}

Expr Stored(const Function& function) {
  Expr value;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* store = dyn_cast<StoreNode>(s)) value = store->value;
    return true;
  });
  return value;
}

Slots SlotsOf(const Function& function) {
  return {{function->params[0].var.get(), 0}, {function->params[1].var.get(), 1}};
}

absl::StatusOr<ScalarCode> Compiled(const std::string& value, const std::string& type = "int64",
                                    const std::string& result = "int64") {
  const Function function = Storing(value, type, result);
  return ScalarCode::Compile(Stored(function), SlotsOf(function));
}

int64_t ValueOf(const std::string& value, int64_t a, int64_t b = 0, const std::string& type = "int64") {
  const auto code = Compiled(value, type, type);
  EXPECT_TRUE(code.ok()) << value << ": " << code.status();
  const int64_t values[] = {a, b};
  return code.ok() ? code->Run(values) : 0;
}

struct TypeValues {
  std::string type;
  std::vector<int64_t> values;  // as a call binds them: unsigned ones are the bits
};

const std::vector<TypeValues>& AllTypes() {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  static const auto* const types = new std::vector<TypeValues>{
      {"int8", {-128, -7, -1, 0, 1, 2, 100, 127}},
      {"uint8", {0, 1, 2, 7, 100, 200, 255}},
      {"int16", {-32768, -3, -1, 0, 5, 300, 32767}},
      {"uint16", {0, 1, 3, 300, 65535}},
      {"int32", {-2147483647 - 1, -7, -1, 0, 1, 2, 1000, 2147483647}},
      {"uint32", {0, 1, 2, 7, 3000000000, 4294967295}},
      {"int64", {kLeast, kLeast + 1, -7, -1, 0, 1, 2, 5000000000, kMost}},
      {"uint64", {0, 1, 2, 7, kMost, kLeast, -3, -1}},
  };
  return *types;
}

// The interpreter stops at an overflow of signed numbers and at a division by zero: nothing is promised of them.
TEST(ScalarCode, EveryOperatorOfEveryTypeIsTheInterpreters) {
  int compared = 0;
  for (const auto& [type, values] : AllTypes()) {
    for (const char* op : {"a + b",
                           "a - b",
                           "a * b",
                           "T.truncdiv(a, b)",
                           "T.truncmod(a, b)",
                           "a // b",
                           "a % b",
                           "T.min(a, b)",
                           "T.max(a, b)",
                           "a == b",
                           "a != b",
                           "a < b",
                           "a <= b",
                           "a > b",
                           "a >= b",
                           "a < b and b < a + b",
                           "a < b or b < a + b",
                           "not (a < b)",
                           "T.Select(a < b, a, b)",
                           "T.if_then_else(b <= a, a, b)",
                           "T.Cast(\"int8\", a)",
                           "T.Cast(\"uint16\", a)",
                           "T.Cast(\"uint32\", a)",
                           "T.Cast(\"bool\", a)",
                           "T.likely(a < b)"}) {
      const std::string text(op);
      const bool compares =
          text.find_first_of("<>=!") != std::string::npos && text.find("T.Sel") != 0 && text.find("T.if") != 0;
      const size_t cast = text.find("T.Cast(\"");
      const std::string result = cast == 0 ? text.substr(8, text.find('"', 8) - 8) : compares ? "bool" : type;
      const Function function = Storing(text, type, result);
      const auto code = ScalarCode::Compile(Stored(function), SlotsOf(function));
      ASSERT_TRUE(code.ok()) << type << ", " << text << ": " << code.status();
      const auto program = interp::Compile(function);
      ASSERT_TRUE(program.ok()) << program.status();
      for (const int64_t a : values) {
        for (const int64_t b : values) {
          const NDArray stored(*DataType::Parse(result), {1});
          if (!program->Run({a, b, stored}).ok()) continue;
          const int64_t operands[] = {a, b};
          EXPECT_EQ(code->Run(operands), stored.GetInt(0)) << type << ", " << text << " of " << a << " and " << b;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 7000);
}

TEST(ScalarCode, ADivisionByZeroIsZero) {
  for (const char* op : {"T.truncdiv(a, b)", "T.truncmod(a, b)", "a // b", "a % b"}) {
    for (const char* type : {"int64", "uint64"}) EXPECT_EQ(ValueOf(op, 7, 0, type), 0) << op << ", " << type;
    EXPECT_EQ(ValueOf(op, std::numeric_limits<int64_t>::min(), -1), 0) << op;
  }
  EXPECT_EQ(ValueOf("T.if_then_else(b == 0, a, a // b)", 7), 7);
}

TEST(ScalarCode, WithoutAnExpressionItIsZero) { EXPECT_EQ(ScalarCode().Run(nullptr), 0); }

// A choice holds two values while it computes the third.
TEST(ScalarCode, DeepChoicesAreComputed) {
  for (const int levels : {1, 33, 63}) {
    std::string value = "a + b";
    for (int i = levels; i-- > 1;) value = absl::StrCat("T.Select(a == ", i, ", b, ", value, ")");
    for (const int64_t a : {1, levels / 2, levels - 1, 100}) {
      EXPECT_EQ(ValueOf(value, a, 1000), a > 0 && a < levels ? 1000 : a + 1000) << levels << " levels, " << a;
    }
  }
}

TEST(ScalarCode, WhatTheHostCannotComputeIsNamed) {
  std::string deep = "a";
  for (int i = 0; i < 80; ++i) deep = absl::StrCat("(b - ", deep, ")");
  EXPECT_EQ(Compiled(deep).status().message(), "an expression that nests too deeply for the host's part");
  const std::string no = "an expression that the host's part cannot compute";
  EXPECT_EQ(Compiled("T.Cast(\"int64\", R[0])").status().message(), no);
  EXPECT_EQ(Compiled("T.popcount(a)").status().message(), no);
  EXPECT_EQ(Compiled("T.Cast(\"int64\", a)", "float32").status().message(), no);
  EXPECT_EQ(Compiled("T.Cast(\"int64\", a < b)", "float32").status().message(), no);
  const Function function = Storing("a + b", "int64", "int64");
  EXPECT_EQ(ScalarCode::Compile(Stored(function), {{function->params[0].var.get(), 0}}).status().message(),
            "the host does not know variable b");
}

}  // namespace
}  // namespace tilewright::cuda
