#include "codegen/cuda/names.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "codegen/abi/c_symbol.h"

namespace tilewright::cuda {
namespace {

// Words of CUDA, and types of <stdint.h>.
constexpr std::string_view kTaken[] = {"threadIdx", "blockIdx", "blockDim", "gridDim",  "warpSize", "tw",
                                       "min",       "max",      "half",     "int8_t",   "int16_t",  "int32_t",
                                       "int64_t",   "uint8_t",  "uint16_t", "uint32_t", "uint64_t", "size_t"};

}  // namespace

std::string Names::Make(std::string_view name) {
  std::string base(name);
  for (char& c : base) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])) != 0) base = "v" + base;
  if (CSymbol(base) != base || std::ranges::find(kTaken, base) != std::end(kTaken) || base[0] == '_') base += "_v";
  if (base[0] == '_') base = "v" + base;
  std::string candidate = base;
  for (int i = 1; !taken_.insert(candidate).second; ++i) candidate = absl::StrCat(base, "_", i);
  return candidate;
}

}  // namespace tilewright::cuda
