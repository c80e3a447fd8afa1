// Tensor maps, as cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col make them. Every rule of those functions is
// checked here, so that a map that a driver would refuse never leaves a test. Dimensions are innermost first.
//
//   ASSIGN_OR_RETURN(TwTensorMap map, EncodeTiled({.type = MapType::kF16, .address = a, .extents = {K, M},
//                                                  .strides = {K * 2}, .box = {64, 128}, .swizzle_bytes = 128}));
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/emulator/device/emulated_types.h"

namespace tilewright::emulator {

enum class MapType : uint8_t { kU8, kU16, kU32, kS32, kU64, kS64, kF16, kF32, kF64, kBf16, kTf32 };

struct TiledMap {
  MapType type = MapType::kF16;
  const void* address = nullptr;  // of 16 bytes
  std::vector<uint64_t> extents;  // 1 to 5, each to 2^32
  std::vector<uint64_t> strides;  // bytes, of dimensions 1 and up; multiples of 16 below 2^40
  std::vector<uint32_t> box;      // 1 to 256 each; rows are multiples of 16 bytes, and at most the swizzle
  std::vector<uint32_t> steps;    // 1 to 8, of elements within the box; empty: 1 each. That of dimension 0 is not used
  int swizzle_bytes = 0;          // 0, 32, 64, 128
  bool fill_nan = false;          // outside of the tensor; zeros otherwise
};
absl::StatusOr<TwTensorMap> EncodeTiled(const TiledMap& map);

// An image [N][[D][H]]W C (innermost first: C, W, H, D, N), read as columns of pixels.
struct Im2colMap {
  MapType type = MapType::kF16;
  const void* address = nullptr;
  std::vector<uint64_t> extents;  // 3 to 5
  std::vector<uint64_t> strides;
  std::vector<int> lower,
      upper;              // corners of the box of pixels, of W, H, D, relative to the image's first and last pixel
  uint32_t channels = 0;  // of a pixel, to 256
  uint32_t pixels = 0;    // of a column, to 1024
  std::vector<uint32_t> steps;  // of W, H, D from pixel to pixel: the stride of a convolution, 1 to 8
  int swizzle_bytes = 0;
  bool fill_nan = false;
};
absl::StatusOr<TwTensorMap> EncodeIm2col(const Im2colMap& map);

// What the 128 bytes hold here.
struct MapFields {
  static constexpr uint64_t kMagic = 0x54696c6577727447;
  uint64_t magic;
  uint64_t address;
  uint64_t strides[4];
  uint32_t last[5];  // extents less 1
  uint16_t box[5];   // im2col: channels and pixels
  int16_t lower[3], upper[3];
  uint8_t steps[5];  // im2col: of W, H, D
  uint8_t rank;
  MapType type;
  uint8_t swizzle_bytes;
  bool fill_nan, im2col;

  bool valid() const { return magic == kMagic; }
};
static_assert(sizeof(MapFields) <= sizeof(TwTensorMap));
MapFields FieldsOf(const TwTensorMap& map);
int BytesOf(MapType type);

}  // namespace tilewright::emulator
