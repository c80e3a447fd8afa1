// Refusing, in the name of a primitive, blocks whose reduction is not understood (ir/reducer.h).
#pragma once

#include "ir/reducer.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Reducer> DetectReducer(const char* primitive, const BlockNode& block);

}  // namespace tilewright
