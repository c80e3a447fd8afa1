#include "bench/operators/extents.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tilewright::bench {
namespace {

// Numbers that decide what a program looks like: channels, kernel, stride, padding, dilation, groups; what is masked.
constexpr std::array<std::string_view, 11> kStructure = {"CI", "CO", "C",      "k",         "s",     "p",
                                                         "d",  "g",  "causal", "key_heads", "window"};

bool Contains(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

std::vector<std::string> NumberNames(Operator op) { return absl::StrSplit(std::string(Signature(op)), ','); }

// The shape's numbers without the symbolic ones: equal where the programs are.
std::vector<int64_t> ConstantNumbers(const Shape& shape, const Extents& extents) {
  const std::vector<std::string> names = NumberNames(shape.op);
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < shape.numbers.size(); ++i) {
    if (!Contains(extents.symbolic, names[i])) numbers.push_back(shape.numbers[i]);
  }
  return numbers;
}

}  // namespace

absl::Status CheckSymbolic(const std::vector<std::string>& names, const std::vector<Workload>& workloads) {
  for (const std::string& name : names) {
    const bool has = std::ranges::any_of(
        workloads, [&](const Workload& workload) { return Contains(NumberNames(workload.shape.op), name); });
    if (!has) return absl::InvalidArgumentError(absl::StrCat("--symbolic: no measured operator has a number ", name));
    if (Contains(kStructure, name)) {
      return absl::InvalidArgumentError(absl::StrCat("--symbolic: ", name, " is constant in every program"));
    }
  }
  return absl::OkStatus();
}

std::map<std::string, int64_t> SymbolicSizes(const Shape& shape, const Extents& extents) {
  std::map<std::string, int64_t> sizes;
  const std::vector<std::string> names = NumberNames(shape.op);
  for (size_t i = 0; i < shape.numbers.size(); ++i) {
    if (Contains(extents.symbolic, names[i])) sizes[names[i]] = shape.numbers[i];
  }
  return sizes;
}

SizesByName SizesOfSameProgram(const Workload& workload, const std::vector<Workload>& all, const Extents& extents) {
  SizesByName sizes;
  for (const Workload& other : all) {
    const bool same = other.shape.op == workload.shape.op && other.dtype == workload.dtype &&
                      ConstantNumbers(other.shape, extents) == ConstantNumbers(workload.shape, extents);
    if (!same) continue;
    for (const auto& [name, size] : SymbolicSizes(other.shape, extents)) sizes[name].push_back(size);
  }
  return sizes;
}

Expr ExtentExprs::operator()(const std::string& name, int64_t value) {
  const DataType type = DataType::Int(extents_.wide ? 64 : 32);
  if (!Contains(extents_.symbolic, name)) return Const(type, value);
  return variables_.try_emplace(name, Var(name, type)).first->second;
}

}  // namespace tilewright::bench
