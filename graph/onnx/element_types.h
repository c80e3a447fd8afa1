// Which elements an operator takes, and how many operands, where ONNX limits them: programs are written for these.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/data_type.h"

namespace tilewright::graph {

// Whether an operator of ONNX's own domain takes such elements as its input of that number, from 0. Operators that move
// elements and know nothing of them, and those that these tables do not know, take all. Inputs behind the first are
// limited where they hold positions, sizes, axes or conditions.
bool TakesElements(std::string_view op, size_t input, DataType dtype);

// Whether the operator, one of one or two operands without options, has more inputs than these.
bool HasTooManyInputs(std::string_view op, int inputs);

}  // namespace tilewright::graph
