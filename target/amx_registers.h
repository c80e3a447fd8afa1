// How T.amx_dot_add uses the eight tile registers of AMX, each of up to 16 rows of 64 bytes.
//
// C[rows, columns] is a grid of equal tiles, each in a register of its own; A's tiles are one column of registers, B's
// one row. The shorter of these two stays while the other one passes through the registers that are left.
#pragma once

#include <cstdint>
#include <optional>

namespace tilewright {

inline constexpr int kAmxRegisters = 8;
inline constexpr int kAmxRows = 16;       // of a register, at most
inline constexpr int kAmxRowBytes = 64;   // of a register, at most
inline constexpr int kAmxGroupBytes = 4;  // of neighbours along the depth, and of an element of C

struct AmxTiles {
  int row_tiles, column_tiles;
  int rows, columns;  // of C in one tile

  bool keeps_columns() const { return column_tiles <= row_tiles; }
  int Sum(int row_tile, int column_tile) const { return row_tile * column_tiles + column_tile; }
  int A(int row_tile) const { return keeps_columns() ? Passing(row_tile) : Kept(row_tile); }
  int B(int column_tile) const { return keeps_columns() ? Kept(column_tile) : Passing(column_tile); }

 private:
  int Kept(int tile) const { return row_tiles * column_tiles + tile; }
  int Passing(int tile) const {
    const int first = Kept(keeps_columns() ? column_tiles : row_tiles);
    return first + tile % (kAmxRegisters - first);
  }
};

// C of `row_tiles` times `rows` rows, by the fewest tiles for its columns. Nothing when tiles are not equal or leave no
// register for A or B.
std::optional<AmxTiles> AmxTilesOf(int64_t row_tiles, int64_t rows, int64_t columns);
// The fewest tiles for rows, too.
std::optional<AmxTiles> AmxTilesOf(int64_t rows, int64_t columns);

}  // namespace tilewright
