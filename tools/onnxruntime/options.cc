#include "tools/onnxruntime/options.h"

#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilewright::onnxruntime {
namespace {

using graph::Precision;

const std::map<std::string, Precision>& Precisions() {
  static const auto* const precisions = new std::map<std::string, Precision>{{"f32", Precision::kExact},
                                                                             {"integer", Precision::kInteger},
                                                                             {"f16", Precision::kFloat16},
                                                                             {"bf16", Precision::kBFloat16}};
  return *precisions;
}

// One option: its name, what it takes, and how a text of it is read; false where it takes no such text.
struct Row {
  const char* name;
  const char* takes;
  bool (*read)(const std::string& text, ProviderOptions* options);
};

bool ReadNumber(const std::string& text, int least, int most, int* number) {
  return absl::SimpleAtoi(text, number) && *number >= least && *number <= most;
}

constexpr int kAny = std::numeric_limits<int>::max();
constexpr Row kRows[] = {
    {"cache_dir", "a folder, or off",
     [](const std::string& text, ProviderOptions* options) {
       options->cache_dir = text;
       return !text.empty();
     }},
    {"min_nodes", "a positive number",
     [](const std::string& text, ProviderOptions* options) { return ReadNumber(text, 1, kAny, &options->min_nodes); }},
    {"opt_level", "0, 1 or 2",
     [](const std::string& text, ProviderOptions* options) {
       return ReadNumber(text, 0, 2, &options->passes.opt_level);
     }},
    {"precision", "f32, integer, f16 or bf16",
     [](const std::string& text, ProviderOptions* options) {
       const auto known = Precisions().find(text);
       if (known != Precisions().end()) options->passes.precision = known->second;
       return known != Precisions().end();
     }},
    {"threads", "a number, 0 for one for each processor",
     [](const std::string& text, ProviderOptions* options) { return ReadNumber(text, 0, kAny, &options->threads); }},
};

}  // namespace

absl::StatusOr<ProviderOptions> ReadOptions(const std::map<std::string, std::string>& texts) {
  ProviderOptions options;
  for (const auto& [name, text] : texts) {
    const Row* row = nullptr;
    std::vector<std::string> names;
    for (const Row& known : kRows) {
      if (name == known.name) row = &known;
      names.push_back(known.name);
    }
    if (row == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no option \"", name, "\"; the options are ", absl::StrJoin(names, ", ")));
    }
    if (!row->read(text, &options)) {
      return absl::InvalidArgumentError(absl::StrCat("option ", name, "=\"", text, "\": expected ", row->takes));
    }
  }
  return options;
}

}  // namespace tilewright::onnxruntime
