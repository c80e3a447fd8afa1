// Functions of bytes and lookups of bytes, with each set of instructions that the host has for them.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "codegen/backend.h"
#include "codegen/llvm/object.h"
#include "codegen/runtime/tensor.h"
#include "codegen/testing/equivalence.h"
#include "intrin/instructions.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

using absl::Substitute;
using runtime::Tensor;
using testing::CompareWithInterpreter;

constexpr DataType kU8 = DataType::UInt(8);

const MachineInstruction* RowOf(const Target& target) { return FindInstruction(target, "lookup", kU8, kU8, kU8); }

// One for each instruction that looks up bytes, as far as the host has it.
std::vector<Target> Targets() {
  const Target host = HostTarget();
  std::vector<Target> targets;
  for (const char* name : {"x86-haswell", "x86-skylake-avx512", "host"}) {
    const Target target = *NamedTarget(name);
    if (CheckRunsOn(target, host).ok() && RowOf(target) != nullptr) targets.push_back(target);
  }
  return targets;
}

TEST(ByteFunctions, LookupsOfBytes) {
  for (const Target& target : Targets()) {
    for (const int entries : {16, 64, 128, 256}) {
      for (const int lanes : {8, 16, 32, 64, 128}) {
        for (const char* number : {"uint8", "int32"}) {
          EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($1,), "$0"), I: T.Buffer(($2,), "$3"), C: T.Buffer(($2,), "$0")):
    with T.block("C"):
        C[0:$2] = T.lookup("$0x$2", A[0:$1], I[0:$2])
)",
                                                      entries == 64 ? "int8" : "uint8", entries, lanes, number),
                                           {.target = target, .low = 0, .high = 256}),
                    "")
              << target.name << " " << entries << " " << lanes << " " << number;
        }
      }
    }
  }
}

// Applies a function to {N} bytes of {TYPE}.
constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer(({N},), "{TYPE}"), S: T.Buffer((2,), "float32"), C: T.Buffer(({N},), "{TYPE}")):
    for i in T.parallel({N} // {WIDTH}):
        for v in T.vectorized({WIDTH}):
            with T.block("C"):
                n = T.axis.spatial({N}, i * {WIDTH} + v)
                C[n] = {FUNCTION}
)";

struct Form {
  const char* type;
  int elements, width;
};

std::string Text(const Form& form, const std::string& function) {
  const std::string least = std::string_view(form.type) == "int8" ? "-128" : "0";
  const std::string most = std::string_view(form.type) == "int8" ? "127" : "255";
  std::string text = absl::StrReplaceAll(kProgram, {{"{FUNCTION}", function}});
  text = absl::StrReplaceAll(text, {{"{X}", "(T.Cast(\"float32\", T.Cast(\"int32\", A[n]) - 7) * S[0])"},
                                    {"{QUANTIZED", "T.Cast(\"{TYPE}\", T.max(T.min(T.nearbyint("},
                                    {"QUANTIZED}", "), T.float32({MOST})), T.float32({LEAST})))"}});
  return absl::StrReplaceAll(text, {{"{TYPE}", form.type},
                                    {"{MOST}", most},
                                    {"{LEAST}", least},
                                    {"{N}", std::to_string(form.elements)},
                                    {"{WIDTH}", std::to_string(form.width)}});
}

// Quotients and roots are rounded correctly everywhere.
constexpr const char* kExact[] = {
    "{QUANTIZED T.sqrt(T.fabs({X})) / S[1] / (T.fabs({X}) + T.float32(3)) * T.float32(100) QUANTIZED}",
    // NaN for half of the bytes, which a condition replaces.
    "T.Select(T.isnan(T.sqrt({X} - S[1])), T.Cast(\"{TYPE}\", 3), {QUANTIZED T.sqrt(T.fabs({X} - S[1])) / S[1] * "
    "T.float32(9) / (S[1] + T.float32(1)) QUANTIZED})",
};

TEST(ByteFunctions, AreWhatTheInterpreterComputes) {
  for (const Target& target : Targets()) {
    // Widths that fill vectors, that do not, and odd ones.
    for (const Form& form : {Form{"uint8", 4096, 64}, Form{"int8", 4096, 32}, Form{"uint8", 5145, 105},
                             Form{"int8", 5103, 63}, Form{"uint8", 4096, 256}}) {
      for (const char* function : kExact) {
        const std::string text = Text(form, function);
        EXPECT_EQ(CompareWithInterpreter(text, {.target = target, .integers = 100}), "") << target.name << text;
        const auto assembly = EmitAssembly(ParseOrDie(text), target);
        ASSERT_TRUE(assembly.ok()) << assembly.status();
        // LLVM overwrites the table instead of the numbers where that is better.
        const std::string named = absl::StrReplaceAll(*assembly, {{"vpermt2", "vpermi2"}});
        EXPECT_TRUE(absl::StrContains(named, std::string(RowOf(target)->name))) << target.name << text;
      }
    }
  }
}

// The results for all bytes, in their order, of a program of that many elements.
std::vector<uint8_t> ResultsForAllBytes(const Target& target, const Form& form, const char* function) {
  auto module = CompileAndLoad(ParseOrDie(Text(form, function)), target);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return {};
  const TwDataType type = std::string_view(form.type) == "int8" ? runtime::kInt8 : runtime::kUInt8;
  Tensor a = *Tensor::Allocate(type, {form.elements}), c = *Tensor::Allocate(type, {form.elements});
  Tensor s = *Tensor::Allocate(runtime::kFloat32, {2});
  s.data<float>()[0] = 0.037f;
  s.data<float>()[1] = 0.0041f;
  for (int i = 0; i < form.elements; ++i) a.data<uint8_t>()[i] = static_cast<uint8_t>(i);
  TwTensor* args[] = {a.abi(), s.abi(), c.abi()};
  EXPECT_TRUE((*module)->Run("main", args).ok());
  for (int i = 256; i < form.elements; ++i) EXPECT_EQ(c.data<uint8_t>()[i], c.data<uint8_t>()[i - 256]);
  return {c.data<uint8_t>(), c.data<uint8_t>() + 256};
}

// Functions that are approximated have the values in tables that they have elsewhere: few elements fill no table.
TEST(ByteFunctions, TablesHoldWhatIsComputedWithoutThem) {
  for (const Target& target : Targets()) {
    for (const char* type : {"uint8", "int8"}) {
      for (const char* function : {"sigmoid", "tanh", "exp", "erf", "sin", "log"}) {
        const std::string value = Substitute("{QUANTIZED T.$0({X}) / S[1] QUANTIZED}", function);
        EXPECT_EQ(ResultsForAllBytes(target, {type, 8192, 64}, value.c_str()),
                  ResultsForAllBytes(target, {type, 256, 64}, value.c_str()))
            << target.name << " " << type << " " << function;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
