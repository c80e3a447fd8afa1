#include <ostream>

#include "target/target.h"
#include "tools/commands.h"
#include "tools/graph_file.h"
#include "tools/models/onnx_file.h"
#include "tools/program_file.h"
#include "tools/programs/verification.h"
#include "tools/scheduled_program.h"

namespace tilewright {
namespace {

int Check(const CommandArguments& args) {
  if (args.kind() == FileKind::kModel) return CheckOnnx(args);
  if (args.kind() == FileKind::kGraph) return CheckGraph(args);
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  const std::optional<Module> source = ReadProgram(args, args.operands()[0]);
  if (!source) return kRefused;
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Module program = *source;
  if (args.Has("--script")) {
    const std::optional<ScheduledProgram> scheduled = ScheduleProgram(args, *source, *target, &intrins);
    if (!scheduled) return kRefused;
    program = scheduled->schedule.module();
  } else if (!LoadIntrinsics(args, &intrins)) {
    return kRefused;
  }
  const Verdict verdict = ReportVerification(args, *source, program, *target, true);
  if (verdict == Verdict::kRefuted) return kRefused;
  WarnOf(args, *source);
  return kDone;
}

}  // namespace

Command CheckCommand() {
  return {.name = "check",
          .operands = "FILE",
          .summary = "verifies a program or graph text, or says whether an ONNX model can be imported",
          .details =
              "Exit status 1 when something is refuted. With --script the scheduled program is verified. For a GPU "
              "(cuda-sm75 to cuda-sm90a) its limits count too: threads, "
              "shared memory, registers, vectors.\nWarnings on standard error are about correct programs: products of "
              "integers that "
              "wrap, outputs that are written in part, loops that no schedule reaches, misspelt attributes.",
          .takes = kPrograms | kGraphs | kModels,
          .run = Check};
}

}  // namespace tilewright
