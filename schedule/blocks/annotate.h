// Annotations of loops and blocks: hints and instructions to later stages, by name.
//
// An annotation that is there stays as it is when it is given again, as schedules of TVM's tuner expect. Conditions:
// unannotate refuses a name that is absent. Ids: all survive.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// `id`: of a loop or a block.
Outcome<Function> Annotate(const Function& function, uint32_t id, std::string_view key, Annotation value);
Outcome<Function> Unannotate(const Function& function, uint32_t id, std::string_view key);

}  // namespace tilewright
