#include "codegen/remote/projection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/run_command.h"
#include "base/temporary_file.h"

namespace tilewright::remote {
namespace {

using Lines = std::vector<absl::string_view>;

constexpr std::array<absl::string_view, 9> kProducts = {"fmla",  "sdot",  "udot",   "usdot", "bfdot",
                                                        "smmla", "ummla", "usmmla", "bfmmla"};
// A loop whose products are fewer by this factor than those of another one is a remainder of it.
constexpr int64_t kFewerProducts = 4;
// Iterations that llvm-mca simulates: enough that the first and the last do not count.
constexpr int kIterations = 200;

absl::string_view Mnemonic(absl::string_view line) {
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  return text.substr(0, text.find_first_of(" \t"));
}

bool IsInstruction(absl::string_view line) {
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  return !text.empty() && text[0] != '.' && text[0] != '/' && text.back() != ':' && !absl::StrContains(text, ":\t");
}

int64_t CountProducts(const Lines& loop) {
  return std::ranges::count_if(
      loop, [](absl::string_view line) { return std::ranges::find(kProducts, Mnemonic(line)) != kProducts.end(); });
}

// Instructions from each label that is branched back to, to the branch, where no other such loop lies between.
std::vector<Lines> InnermostLoops(const Lines& lines) {
  std::map<absl::string_view, size_t> labels;
  std::vector<std::pair<size_t, size_t>> loops;
  for (size_t i = 0; i < lines.size(); ++i) {
    const absl::string_view line = lines[i];
    if (absl::StartsWith(line, ".L") && absl::StrContains(line, ":")) {
      labels[line.substr(0, line.find(':'))] = i;
      continue;
    }
    if (!IsInstruction(line)) continue;
    const size_t target = line.find(".LBB");
    if (target == line.npos) continue;
    const auto found = labels.find(absl::StripAsciiWhitespace(line.substr(target)));
    if (found == labels.end()) continue;
    const bool encloses = std::ranges::any_of(loops, [&](const auto& loop) { return loop.first > found->second; });
    if (!encloses) loops.emplace_back(found->second, i);
  }
  std::vector<Lines> result;
  for (const auto& [begin, end] : loops) {
    Lines& loop = result.emplace_back();
    for (size_t i = begin + 1; i <= end; ++i) {
      if (IsInstruction(lines[i])) loop.push_back(lines[i]);
    }
  }
  return result;
}

// The inner loop of products: among the loops with the most products, or not many fewer, the one of which they are the
// largest part. Transforms and other work on the operands multiply too, among much else. The longest loop where none
// has products.
const Lines& LoopOfProducts(const std::vector<Lines>& loops) {
  int64_t most = 0;
  for (const Lines& loop : loops) most = std::max(most, CountProducts(loop));
  return *std::ranges::max_element(loops, {}, [&](const Lines& loop) {
    const int64_t products = CountProducts(loop);
    const bool counts = products > 0 && products * kFewerProducts >= most;
    return std::pair(counts ? static_cast<double>(products) / static_cast<double>(loop.size()) : 0, loop.size());
  });
}

// The number after "Total Cycles:" and the like.
double NumberAfter(const std::string& text, absl::string_view key) {
  const size_t at = text.find(std::string(key));
  if (at == text.npos) return 0;
  const size_t begin = std::min(text.find_first_not_of(" \t", at + key.size()), text.size());
  double number = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), number);  // whatever the locale's decimal point is
  return number;
}

// Multiply-adds of vectors that the target's units start per cycle, for the kind of the loop's first product.
double ProductsPerCycle(const Lines& loop, const Target& target) {
  for (const absl::string_view line : loop) {
    const absl::string_view name = Mnemonic(line);
    if (std::ranges::find(kProducts, name) == kProducts.end()) continue;
    const bool matrix = absl::StrContains(name, "mmla"), fma = name == "fmla", bf16 = absl::StartsWith(name, "bf");
    const std::string_view unit_name = fma ? "fma" : matrix ? "matrix" : "dot";
    const std::string_view operand = fma ? "float32" : bf16 ? "bfloat16" : "int8";
    const int products = target.lanes(32) * (fma ? 1 : (bf16 ? 2 : 4) * (matrix ? 2 : 1));
    for (const ComputeUnit& unit : target.units) {
      if (unit.name == unit_name && unit.operand == operand) return static_cast<double>(unit.per_cycle) / products;
    }
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::optional<InnerLoop>> ProjectInnerLoop(const std::string& assembly, const Target& target) {
  const Lines lines = absl::StrSplit(assembly, '\n');
  const std::vector<Lines> loops = InnermostLoops(lines);
  if (loops.empty()) return std::nullopt;
  const Lines& loop = LoopOfProducts(loops);
  TemporaryFile file;
  // The branch goes to the loop's own beginning.
  if (!file.Write(absl::StrCat(absl::StrJoin(loop, "\n"), "\n"))) return absl::UnavailableError("cannot write a file");
  std::string output;
  int status = 127;
  for (const char* program : {"llvm-mca-19", "llvm-mca"}) {
    status = RunCommand(
        {program, "-mtriple=" + target.triple, "-mcpu=" + target.cpu, "-mattr=" + target.FeatureString(),
         absl::StrCat("-iterations=", kIterations), "-resource-pressure=0", "-instruction-info=0", file.path()},
        &output);
    if (status != 127) break;
  }
  if (status == 127) return absl::FailedPreconditionError("llvm-mca is not installed (apt-get install llvm-19)");
  const double instructions = NumberAfter(output, "Instructions:"), cycles = NumberAfter(output, "Total Cycles:");
  if (status != 0 || instructions <= 0 || cycles <= 0) return absl::InternalError("llvm-mca: " + output);
  InnerLoop result = {.instructions = instructions / kIterations,
                      .cycles = cycles / kIterations,
                      .products = static_cast<double>(CountProducts(loop))};
  const double per_cycle = ProductsPerCycle(loop, target);
  if (per_cycle > 0) result.rate = result.products / per_cycle / result.cycles;
  return result;
}

void CountInnerLoop(const std::optional<InnerLoop>& loop, Counters* counters) {
  const InnerLoop counted = loop.value_or(InnerLoop{.instructions = 1, .cycles = 1});
  (*counters)[kLoopInstructionsCounter] = std::llround(counted.instructions * kIterations);
  (*counters)[kLoopCyclesCounter] = std::llround(counted.cycles * kIterations);
}

double NanosecondsPerInstruction(const Counters& counters, const Target& target) {
  const auto instructions = counters.find(kLoopInstructionsCounter), cycles = counters.find(kLoopCyclesCounter);
  if (instructions == counters.end() || cycles == counters.end() || target.clock_ghz == 0) return 0;
  return static_cast<double>(cycles->second) / static_cast<double>(instructions->second) / target.clock_ghz;
}

double ProjectedMilliseconds(int64_t instructions, const InnerLoop& loop, const Target& target) {
  const double cycles = static_cast<double>(instructions) * loop.cycles / loop.instructions;
  return target.clock_ghz == 0 ? 0 : cycles / target.clock_ghz * 1e-6;
}

}  // namespace tilewright::remote
