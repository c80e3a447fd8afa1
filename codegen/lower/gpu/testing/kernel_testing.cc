#include "codegen/lower/gpu/testing/kernel_testing.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/lower/pipeline.h"
#include "intrin/registry.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/script/schedule_script.h"
#include "target/target.h"

namespace tilewright::testing {
namespace {

absl::StatusOr<std::vector<NDArray>> Run(const Function& function, const interp::CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(interp::Program program, interp::Compile(function, options));
  std::vector<NDArray> arrays;
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value_or(1));
    arrays.emplace_back(param.buffer->dtype, shape);
    FillIntegers(arrays.back(), arrays.size());
    arguments.emplace_back(arrays.back());
  }
  TW_RETURN_IF_ERROR(program.Run(arguments));
  return arrays;
}

}  // namespace

Function Scheduled(const std::string& program, const std::string& schedule_text) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Schedule schedule(Module{ParseFunctionOrDie(program)}, {.intrins = &intrins});
  const auto error = ApplyScheduleScript(schedule_text, "schedule", &schedule);
  if (error) ADD_FAILURE() << error->diagnostic.ToString();
  return schedule.module().Main();
}

absl::StatusOr<Function> LoweredTo(const Function& function, std::string_view last, std::string_view target_name) {
  const Target target = *NamedTarget(target_name);
  const LowerContext context{target};
  Function lowered = function;
  for (const Pass& pass : PipelineFor(target)) {
    absl::StatusOr<Function> after = pass.run(lowered, context);
    if (!after.ok())
      return absl::Status(after.status().code(), absl::StrCat(std::string(pass.name), ": ", after.status().message()));
    lowered = *std::move(after);
    if (pass.name == last) return lowered;
  }
  return lowered;
}

absl::Status CompareLowered(const Function& function) {
  TW_ASSIGN_OR_RETURN(const Function lowered, LoweredTo(function));
  TW_ASSIGN_OR_RETURN(const auto expected, Run(function, interp::CompileOptions()));
  const auto found = Run(lowered, interp::CompileOptions::AllChecks());
  if (!found.ok())
    return absl::Status(found.status().code(), absl::StrCat(found.status().message(), "\n", Print(lowered)));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (BitEqual(expected[i], (*found)[i])) continue;
    const ArrayError error = MaxError(expected[i], (*found)[i]);
    return absl::InternalError(absl::StrCat("array ", i, " differs at ", error.position, ": ",
                                            (*found)[i].Get(error.position), " for ", expected[i].Get(error.position),
                                            "\n", Print(lowered)));
  }
  return absl::OkStatus();
}

}  // namespace tilewright::testing
