// T.Select whose values may not both be evaluated: it becomes T.if_then_else, which evaluates one of them.
//
//   T.Select(64 <= j, A[j - 64], A[j + 64])   ->   T.if_then_else(64 <= j, A[j - 64], A[j + 64])
//
// A value is safe where all that it loads is known to be inside of its buffer, and no integer is divided by what may be
// 0, whatever the condition says. What a T.if_then_else in it guards is evaluated under that condition alone: the
// largest element of a padded window, with NaN passed on, stays a selection, whose mask no load waits for.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function GuardSelects(const Function& function);

}  // namespace tilewright
