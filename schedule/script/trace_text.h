// Traces as text and as JSON.
//
//   b0 = sch.get_block(name="C", func_name="main")
//   l1, l2 = sch.get_loops(block=b0)
//   v3, v4 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[8, 8])
//
// The text is a schedule (schedule/script reads it). The JSON says the same:
//
//   {"trace": [{"primitive": "get_block", "args": {"name": "C", "func_name": "main"}, "results": ["b0"]}, ...,
//              {"primitive": "sample_perfect_tile", "args": {"loop": {"rv": "l1"}, ...}, "results": ["v3", "v4"],
//               "decision": [8, 8]}]}
//
// Random variables are numbered in the order of the trace, so equal traces have equal texts. Index maps are
// {"index_map": "lambda i: ..."}.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "schedule/core/trace.h"

namespace tilewright {

std::string ToText(const Trace& trace);
std::string ToJson(const Trace& trace);
// An error says where the JSON is not a trace.
absl::StatusOr<Trace> TraceFromJson(std::string_view json);

}  // namespace tilewright
