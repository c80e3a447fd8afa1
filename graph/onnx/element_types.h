// Which elements an operator takes, and how many operands, where ONNX limits them: programs are written for these.
#pragma once

#include <string_view>

#include "ir/data_type.h"

namespace tilewright::graph {

// Whether an operator of ONNX's own domain takes a first input of such elements. Operators that move elements and know
// nothing of them, and those that this table does not know, take all.
bool TakesElements(std::string_view op, DataType dtype);

// Whether the operator, one of one or two operands without options, has more inputs than these.
bool HasTooManyInputs(std::string_view op, int inputs);

}  // namespace tilewright::graph
