// Sums of products of quantized operands as sums of products of bytes.
//
//   x_deq[i, k] = (float32(int32(x[i, k]) - 7)) * s            acc[i, j] += int32(x[i, k]) * int32(w[k, j])
//   w_deq[k, j] = float32(int32(w[k, j])) * t[j]          ->   C[i, j] = float32(acc[i, j] + offsets[j]) * (s * t[j])
//   C[i, j] += x_deq[i, k] * w_deq[k, j]                        offsets[j] = -7 * (w[0, j] + w[1, j] + ...)
//
// An operand is *quantized* where each element is `(int32(byte) - zero) * scale`, or zero beyond the border of an
// image; zero point and scale may be absent, and neither depends on what is summed over. Constant weights become signed
// bytes without a zero point, images are padded with their zero point, and the zero point times the sums of the weights
// is added afterwards: an image that is padded so contributes nothing beyond its border, as before. Where neither
// operand is constant, zero points stay in the factors (schedule/algebra/split_offset.h takes them out).
//
// Depthwise convolutions, in which no number of x meets several columns of weights, have nothing for instructions for
// bytes to add up: factors are the whole numbers that bytes stand for, in f32, which holds their sums.
//
// Integer sums of integer factors stay the same. Sums of floats become exact where they were rounded: the result is
// rounded when it is converted to f32, when scales are multiplied, and when it is multiplied by them.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/value.h"
#include "ir/function.h"

namespace tilewright::graph {

struct IntegerForm {
  PrimFunc program;              // its parameters: those of `kept`, `constants`, the results, then scalars
  std::vector<size_t> kept;      // positions of parameters of the old program
  std::vector<Value> constants;  // the weights and the offsets
  std::vector<Expr> symbols;     // the variables that the scalars stand for
};

// The form of a regular program (program_form.h) with one sum of products. `constants`: the constant that a parameter
// is, or null. `floats`: whether operands may be scaled to f32. Nothing where the program is no such sum, where it has
// that form already, where weights without their zero points are not signed bytes, or where sums might not fit int32.
std::optional<IntegerForm> IntegerFormOf(const PrimFunc& program, const std::vector<const ConstantNode*>& constants,
                                         bool floats);

// Whether a program only moves elements, or turns integers of 8 bits into floats: what IntegerFormOf looks through.
bool IsDequantization(const PrimFunc& program);

}  // namespace tilewright::graph
