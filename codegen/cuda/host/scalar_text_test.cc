// Expressions in the text of a launcher have the values that ScalarCode computes of them.
#include "codegen/cuda/host/scalar_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "base/run_command.h"
#include "base/temporary_folder.h"
#include "codegen/cuda/cxx_compiler.h"
#include "codegen/cuda/host/header_text.h"
#include "codegen/cuda/scalar_code.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"

namespace tilewright::cuda {
namespace {

// An expression of `a` and `b`, as text and as code.
struct Both {
  std::string text;
  ScalarCode code;
};

Both Parsed(const std::string& type, const std::string& value) {
  const Function function = ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(a: T.$0, b: T.$0, R: T.Buffer((1,), "int64")):
    R[0] = T.Cast("int64", $1)
)",
                                                                type, value));
  Expr stored;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* store = dyn_cast<StoreNode>(s)) stored = store->value;
    return true;
  });
  const VarNode *const a = function->params[0].var.get(), *const b = function->params[1].var.get();
  const auto text = ScalarText(stored, {{a, "a"}, {b, "b"}});
  auto code = ScalarCode::Compile(stored, {{a, 0}, {b, 1}});
  EXPECT_TRUE(text.ok() && code.ok()) << type << ", " << value << ": " << text.status() << ", " << code.status();
  return {text.value_or("a"), code.ok() ? *std::move(code) : ScalarCode()};
}

struct TypeValues {
  std::string type;
  std::vector<int64_t> values;
};

// A program that exits with the number of the first expression whose value is another one.
std::string ProgramText(int* compared) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  std::string functions, calls;
  int number = 0;
  for (const auto& [type, values] :
       {TypeValues{"int8", {-128, -3, 0, 2, 127}}, TypeValues{"uint8", {0, 2, 7, 255}},
        TypeValues{"int32", {-2147483647 - 1, -7, 0, 3, 2147483647}}, TypeValues{"uint32", {0, 3, 7, 4294967295}},
        TypeValues{"int64", {kLeast, -7, 0, 3, 5000000000, kMost}},
        TypeValues{"uint64", {0, 3, 7, kMost, kLeast, -1}}}) {
    for (const char* value : {"a + b",
                              "a - b * b",
                              "(a - b) * b",
                              "a - (b - a)",
                              "T.truncdiv(a, b)",
                              "T.truncmod(a, b)",
                              "a // b",
                              "a % b",
                              "T.min(a, b)",
                              "T.max(a, b) + 1",
                              "a == b",
                              "a != b",
                              "a < b",
                              "a <= b",
                              "a > b",
                              "a >= b",
                              "a + b > a - b",
                              "a < b and (b < 5 or a == 3)",
                              "not (a < b)",
                              "T.Select(a < b, a, b - a)",
                              "T.if_then_else(b <= a, a, b + b)",
                              "T.Cast(\"int8\", a)",
                              "T.Cast(\"uint16\", a + b)",
                              "T.Cast(\"bool\", a - b)",
                              "a - 5 < 3 - b"}) {
      const Both both = Parsed(type, value);
      absl::StrAppend(&functions, "Int f", ++number, "(Int a, Int b) { return ", both.text, "; }\n");
      for (const int64_t a : values) {
        for (const int64_t b : values) {
          const int64_t operands[] = {a, b};
          absl::StrAppend(&calls, "  {f", number, ", ", number, ", ", static_cast<uint64_t>(a), "ull, ",
                          static_cast<uint64_t>(b), "ull, ", static_cast<uint64_t>(both.code.Run(operands)), "ull},\n");
          ++*compared;
        }
      }
    }
  }
  return absl::StrCat(
      "#include \"codegen/cuda/host/numbers.h\"\n#include <cstdio>\n", "using namespace tilewright::cuda::host;\n",
      functions, "struct Call { Int (*f)(Int, Int); int number; uint64_t a, b, value; };\nconst Call calls[] = {\n",
      calls, "};\nint main() {\n  for (const Call& call : calls) {\n",
      "    const Int got = call.f(Int(int64_t(call.a)), Int(int64_t(call.b)));\n",
      "    if (got.bits() == call.value) continue;\n",
      "    std::printf(\"f%d of %lld and %lld is %lld, not %lld\", call.number, (long long)call.a, ",
      "(long long)call.b, (long long)got.bits(), (long long)call.value);\n    return 1;\n  }\n}\n");
}

TEST(ScalarText, HasTheValuesOfTheCode) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : HostHeaders()) ASSERT_TRUE(folder.Write(name, text));
  int compared = 0;
  const std::string text = ProgramText(&compared);
  EXPECT_GT(compared, 3000);
  ASSERT_TRUE(folder.Write("expressions.cc", text));
  const std::string program = folder.path() / "expressions";
  const absl::Status compiled =
      RunCxxCompiler({"-std=c++17", "-I", folder.path(), "-o", program, folder.path() / "expressions.cc"}, "a test");
  if (absl::IsFailedPrecondition(compiled)) GTEST_SKIP() << compiled;
  ASSERT_TRUE(compiled.ok()) << compiled;
  std::string output;
  EXPECT_EQ(RunCommand({program}, &output), 0) << output << "\n" << text;
}

TEST(ScalarText, ReadsAsAPersonWritesIt) {
  EXPECT_EQ(Parsed("int64", "(a + 127) // 128").text, "FloorDiv(a + 127, 128)");
  EXPECT_EQ(Parsed("int64", "a * (b + 1) - 2 * a").text, "a * (b + 1) - 2 * a");
  EXPECT_EQ(Parsed("int64", "T.min(a - (b - 1), 5000000000)").text, "Min(a - (b - 1), 5000000000LL)");
}

TEST(ScalarText, AnOperandOfAMemberAccessIsAnAtom) {
  const Var m("m", DataType::Int(64));
  const VarNames names = {{m.get(), "m"}};
  const auto atom = [&](const Expr& e) { return ScalarAtom(e, names).value_or("none"); };
  EXPECT_EQ(atom(m), "m");
  EXPECT_EQ(atom(m + Const(DataType::Int(64), 1)), "(m + 1)");
  EXPECT_EQ(atom(Const(DataType::Int(64), 5)), "Int(5)");
  EXPECT_EQ(ScalarText(Var("n", DataType::Int(64)), names).status().message(), "the host does not know variable n");
  EXPECT_EQ(ScalarText(Const(DataType::Float(32), 2), names).status().message(),
            "an expression that the host's part cannot compute");
}

TEST(ScalarText, QuotedTextIsALiteral) { EXPECT_EQ(Quoted("n \"is\" 3\n\\"), "\"n \\\"is\\\" 3\\n\\\\\""); }

}  // namespace
}  // namespace tilewright::cuda
