// What kernels are made of, as their text shows: the kinds that campaigns count. A kernel is of several kinds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::cuda::testing {

// "mma", "wgmma", "async_copies", "tile_copies", "pixel_copies", "roles", "clusters", "lane_sums", "shared_memory",
// "threads".
std::vector<std::string> AllKernelKinds();

// Kinds of the kernels of a text; "threads" are kernels of none of the others.
std::vector<std::string> KernelKinds(std::string_view text);

}  // namespace tilewright::cuda::testing
