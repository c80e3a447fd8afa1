// Compiles the kernels of operators that nobody scheduled, as `bench/operators` names them, by NVRTC at their full
// size, and refuses spills, stack frames and warnings of ptxas (C75xx). Needs no GPU.
//
//   compile_kernels --target=cuda-sm80,cuda-sm90a --ops=all --batch=1,16 --dtype=f16,f16f32,f16h,bf16h,s8s8,int8,f32
//
// Prints each kernel that is refused, with its reason, and how many there were of each target.
//
// With --text=FOLDER it compiles nothing and needs no NVRTC: it writes the CUDA text of each program into a file,
// behind the choices that made it (tools/compare_cuda_text.sh).
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "base/status_macros.h"
#include "bench/operators/program.h"
#include "bench/operators/shapes.h"
#include "codegen/backend.h"
#include "codegen/cuda/nvrtc.h"
#include "verify/verify.h"

ABSL_FLAG(std::string, target, "cuda-sm80,cuda-sm90a", "Targets.");
ABSL_FLAG(std::string, ops, "", "Operators, such as GMM,C2D, or all: each at its standard shapes.");
ABSL_FLAG(std::string, shape, "", "Shapes, such as GMM:1,512,512,512.");
ABSL_FLAG(std::string, batch, "", "Sizes of batches, such as 1,16.");
ABSL_FLAG(std::string, dtype, "f16", "Data types, as bench/operators names them.");
ABSL_FLAG(std::string, text, "", "Folder into which the text of each program is written; nothing is compiled.");
ABSL_FLAG(bool, print, false, "Whether to print the counters of each kernel.");

namespace tilewright::bench {
namespace {

int Fail(std::string_view message) {
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(message.size()), message.data());
  return 2;
}

absl::StatusOr<std::vector<Shape>> ShapesOfFlags() {
  std::vector<Shape> shapes;
  if (const std::string ops = absl::GetFlag(FLAGS_ops); !ops.empty()) {
    TW_ASSIGN_OR_RETURN(const auto operators, ParseOperators(ops));
    for (const Operator op : operators) {
      for (Shape& shape : StandardShapes(op)) shapes.push_back(std::move(shape));
    }
  }
  if (const std::string text = absl::GetFlag(FLAGS_shape); !text.empty()) {
    TW_ASSIGN_OR_RETURN(auto more, ParseShapes(text));
    for (Shape& shape : more) shapes.push_back(std::move(shape));
  }
  return WithBatches(shapes, absl::GetFlag(FLAGS_batch));
}

// The CUDA text of what the rules make, behind the choices that made it.
std::string TextOf(const Workload& workload, const Target& target) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::Preferred();
  const AutoScheduled scheduled = AutoSchedule(Module(MakeProgram(workload).function), target, &intrins, choices);
  std::string text;
  for (const Choice& choice : choices.made()) {
    const std::string_view label = choice.label();
    absl::StrAppend(&text, "// ", choice.name, "=", label.empty() ? absl::StrCat(choice.value) : std::string(label),
                    "\n");
  }
  const auto artifact = Compile(scheduled.schedule.module(), target, {.format = "cu"});
  return text + (artifact.ok() ? artifact->bytes : artifact.status().ToString());
}

// What the compiler counts in the kernels that the rules make.
absl::StatusOr<Counters> CountersOf(const Workload& workload, const Target& target) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled scheduled = AutoSchedule(Module(MakeProgram(workload).function), target, &intrins);
  for (const Function& function : scheduled.schedule.module().functions()) {
    const VerifyResult verified = VerifyProgram(function, &target);
    if (verified.verdict() == Verdict::kRefuted) return absl::InternalError(Render(verified, function));
  }
  TW_ASSIGN_OR_RETURN(auto artifact, Compile(scheduled.schedule.module(), target, {.format = "cubin", .count = true}));
  return artifact.counters;
}

struct Counted {
  int compiled = 0, refused = 0;
};

void Check(const Workload& workload, const Target& target, Counted& counted) {
  const std::string name = absl::StrCat(target.name, " ", std::string(Name(workload.shape.op)), ":",
                                        NumbersText(workload.shape), " ", std::string(Name(workload.dtype)));
  ++counted.compiled;
  if (const std::string folder = absl::GetFlag(FLAGS_text); !folder.empty()) {
    std::ofstream(absl::StrCat(folder, "/", absl::StrReplaceAll(name, {{" ", "_"}, {":", "_"}}), ".cu"))
        << TextOf(workload, target);
    return;
  }
  const auto counters = CountersOf(workload, target);
  const std::optional<std::string> reason =
      counters.ok() ? ExceededLimit(*counters, GpuLimits()) : std::optional(std::string(counters.status().message()));
  if (reason) {
    ++counted.refused;
    std::printf("%s: %s\n", name.c_str(), reason->c_str());
  } else if (absl::GetFlag(FLAGS_print)) {
    std::string text;
    for (const auto& [counter, value] : *counters) absl::StrAppend(&text, ", ", value, " ", counter);
    std::printf("%s: ok%s\n", name.c_str(), text.c_str());
  }
  std::fflush(stdout);
}

int Main() {
  if (absl::GetFlag(FLAGS_text).empty() && !cuda::NvrtcIsInstalled()) return Fail("NVRTC is not installed");
  const auto shapes = ShapesOfFlags();
  if (!shapes.ok()) return Fail(std::string(shapes.status().message()));
  if (shapes->empty()) return Fail("no shape given: --ops or --shape");
  const auto dtypes = ParseDTypes(absl::GetFlag(FLAGS_dtype));
  if (!dtypes.ok()) return Fail(std::string(dtypes.status().message()));
  int refused = 0;
  for (const std::string& target_name :
       std::vector<std::string>(absl::StrSplit(absl::GetFlag(FLAGS_target), ',', absl::SkipEmpty()))) {
    const auto target = NamedTarget(target_name);
    if (!target.ok()) return Fail(std::string(target.status().message()));
    Counted counted;
    for (const Shape& shape : *shapes) {
      for (const DType dtype : *dtypes) Check({shape, dtype, *MakeProblem(shape)}, *target, counted);
    }
    std::printf("%s: %d programs compiled, %d refused\n", target->name.c_str(), counted.compiled, counted.refused);
    refused += counted.refused;
  }
  return refused == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Compiles the kernels of operators by NVRTC and refuses spills.");
  absl::ParseCommandLine(argc, argv);
  return tilewright::bench::Main();
}
