// Moved to base/status_macros.h.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"  // IWYU pragma: export

#define TW_VALUE_OR_RETURN(lhs, expression) TW_ASSIGN_OR_RETURN(lhs, expression)
