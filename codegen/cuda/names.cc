#include "codegen/cuda/names.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "codegen/abi/c_symbol.h"

namespace tilewright::cuda {
namespace {

// Words of CUDA, types of <stdint.h>, and macros of C.
constexpr std::string_view kTaken[] = {"threadIdx", "blockIdx", "blockDim", "gridDim",  "warpSize", "tw",
                                       "min",       "max",      "half",     "int8_t",   "int16_t",  "int32_t",
                                       "int64_t",   "uint8_t",  "uint16_t", "uint32_t", "uint64_t", "size_t",
                                       "NULL",      "NAN",      "INFINITY", "HUGE_VAL", "EOF",      "BUFSIZ"};

bool IsTaken(std::string_view name) {
  const bool is_macro = std::ranges::none_of(name, absl::ascii_islower);
  // Limits and constants of C, macros of the device's text.
  if (is_macro && (name.ends_with("_MAX") || name.ends_with("_MIN") || name.starts_with("M_"))) return true;
  return CSymbol(name) != name || name.starts_with("TW_") || name.starts_with("atomic") ||
         std::ranges::find(kTaken, name) != std::end(kTaken);
}

}  // namespace

std::string Names::Make(std::string_view name) {
  std::string base(name);
  for (char& c : base) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])) != 0) base = "v" + base;
  if (IsTaken(base) || base[0] == '_') base += "_v";
  if (base[0] == '_') base = "v" + base;
  std::string candidate = base;
  for (int i = 1; !taken_.insert(candidate).second; ++i) candidate = absl::StrCat(base, "_", i);
  return candidate;
}

}  // namespace tilewright::cuda
