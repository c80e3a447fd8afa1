// What lines that tiles load from memory cost, as estimates of tiles count them: a line from the second cache level
// takes 1. Measured on Sapphire Rapids.
#pragma once

namespace tilewright {

// A row that begins inside of a line.
inline constexpr double kUnalignedRowLoad = 1.3;
// A line of columns from beyond the second cache level, where they are loaded for all rows in turn; where they are
// loaded again for each block of rows.
inline constexpr double kFarColumnLoad = 2, kFarPanelLoad = 4;
// The part of the time of a block of rows that is lost where cores share it: more where it is a copy, parts of which
// come from the other core's caches.
inline constexpr double kLostBySharedRows = 0.25, kLostBySharedCopies = 0.6;
// How much longer products take whose rows come from the second cache level again for each window along the row, or
// for each window.
inline constexpr double kRowsOfEachWindow = 1.15, kRowsOfAllWindows = 1.25;

}  // namespace tilewright
