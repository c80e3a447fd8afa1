#include "graph/onnx/element_types.h"

namespace tilewright::graph {

bool TakesElements(Elements limit, DataType dtype) {
  switch (limit) {
    case Elements::kAny:
      return true;
    case Elements::kFloats:
      return dtype.is_float();
    case Elements::kNumbers:
      return dtype.is_float() || dtype.is_integer();
    case Elements::kIntegers:
      return dtype.is_integer();
    case Elements::kBooleans:
      return dtype.is_bool();
  }
  return true;
}

}  // namespace tilewright::graph
