#include "codegen/cuda/emulator/pieces.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::emulator {
namespace {

// Adds a row of the box: box[0] elements from `first` on in dimension 0. `row` is the address of element 0 of that
// row of the tensor, which does not exist if `inside` is false. Addresses are integers: many lie outside of the tensor.
void AddRow(const MapFields& map, uint64_t row, bool inside, int64_t first, uint32_t shared,
            std::vector<Piece>& pieces) {
  const int64_t element = BytesOf(map.type), begin = first * element, end = (int64_t{map.last[0]} + 1) * element;
  for (int64_t at = 0; at < map.box[0] * element; at += 16) {
    const int64_t from = begin + at;
    Piece piece;
    piece.shared = Swizzled(shared + static_cast<uint32_t>(at), map.swizzle_bytes);
    piece.global = reinterpret_cast<std::byte*>(row + static_cast<uint64_t>(from));
    piece.bytes = 16;
    piece.first = static_cast<uint8_t>(std::clamp<int64_t>(-from, 0, 16));
    piece.last = static_cast<uint8_t>(std::clamp<int64_t>(end - from, piece.first, 16));
    if (!inside) piece.first = piece.last = 0;
    pieces.push_back(piece);
  }
}

void AddTile(const MapFields& map, const int32_t* coordinates, uint32_t shared, std::vector<Piece>& pieces) {
  const uint32_t row_bytes = map.box[0] * static_cast<uint32_t>(BytesOf(map.type));
  uint32_t counts[5] = {}, rows = 1;
  for (int d = 1; d < map.rank; ++d) {
    counts[d] = (map.box[d] + map.steps[d] - 1u) / map.steps[d];
    rows *= counts[d];
  }
  for (uint32_t i = 0; i < rows; ++i) {
    uint64_t row = map.address;
    bool inside = true;
    uint32_t rest = i;
    for (int d = 1; d < map.rank; ++d) {
      const int64_t at = int64_t{coordinates[d]} + static_cast<int64_t>(rest % counts[d]) * map.steps[d];
      rest /= counts[d];
      inside = inside && at >= 0 && at <= int64_t{map.last[d]};
      row += static_cast<uint64_t>(at) * map.strides[d - 1];
    }
    AddRow(map, row, inside, coordinates[0], shared + i * row_bytes, pieces);
  }
}

// Pixels follow each other along W, then H, then D, then N, within the box of pixels.
bool AddPixels(const MapFields& map, const tw::emu::TensorCopy& copy, uint32_t shared, std::vector<Piece>& pieces,
               std::string& reason) {
  const int spatial = map.rank - 2;
  const uint32_t row_bytes = map.box[0] * static_cast<uint32_t>(BytesOf(map.type));
  int64_t at[3] = {}, n = copy.coordinates[map.rank - 1], last[3] = {};
  for (int d = 0; d < spatial; ++d) {
    at[d] = copy.coordinates[1 + d];
    last[d] = int64_t{map.last[1 + d]} + map.upper[d];
    if (at[d] < map.lower[d] || at[d] > last[d]) {
      reason = "the first pixel lies outside of the map's box of pixels";
      return false;
    }
    const int bits = spatial == 1 ? 16 : spatial == 2 ? 8 : 5;
    if (copy.offsets[d] >> bits != 0) {
      reason =
          "an offset of " + std::to_string(copy.offsets[d]) + " does not fit into " + std::to_string(bits) + " bits";
      return false;
    }
  }
  for (uint32_t pixel = 0; pixel < map.box[1]; ++pixel) {
    uint64_t row = map.address + static_cast<uint64_t>(n) * map.strides[spatial];
    bool inside = n >= 0 && n <= int64_t{map.last[map.rank - 1]};
    for (int d = 0; d < spatial; ++d) {
      const int64_t x = at[d] + copy.offsets[d];
      inside = inside && x >= 0 && x <= int64_t{map.last[1 + d]};
      row += static_cast<uint64_t>(x) * map.strides[d];
    }
    AddRow(map, row, inside, copy.coordinates[0], shared + pixel * row_bytes, pieces);
    int d = 0;
    for (; d < spatial; ++d) {
      if ((at[d] += map.steps[d]) <= last[d]) break;
      at[d] = map.lower[d];
    }
    if (d == spatial) ++n;
  }
  return true;
}

}  // namespace

bool PiecesOf(const MapFields& map, const tw::emu::TensorCopy& copy, uint32_t shared_byte, std::vector<Piece>& pieces,
              std::string& reason) {
  if (!map.valid()) {
    reason = "the map was not encoded";
  } else if (copy.rank != map.rank) {
    reason = std::to_string(copy.rank) + " coordinates for a map of rank " + std::to_string(map.rank);
  } else if (copy.im2col != map.im2col) {
    reason = map.im2col ? "a tile of a map that is encoded for im2col" : "im2col of a map that is encoded for tiles";
  } else if (shared_byte % 128 != 0) {
    reason = "the address in shared memory is not a multiple of 128";
  } else if (map.im2col) {
    return AddPixels(map, copy, shared_byte, pieces, reason);
  } else {
    AddTile(map, copy.coordinates, shared_byte, pieces);
    return true;
  }
  return false;
}

std::vector<Piece> PiecesOf(std::byte* global, uint32_t shared_byte, uint32_t bytes) {
  std::vector<Piece> pieces;
  for (uint32_t at = 0; at < bytes; at += 16) pieces.push_back({shared_byte + at, global + at, 16, 0, 16});
  return pieces;
}

}  // namespace tilewright::emulator
