// Tilewright from C++: what most programs need, in one header.
//
//   absl::StatusOr<Module> module = ParseModule(text, "matmul.py");             // read
//   VerifyResult proof = VerifyProgram(module->Main(), &target);                // check
//   Schedule schedule(*module, {.intrins = &intrins});                          // schedule by text ...
//   auto error = ApplyScheduleScript(script, "schedule.py", &schedule);
//   AutoScheduled by_rules = AutoSchedule(*module, target, &intrins);           // ... or by the rules
//   auto code = CompileAndLoad(schedule.module(), target);                      // compile
//   absl::Status status = (*code)->Run("main", {a.abi(), b.abi(), c.abi()}, &hook);   // call, on DLPack's tensors
//
// All of it is in namespace tilewright, and each header says more. Files for other programs come from Compile
// (codegen/backend.h); ONNX models from graph/executor/onnx_model.h.
#pragma once

#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "intrin/registry.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "schedule/recorder/schedule.h"
#include "schedule/script/schedule_script.h"
#include "target/target.h"
#include "tilewright/version.h"
#include "verify/verify.h"
