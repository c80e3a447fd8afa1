// A scheduled matrix multiplication for the tests of this folder.
#pragma once

#include "ir/function.h"

namespace tilewright {

// Square matrices of `size`: a tile of rows x (16 * vectors) of C in registers, B in panels of the tile's width.
// `outer` is the kind of the loop over panels: "parallel" or "serial". A tile divides the matrices evenly.
Function TiledMatmul(int rows, int vectors, const char* outer, int size);

}  // namespace tilewright
