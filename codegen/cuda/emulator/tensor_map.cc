#include "codegen/cuda/emulator/tensor_map.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright::emulator {
namespace {

absl::Status Refuse(const std::string& reason) { return absl::InvalidArgumentError("tensor map: " + reason); }

// What both kinds of maps have in common.
struct Tensor {
  MapType type;
  const void* address;
  const std::vector<uint64_t>& extents;
  const std::vector<uint64_t>& strides;
  int swizzle_bytes;
  bool fill_nan;
};

absl::Status CheckTensor(const Tensor& tensor, size_t least_rank) {
  const size_t rank = tensor.extents.size();
  if (rank < least_rank || rank > 5) return Refuse(absl::StrCat("rank ", rank, " is not ", least_rank, " to 5"));
  if (tensor.strides.size() + 1 != rank) {
    return Refuse(absl::StrCat(tensor.strides.size(), " strides for rank ", rank, "; dimension 0 does not have one"));
  }
  const auto address = reinterpret_cast<uintptr_t>(tensor.address);
  if (address == 0 || address % 16 != 0) return Refuse("the address is not a multiple of 16");
  for (size_t i = 0; i < rank; ++i) {
    if (tensor.extents[i] == 0 || tensor.extents[i] > uint64_t{1} << 32) {
      return Refuse(absl::StrCat("extent ", i, " is ", tensor.extents[i], ", not 1 to 2^32"));
    }
  }
  for (size_t i = 0; i < tensor.strides.size(); ++i) {
    if (tensor.strides[i] % 16 != 0 || tensor.strides[i] >= uint64_t{1} << 40) {
      return Refuse(
          absl::StrCat("stride ", i + 1, " is ", tensor.strides[i], " bytes, not a multiple of 16 below 2^40"));
    }
  }
  if (tensor.swizzle_bytes != 0 && tensor.swizzle_bytes != 32 && tensor.swizzle_bytes != 64 &&
      tensor.swizzle_bytes != 128) {
    return Refuse(absl::StrCat("a swizzle of ", tensor.swizzle_bytes, " bytes is not 0, 32, 64 or 128"));
  }
  const bool floating = tensor.type >= MapType::kF16;
  if (tensor.fill_nan && !floating) return Refuse("integers cannot be filled with NaN");
  return absl::OkStatus();
}

absl::Status CheckRow(const Tensor& tensor, uint32_t elements) {
  const uint64_t bytes = uint64_t{elements} * static_cast<uint64_t>(BytesOf(tensor.type));
  if (bytes % 16 != 0) return Refuse(absl::StrCat("rows of the box have ", bytes, " bytes, not a multiple of 16"));
  if (tensor.swizzle_bytes != 0 && bytes > static_cast<uint64_t>(tensor.swizzle_bytes)) {
    return Refuse(
        absl::StrCat("rows of the box have ", bytes, " bytes, more than the swizzle of ", tensor.swizzle_bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckSteps(const std::vector<uint32_t>& steps, size_t count) {
  if (steps.size() != count) return Refuse(absl::StrCat(steps.size(), " steps where ", count, " are needed"));
  for (const uint32_t step : steps) {
    if (step < 1 || step > 8) return Refuse(absl::StrCat("a step of ", step, " is not 1 to 8"));
  }
  return absl::OkStatus();
}

MapFields FieldsOf(const Tensor& tensor) {
  MapFields fields = {};
  fields.magic = MapFields::kMagic;
  fields.address = reinterpret_cast<uint64_t>(tensor.address);
  std::copy(tensor.strides.begin(), tensor.strides.end(), fields.strides);
  for (size_t i = 0; i < tensor.extents.size(); ++i) fields.last[i] = static_cast<uint32_t>(tensor.extents[i] - 1);
  fields.rank = static_cast<uint8_t>(tensor.extents.size());
  fields.type = tensor.type;
  fields.swizzle_bytes = static_cast<uint8_t>(tensor.swizzle_bytes);
  fields.fill_nan = tensor.fill_nan;
  return fields;
}

TwTensorMap Pack(const MapFields& fields) {
  TwTensorMap map = {};
  std::memcpy(&map, &fields, sizeof fields);
  return map;
}

// Corners are 16, 8 or 5 bits wide, for 1, 2, 3 dimensions of pixels.
absl::Status CheckCorners(const std::vector<int>& corners, size_t dimensions) {
  if (corners.size() != dimensions)
    return Refuse(absl::StrCat(corners.size(), " corners for ", dimensions, " dimensions"));
  const int bits = dimensions == 1 ? 16 : dimensions == 2 ? 8 : 5, least = -(1 << (bits - 1));
  for (const int corner : corners) {
    if (corner < least || corner > -least - 1) {
      return Refuse(absl::StrCat("a corner of ", corner, " is not ", least, " to ", -least - 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int BytesOf(MapType type) {
  switch (type) {
    case MapType::kU8:
      return 1;
    case MapType::kU16:
    case MapType::kF16:
    case MapType::kBf16:
      return 2;
    case MapType::kU64:
    case MapType::kS64:
    case MapType::kF64:
      return 8;
    default:
      return 4;
  }
}

MapFields FieldsOf(const TwTensorMap& map) {
  MapFields fields;
  std::memcpy(&fields, &map, sizeof fields);
  return fields;
}

absl::StatusOr<TwTensorMap> EncodeTiled(const TiledMap& map) {
  const Tensor tensor = {map.type, map.address, map.extents, map.strides, map.swizzle_bytes, map.fill_nan};
  TW_RETURN_IF_ERROR(CheckTensor(tensor, 1));
  if (map.box.size() != map.extents.size())
    return Refuse(absl::StrCat("a box of rank ", map.box.size(), " for rank ", map.extents.size()));
  for (size_t i = 0; i < map.box.size(); ++i) {
    if (map.box[i] < 1 || map.box[i] > 256)
      return Refuse(absl::StrCat("extent ", i, " of the box is ", map.box[i], ", not 1 to 256"));
  }
  TW_RETURN_IF_ERROR(CheckRow(tensor, map.box[0]));
  const std::vector<uint32_t> steps = map.steps.empty() ? std::vector<uint32_t>(map.box.size(), 1) : map.steps;
  TW_RETURN_IF_ERROR(CheckSteps(steps, map.box.size()));
  MapFields fields = FieldsOf(tensor);
  for (size_t i = 0; i < map.box.size(); ++i) {
    fields.box[i] = static_cast<uint16_t>(map.box[i]);
    fields.steps[i] = static_cast<uint8_t>(i == 0 ? 1 : steps[i]);
  }
  return Pack(fields);
}

absl::StatusOr<TwTensorMap> EncodeIm2col(const Im2colMap& map) {
  const Tensor tensor = {map.type, map.address, map.extents, map.strides, map.swizzle_bytes, map.fill_nan};
  TW_RETURN_IF_ERROR(CheckTensor(tensor, 3));
  const size_t dimensions = map.extents.size() - 2;
  if (map.channels < 1 || map.channels > 256)
    return Refuse(absl::StrCat(map.channels, " channels of a pixel are not 1 to 256"));
  if (map.pixels < 1 || map.pixels > 1024)
    return Refuse(absl::StrCat(map.pixels, " pixels of a column are not 1 to 1024"));
  TW_RETURN_IF_ERROR(CheckRow(tensor, map.channels));
  TW_RETURN_IF_ERROR(CheckCorners(map.lower, dimensions));
  TW_RETURN_IF_ERROR(CheckCorners(map.upper, dimensions));
  TW_RETURN_IF_ERROR(CheckSteps(map.steps, dimensions));
  MapFields fields = FieldsOf(tensor);
  fields.im2col = true;
  fields.box[0] = static_cast<uint16_t>(map.channels);
  fields.box[1] = static_cast<uint16_t>(map.pixels);
  for (size_t i = 0; i < dimensions; ++i) {
    fields.lower[i] = static_cast<int16_t>(map.lower[i]);
    fields.upper[i] = static_cast<int16_t>(map.upper[i]);
    fields.steps[i] = static_cast<uint8_t>(map.steps[i]);
    if (static_cast<int64_t>(fields.last[i + 1]) + map.upper[i] < map.lower[i])
      return Refuse("the box of pixels is empty");
  }
  return Pack(fields);
}

}  // namespace tilewright::emulator
