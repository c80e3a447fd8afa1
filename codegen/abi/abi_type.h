// Types of programs as compiled functions see them (codegen/abi/tensor_abi.h).
#pragma once

#include "codegen/abi/tensor_abi.h"
#include "ir/data_type.h"

namespace tilewright {

// bool takes a byte.
TwDataType AbiType(DataType type);

}  // namespace tilewright
