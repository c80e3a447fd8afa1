#include "schedule/script/primitive_examples.h"

#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "intrin/registry.h"
#include "ir/script/parser.h"
#include "schedule/script/schedule_script.h"

namespace tilewright {
namespace {

// The intrinsics, which come last, go to `example.intrinsics`.
void TakeIntrinsics(PrimitiveExample& example) {
  const size_t description = example.program.find("_desc(");
  if (description == std::string::npos) return;
  const size_t begin = example.program.rfind("@T.prim_func", description);
  example.intrinsics = example.program.substr(begin);
  example.program.resize(example.program.find_last_not_of('\n', begin - 1) + 1);
  example.program += '\n';
}

absl::Status Apply(PrimitiveExample& example) {
  TW_ASSIGN_OR_RETURN(Module module, ParseModule(example.program, example.primitive));
  IntrinRegistry intrins;
  if (!example.intrinsics.empty()) {
    TW_RETURN_IF_ERROR(intrins.LoadScript(example.intrinsics, example.primitive));
  }
  Schedule schedule(module, {.intrins = &intrins});
  if (const auto error = ApplyScheduleScript(example.calls, example.primitive, &schedule)) {
    return absl::InvalidArgumentError(error->diagnostic.ToString());
  }
  example.before = std::move(module);
  example.after = schedule.module();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<PrimitiveExample>> ReadPrimitiveExamples(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::vector<PrimitiveExample> examples;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#### ")) {
      examples.push_back({.primitive = line.substr(5)});
    } else if (examples.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(path, " does not begin with #### and a primitive"));
    } else if (line.starts_with(">>> ")) {
      absl::StrAppend(&examples.back().calls, line.substr(4), "\n");
    } else {
      absl::StrAppend(&examples.back().program, line, "\n");
    }
  }
  for (size_t i = 0; i < examples.size(); ++i) {
    PrimitiveExample& example = examples[i];
    example.same_program = i > 0 && example.program.empty();
    if (example.same_program) {
      example.program = examples[i - 1].program;
      example.intrinsics = examples[i - 1].intrinsics;
    } else {
      TakeIntrinsics(example);
    }
    TW_RETURN_IF_ERROR(Apply(example));
  }
  return examples;
}

}  // namespace tilewright
