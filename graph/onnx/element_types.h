// Which elements an operand takes, where ONNX limits them.
#pragma once

#include "ir/data_type.h"

namespace tilewright::graph {

enum class Elements { kAny, kFloats, kNumbers, kIntegers, kBooleans };

bool TakesElements(Elements limit, DataType dtype);

}  // namespace tilewright::graph
