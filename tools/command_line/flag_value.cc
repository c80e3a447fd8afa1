#include "tools/command_line/flag_value.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/nearest_names.h"

namespace tilewright {
namespace {

std::optional<std::string> Must(const FlagRow& row, const std::string& be, const std::string& value) {
  return std::string(row.flag) + " must be " + be + ", got " + value;
}

bool IsWhole(const std::string& value, int64_t least, int64_t most = INT64_MAX) {
  int64_t number;
  return absl::SimpleAtoi(value, &number) && number >= least && number <= most;
}

std::optional<std::string> WrongWhole(const FlagRow& row, int64_t least, const std::string& be,
                                      const std::string& value) {
  if (IsWhole(value, least)) return std::nullopt;
  const bool digits = value.find_first_not_of("0123456789") == value.npos;
  return Must(row, digits && value != "0" ? "a number below 2^63" : be, value);
}

std::optional<std::string> WrongTarget(const FlagRow& row, const std::string& value) {
  // What is wrong with a file is for the command to report.
  if (value.ends_with(".json") || NamedTarget(value).ok()) return std::nullopt;
  const std::vector<std::string> known = TargetNames();
  return std::string(row.flag) + "=" + value + ": there is no such target" + DidYouMean(value, known) + " (known are " +
         absl::StrJoin(known, ", ") + ")";
}

std::optional<std::string> WrongDim(const FlagRow& row, const std::string& value) {
  const auto dim = ReadDim(value);
  if (!dim) return Must(row, std::string(row.value) + " with whole numbers from 0 on", value);
  if (row.form == ValueForm::kDim) {
    return dim->second.size() == 1 ? std::nullopt : Must(row, "NAME=N, one number", value);
  }
  if (row.form == ValueForm::kDimSizes && dim->second.size() == 1) return std::nullopt;
  for (const int64_t size : dim->second) {
    if (size == 0) return Must(row, std::string(row.value) + " with positive sizes", value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WrongValue(const FlagRow& row, const std::string& value) {
  if (row.form == ValueForm::kSwitch) return std::nullopt;
  if (value.empty()) return std::string(row.flag) + " needs a value";
  switch (row.form) {
    case ValueForm::kChoice: {
      const std::vector<std::string> words = WordsOf(row.value, '|');
      for (const std::string& word : words) {
        if (word == value) return std::nullopt;
      }
      return *Must(row, "one of " + absl::StrJoin(words, ", "), value) + DidYouMean(value, words);
    }
    case ValueForm::kPositive: {
      double number;
      if (absl::SimpleAtod(value, &number) && std::isfinite(number) && number > 0) return std::nullopt;
      return Must(row, "a positive number", value);
    }
    case ValueForm::kCount:
      return WrongWhole(row, 1, "a whole number above 0", value);
    case ValueForm::kNatural:
      return WrongWhole(row, 0, "a whole number from 0 on", value);
    case ValueForm::kLevel:
      return IsWhole(value, 0, 3) ? std::nullopt : Must(row, "a number from 0 to 3", value);
    case ValueForm::kTarget:
      return WrongTarget(row, value);
    case ValueForm::kDim:
    case ValueForm::kDims:
    case ValueForm::kDimSizes:
      return WrongDim(row, value);
    default:
      return std::nullopt;
  }
}

std::optional<std::pair<std::string, std::vector<int64_t>>> ReadDim(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '=');
  if (parts.size() != 2 || parts[0].empty()) return std::nullopt;
  std::pair<std::string, std::vector<int64_t>> dim{parts[0], {}};
  for (const absl::string_view number : absl::StrSplit(parts[1], ',')) {
    int64_t value;
    if (!absl::SimpleAtoi(number, &value) || value < 0) return std::nullopt;
    dim.second.push_back(value);
  }
  return dim;
}

std::string EngineFor(const std::optional<std::string>& target, std::optional<FileKind> kind) {
  const bool is_model = kind == FileKind::kModel;
  if (!target) return is_model ? "llvm" : "interp";
  const auto named = NamedTarget(*target);
  if (!named.ok() || !named->is_gpu()) return "llvm";
  return is_model ? "cuda" : "cuda-emulation";
}

}  // namespace tilewright
