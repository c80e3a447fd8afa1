// Steps of which all are taken or none.
//
//   if (!Attempt(sch, [&](Schedule& s) { return PackPadded(s, stage, loop); })) ...   // sch is as it was
#pragma once

#include <type_traits>
#include <utility>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

// Whether `steps`, from a schedule to an outcome or to whether they were taken, succeed; if not, nothing changes.
template <class Steps>
bool Attempt(Schedule& sch, const Steps& steps) {
  Schedule attempt = sch;
  if constexpr (std::is_same_v<std::invoke_result_t<Steps, Schedule&>, bool>) {
    if (!steps(attempt)) return false;
  } else {
    if (!steps(attempt).ok()) return false;
  }
  sch = std::move(attempt);
  return true;
}

// The same of steps that choose.
template <class Steps>
bool Attempt(Schedule& sch, Choices& choices, const Steps& steps) {
  Choices taken = choices;
  if (!Attempt(sch, [&](Schedule& attempt) { return steps(attempt, taken); })) return false;
  choices = std::move(taken);
  return true;
}

}  // namespace tilewright
