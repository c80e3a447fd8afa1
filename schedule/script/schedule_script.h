// Schedules as text, applied to a Schedule.
//
//   def apply_trace(sch):                                       # optional
//       b0 = sch.get_block("C", func_name="main")
//       l1, l2, l3 = sch.get_loops(b0)
//       i, ii = sch.split(l1, factors=[None, 16])
//       v4, v5 = sch.sample_perfect_tile(l2, n=2, decision=[8, 8])
//       sch.transform_layout("C", ("read", 0), lambda i, j: (i // 16, j, i % 16))
//
// The language: calls of primitives by their names and arguments (docs/primitives.md), positional or by keyword;
// assignments of results to names and tuples of names; numbers, text, f"texts", None, True, False, lists, tuples,
// dictionaries, integer arithmetic, comparisons, subscripts, slices, *loops in an argument list, lambdas as index maps;
// for, while, if, list comprehensions, functions and classes that the text defines and calls, `math`, and Python's len,
// range, enumerate, zip and the like (python_values.h); functions as index maps, `*index` of any number of indices.
// `sch.get(loop).extent`, `sch.get(block).iter_vars` and the like are known. `sch.work_on("f")`, `sch.remove_rv(l1)`
// and `x = sch.can_decompose_padding(block, loop)` are not instructions, but understood.
//
// A function of one parameter that nothing calls is applied. Statements that cannot be run, because they are other
// Python (building, timing, printing, files), are passed over, and the names that they give values to are unknown; not
// those that call a method of the schedule or hand it to a function. Any other text is an error with line and column.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ir/script/python/diagnostic.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

struct ScheduleScriptOptions {
  // Called after each call that was applied, with its text and the line it is on.
  std::function<void(std::string_view call, int line, const Schedule& schedule)> after_call;
  // Called for each statement that was passed over, with its line and why it could not be run.
  std::function<void(int line, std::string_view why)> passed_over;
};

struct ScheduleScriptError {
  script::Diagnostic diagnostic;
  std::optional<Refusal> refusal;  // when a primitive refused; it is about schedule->refused_function()
};

// Applies the calls in order until one fails. Nothing when all were applied; the calls before a failing one stay
// applied.
std::optional<ScheduleScriptError> ApplyScheduleScript(std::string_view text, std::string_view file, Schedule* schedule,
                                                       const ScheduleScriptOptions& options = {});

}  // namespace tilewright
