// Layouts of buffers by name: where in shared memory instructions expect the elements of a tile.
//
//   swizzle_32B, swizzle_64B, swizzle_128B      what bulk tensor copies write and wgmma reads (sm_90)
//
// A swizzle is a layout of the last two dimensions, rows and columns. Columns are cut into panels whose rows have
// `span` bytes (32, 64 or 128); a panel's rows lie behind each other, and within a row the chunks of 16 bytes change
// places by exclusive or with the row's number, so that a column of chunks lies in different banks:
//
//   swizzle_128B of (64, 64) halves:   lambda i, j: (j // 64, i, (j % 64 // 8 ^ i % 8) * 8 + j % 8), shape (1, 64, 64)
//
// The pattern repeats after 8 rows, and memory must begin at a multiple of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "ir/buffer.h"

namespace tilewright {

// Rows after which a swizzle repeats.
inline constexpr int kSwizzleRows = 8;

// The span of a swizzle in bytes; nothing for another name.
std::optional<int64_t> SwizzleSpan(std::string_view name);
// The name of the swizzle with this span.
std::string SwizzleNamed(int64_t span);

// The layout of a buffer of this shape. InvalidArgument says why there is none: the name is unknown, the last two
// extents are not constants, or the rows do not fit the pattern.
absl::StatusOr<Layout> LayoutNamed(std::string_view name, const std::vector<Expr>& shape, DataType type);

}  // namespace tilewright
