// The page docs/primitives.md, made from the table of primitives.
#pragma once

#include <string>

namespace tilewright {

std::string PrimitiveDocs();

}  // namespace tilewright
