// Which memory statements of a kernel touch.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// By data pointer: the scope of the memory, whatever the buffers that look at it say.
using BufferScopes = std::unordered_map<const VarNode*, Scope>;
// The scopes of all that a function has as parameters, allocates, declares or matches.
BufferScopes ScopesOf(const Function& function);

// Who has one copy of the memory: kThread, kWarp, kBlock or kDevice.
OwnerLevel MemoryOwner(const Scope& scope);

struct KernelAccess {
  const VarNode* data;
  Scope scope;
  bool write = false;
};
struct Accesses {
  std::vector<KernelAccess> list;
  bool unknown_writes = false;  // a call outside of the program's knowledge, with no pointer among its arguments
};
// What `s` touches outside of what it allocates itself. A pointer that a call takes counts as read, and as written
// unless its access mask or the call's effect says that it is not.
Accesses AccessesOf(const Stmt& s, const BufferScopes& scopes);

}  // namespace tilewright
