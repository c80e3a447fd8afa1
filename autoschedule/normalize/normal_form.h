// The form in which rules and tensor intrinsics look at the blocks of a function: what users write in many ways is
// written in one.
//
//   elementwise blocks are computed where they are used          inline_rule.h
//   iterators that a block divides are two iterators             split_iterators.h
//   few columns are computed together with others that
//   read nearly the same                                 join_phases.h
//   sums over windows with few output channels are gathered
//   from a product of matrices                           gather_windows.h
//   sums of halves are kept in float32                   widen_sums.h
//   what is added to an array that is there is a sum first,
//   and sums of products multiply two operands                   product_form.h
#pragma once

#include <string>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// What is not always good is a choice, of join_phases.h and gather_windows.h.
void BringIntoNormalForm(Schedule& sch, const std::string& function, const Target& target, Choices& choices);

}  // namespace tilewright
