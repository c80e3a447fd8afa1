#include "codegen/cuda/wrapper_calls.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace tilewright::cuda {
namespace {

constexpr std::string_view kPrefix = "cuda.";

// CUDA functions with two leading underscores.
constexpr std::string_view kOfCuda[] = {
    "shfl_sync",       "shfl_up_sync",    "shfl_down_sync",  "shfl_xor_sync",   "ballot_sync",      "any_sync",
    "all_sync",        "reduce_add_sync", "reduce_min_sync", "reduce_max_sync", "reduce_and_sync",  "reduce_or_sync",
    "reduce_xor_sync", "syncthreads",     "syncwarp",        "threadfence",     "threadfence_block"};
// CUDA functions without leading underscores.
constexpr std::string_view kGlobal[] = {"atomicAdd", "atomicMax",  "atomicMin", "atomicAnd", "atomicOr",
                                        "atomicXor", "atomicExch", "atomicCAS", "atomicInc"};

}  // namespace

std::optional<std::string> WrapperOf(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string function(name.substr(kPrefix.size()));
  if (std::ranges::find(kOfCuda, function) != std::end(kOfCuda)) return absl::StrCat("__", function);
  if (std::ranges::find(kGlobal, function) != std::end(kGlobal)) return function;
  return absl::StrCat("tw::", function);
}

}  // namespace tilewright::cuda
