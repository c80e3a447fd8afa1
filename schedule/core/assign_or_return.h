// Moved to base/status_macros.h.
#pragma once

#include "base/status_macros.h"  // IWYU pragma: export
#include "schedule/core/refusal.h"

#define TW_RETURN_IF_REFUSED(expression) TW_RETURN_IF_ERROR(expression)
