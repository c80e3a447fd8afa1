#include "target/amx_registers.h"

#include <algorithm>

#include "base/math.h"

namespace tilewright {

std::optional<AmxTiles> AmxTilesOf(int64_t row_tiles, int64_t rows, int64_t columns) {
  if (row_tiles < 1 || rows < 1 || columns < 1) return std::nullopt;
  if (row_tiles > kAmxRegisters || rows > kAmxRows || columns > kAmxRegisters * kAmxRows) return std::nullopt;
  const int64_t column_tiles = CeilDiv(columns, kAmxRows);
  const int64_t needed = row_tiles * column_tiles + std::min(row_tiles, column_tiles) + 1;
  if (columns % column_tiles != 0 || needed > kAmxRegisters) return std::nullopt;
  return AmxTiles{static_cast<int>(row_tiles), static_cast<int>(column_tiles), static_cast<int>(rows),
                  static_cast<int>(columns / column_tiles)};
}

std::optional<AmxTiles> AmxTilesOf(int64_t rows, int64_t columns) {
  const int64_t row_tiles = CeilDiv(rows, kAmxRows);
  return rows < 1 || rows % row_tiles != 0 ? std::nullopt : AmxTilesOf(row_tiles, rows / row_tiles, columns);
}

}  // namespace tilewright
