#include "tools/fuzz/judge.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "autoschedule/measure/reference/param_specs.h"
#include "autoschedule/measure/reference/reference.h"
#include "autoschedule/measure/reference/run_on_arrays.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "base/status_macros.h"
#include "codegen/backend.h"
#include "intrin/registry.h"
#include "ir/interp/interp.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "tools/arrays/compare_outputs.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using Result = Judgement::Result;
using Arrays = std::vector<NDArray>;

Arrays Clone(const Arrays& arrays) {
  Arrays copy;
  for (const NDArray& array : arrays) copy.push_back(array.Clone());
  return copy;
}

std::vector<interp::Argument> Arguments(const Arrays& arrays) { return {arrays.begin(), arrays.end()}; }

std::string Refuted(const VerifyResult& verified) {
  for (const Diagnostic& diagnostic : verified.diagnostics) {
    if (diagnostic.verdict == Verdict::kRefuted) return absl::StrCat(diagnostic.check, ": ", diagnostic.reason);
  }
  return "";
}

// Whether the program may read what was never written: verify has not proven that it does not.
bool MayReadUnwritten(const VerifyResult& verified) {
  return std::ranges::any_of(verified.diagnostics, [](const Diagnostic& d) {
    const std::string_view check = d.check;
    return check == "region cover" || check == "initialization" || check == "views";
  });
}

absl::Status RunCompiled(const Module& module, const std::string& name, const Arrays& arrays) {
  TW_ASSIGN_OR_RETURN(const auto code, CompileAndLoad(module, HostTarget()));
  return RunOnArrays(*code, module.Find(name), arrays);
}

// What differs beyond rounding; empty when nothing does.
std::string Difference(const std::vector<Function>& functions, const Arrays& before, const Arrays& expected,
                       const Arrays& result) {
  std::optional<Tolerances> tolerances;
  for (size_t i = 0; i < result.size(); ++i) {
    if (BitEqual(result[i], expected[i])) continue;
    if (!tolerances) tolerances.emplace(functions, Arguments(Clone(before)));
    const std::string failure =
        tolerances->Compare(i, functions[0]->params[i].buffer->name, result[i], expected[i]).failure;
    if (!failure.empty()) return failure;
  }
  return "";
}

}  // namespace

Judgement JudgeProgram(const ProgramText& program, uint64_t seed) {
  script::ParseResult parsed = script::Parse(program.text, "program");
  if (!parsed.diagnostics.empty()) return {Result::kUnread, parsed.diagnostics[0].ToString()};
  const Module& module = parsed.module;
  const Function function = module.Main();
  const VerifyResult verified = VerifyProgram(function);
  if (const std::string refuted = Refuted(verified); !refuted.empty()) return {Result::kRefused, refuted};
  const Function sized = AtSizes(function, program.sizes);
  const auto specs = ParamSpecs(sized);
  if (!specs.ok()) return {Result::kUnread, std::string(specs.status().message())};
  Arrays before;
  for (size_t i = 0; i < specs->size(); ++i) before.push_back(SeededTensor((*specs)[i], seed, i));

  const Arrays expected = Clone(before);
  const auto interpreted = interp::Compile(function, {.check_bounds = true, .check_uninitialized = true});
  if (!interpreted.ok())
    return {Result::kWrong, absl::StrCat("interpreter: ", std::string(interpreted.status().message()))};
  if (const absl::Status status = interpreted->Run(Arguments(expected)); !status.ok()) {
    const std::string message(status.message());
    const bool unwritten = message.starts_with("uninitialized:");
    if (unwritten && !MayReadUnwritten(verified)) return {Result::kWrong, absl::StrCat("verify accepts it: ", message)};
    return {Result::kInvalid, message};
  }

  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module scheduled = AutoSchedule(module, HostTarget(), &intrins).schedule.module();
  if (const std::string refuted = Refuted(VerifyProgram(scheduled.Main())); !refuted.empty()) {
    return {Result::kWrong, absl::StrCat("verify refuses what the rules made: ", refuted)};
  }
  for (const auto& [what, made] : {std::pair("as it stands", module), std::pair("scheduled by the rules", scheduled)}) {
    const Arrays result = Clone(before);
    const absl::Status status = RunCompiled(made, program.function, result);
    if (!status.ok()) return {Result::kWrong, absl::StrCat(what, ": ", std::string(status.message()))};
    const std::string difference = Difference({sized}, before, expected, result);
    if (!difference.empty()) return {Result::kWrong, absl::StrCat(what, ": ", difference, "\n", Print(made))};
  }
  return {};
}

}  // namespace tilewright
