// Functions of the device's text that programs call by name.
//
//   T.call("cuda.mma_m16n8k16_f32_f16", d, a, b)        tw::mma_m16n8k16_f32_f16(d, a, b)
//   T.call("cuda.cp_async", "16", to, from)             tw::cp_async<16>(to, from)
//   T.call("cuda.shfl_xor_sync", mask, value, 16)       __shfl_xor_sync(mask, value, 16)
//
// Strings among the arguments are template arguments. What the functions do: docs/cuda_emulator.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilewright::cuda {

// The function's name in the text; nothing where the name is not one of "cuda.NAME".
std::optional<std::string> WrapperOf(std::string_view name);

}  // namespace tilewright::cuda
