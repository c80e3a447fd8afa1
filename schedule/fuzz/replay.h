// A finding of the schedule fuzzer once more, from the program and the schedule that it wrote.
//
//   absl::StatusOr<Judgement> now = Replay(program, schedule);      // of BASE_program.py and BASE_schedule.py
//   if (!now->sound()) ...                                          // still a bug
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "schedule/fuzz/oracle.h"

namespace tilewright::fuzz {

// The worse of the judgements with both sets of inputs. An error when the program cannot be read, or when a primitive
// refuses (FAILED_PRECONDITION, with its reason). Results may differ by rounding as in the family that has the program;
// programs of no family must give equal bits.
absl::StatusOr<Judgement> Replay(std::string_view program, std::string_view schedule);

}  // namespace tilewright::fuzz
