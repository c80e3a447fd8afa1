// Smaller shapes with the same edges, for what runs in an emulator.
//
//   C2D:16,224,224,64,64,3,1,1   ->   C2D:2,8,8,64,64,3,1,1
//   GMM:1,1000,1024,520          ->   GMM:1,104,64,72             modulo 64
//
// An extent keeps its remainder modulo a power of two (of a convolution's spatial extents, the output's): tiles that
// covered it exactly still do, and one that was cut off still is. Windows, strides, paddings, dilations and groups
// stay.
#pragma once

#include "bench/operators/shapes.h"

namespace tilewright::bench {

// The shape with the largest of the reduced extents for which the operator takes at most `most_operations`: products
// and sums, or elements of rows. The shape itself where it takes no more; the smallest where even that takes more.
Shape ReduceShape(const Shape& shape, double most_operations);

}  // namespace tilewright::bench
