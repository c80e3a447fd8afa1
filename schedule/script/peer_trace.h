// The peer's traces as JSON, made schedule text.
//
//   [[["GetSBlock", [], ["C", "main"], ["b0"]],                 b0 = sch.get_sblock("C", "main")
//     ["GetLoops", ["b0"], [], ["l1", "l2"]],            ->     l1, l2 = sch.get_loops(b0)
//     ["SamplePerfectTile", ["l1"], [2, 16], ["v3", "v4"]],     v3, v4 = sch.sample_perfect_tile(l1, 2, 16,
//     decision=[4, 8])
//     ["Split", ["l1", "v3", "v4"], [1, 0], ["l5", "l6"]]],     l5, l6 = sch.split(l1, [v3, v4], True, False)
//    [[2, [4, 8]]]]
//
// An instruction is [kind, inputs, attributes, outputs]; inputs name random variables ("b0"), texts among them have
// quotes of their own; what follows the instructions are decisions, [number of the instruction, decision]. Index maps
// are the peer's serialized graphs of nodes.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tilewright {

// An error says which instruction cannot be read, and why.
absl::StatusOr<std::string> TextOfPeerTrace(std::string_view json);

// What `ApplyScheduleScript` takes: JSON that begins with '{' is a trace of ours (schedule/script/trace_text.h), JSON
// that begins with '[' one of the peer's; everything else is a schedule already.
absl::StatusOr<std::string> ScheduleTextOf(std::string text);

}  // namespace tilewright
