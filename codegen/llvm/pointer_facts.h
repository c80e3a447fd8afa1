// What a statement does with pointers. Private to codegen/llvm.
#pragma once

#include <unordered_set>

#include "ir/stmt.h"

namespace tilewright::codegen {

// The metadata of an array in register scope: no function is given where it is.
inline constexpr char kRegisterArray[] = "tilewright.register";

// The data pointers of all buffers that `body` stores to, and all that it passes to calls which may write.
std::unordered_set<const VarNode*> WrittenBuffers(const Stmt& body);

// Whether `body` makes pointers of its own; elsewhere distinct pointer variables never overlap.
bool DefinesPointers(const Stmt& body);

}  // namespace tilewright::codegen
