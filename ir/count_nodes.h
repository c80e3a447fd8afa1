// How long a program is: its statements and expressions, each as often as it is written.
#pragma once

#include <cstdint>

#include "ir/function.h"

namespace tilewright {

int64_t CountNodes(const Stmt& body);
int64_t CountNodes(const Function& function);
int64_t CountNodes(const Module& module);

}  // namespace tilewright
