// Parallel loops of symbolic extents have two versions, chosen by size at entry: one whose iterations threads share,
// and one that the caller runs alone. Starting threads takes longer than all of a small size.
//
//   for i in T.parallel(n, annotations={"tilewright.threads_from": 1930}): ...
//
// NAME.threads_from is the choice: "always", or "where_worth", from as many statements on as the projected time of a
// statement says. Loops that have constant work keep what their sketch chose.
#pragma once

#include <string>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

void ChooseThreadsBySize(Schedule& sch, const std::string& function, const Target& target, Choices& choices);

}  // namespace tilewright
