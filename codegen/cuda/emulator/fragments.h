// Which elements of a matrix a lane's registers hold: the maps of mma.sync, shared by wgmma. A register holds `per` =
// 32 / bits neighbours along K (of A and B) or along N (of sums); with g = lane / 4 and t = lane % 4:
//
//   A   register r: row g + 8 (r % 2), columns per t + 4 per (r / 2) ...    (of 8 rows: column block r)
//   B   register r: column g, rows per t + 4 per r ...
//   D   pair r: row g + 8 r, columns 2 t, 2 t + 1     (two registers of 32 bits, or one of two halves)
//
// Offsets are in elements, from the first one of a row-major A[m][k], D[m][n] and of B by columns, [n][k]. Internal to
// the emulator.
#pragma once

namespace tilewright::emulator {

constexpr int OffsetOfA(int lane, int r, int m, int k, int per) {
  const int row = lane / 4 + (m > 8 ? r % 2 * 8 : 0), block = m > 8 ? r / 2 : r;
  return row * k + (block * 4 + lane % 4) * per;
}
constexpr int OffsetOfB(int lane, int r, int k, int per) { return lane / 4 * k + (r * 4 + lane % 4) * per; }
constexpr int OffsetOfD(int lane, int pair, int n) { return (lane / 4 + pair * 8) * n + lane % 4 * 2; }

}  // namespace tilewright::emulator
