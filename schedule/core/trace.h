// Traces: schedules as data.
//
//   b0 = sch.get_block(name="C", func_name="main")
//   l1, l2, l3 = sch.get_loops(block=b0)
//   v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[8, 8])
//   l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True, disable_predication=False)
//
// Each line is an instruction: a primitive, its arguments, the random variables that its results define, and the
// decision when it samples. A trace applies to any program that is equal to the one it was recorded on, and to others
// as far as its instructions are accepted there. A search changes decisions and replays.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/forked_list.h"
#include "schedule/core/primitive.h"
#include "schedule/core/value.h"

namespace tilewright {

struct Instruction {
  const Primitive* primitive = nullptr;
  std::vector<Value> args;  // one for each of the primitive's, random variables by name
  std::vector<Rv> results;
  Value decision;  // None unless the primitive samples
};

// What traces of forked schedules have in common is there once.
class SharedInstruction {
 public:
  SharedInstruction(Instruction instruction)
      : instruction_(std::make_shared<const Instruction>(std::move(instruction))) {}
  operator const Instruction&() const { return *instruction_; }
  const Instruction* operator->() const { return instruction_.get(); }

 private:
  std::shared_ptr<const Instruction> instruction_;
};

struct Trace {
  ForkedList<SharedInstruction> instructions;
};

// Without the queries and samplings whose results nothing uses, directly or through other such instructions.
Trace Simplified(const Trace& trace);
// Without the queries whose results nothing uses: their removal changes no later instruction and no choice.
Trace WithoutUnusedQueries(const Trace& trace);
// Up to enter_postproc: what was decided before the steps that any schedule of its kind takes at the end.
Trace WithoutPostprocessing(const Trace& trace);

// Calls `visit` on each random variable in `value`.
void VisitRvs(const Value& value, const std::function<void(Rv)>& visit);
// `value` with each random variable replaced.
Value MapRvs(const Value& value, const std::function<Value(Rv)>& map);

}  // namespace tilewright
