// The headers that kernels include, as text within this library: what emulation and NVRTC compile with.
#pragma once

#include <span>
#include <string_view>

namespace tilewright::cuda {

struct DeviceHeader {
  std::string_view path;  // as #include names it
  std::string_view text;
};

std::span<const DeviceHeader> DeviceHeaders();

}  // namespace tilewright::cuda
