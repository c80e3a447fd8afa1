#include <algorithm>
#include <iterator>
#include <ostream>

#include "absl/strings/str_join.h"
#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "codegen/abi/c_header.h"
#include "codegen/backend.h"
#include "codegen/lower/pipeline.h"
#include "intrin/registry.h"
#include "ir/script/printer.h"
#include "schedule/script/trace_text.h"
#include "tools/commands.h"
#include "tools/models/onnx_file.h"
#include "tools/models/onnx_plan.h"
#include "tools/program_file.h"
#include "tools/programs/verification.h"
#include "tools/scheduled_program.h"
#include "tools/timings/load_report.h"

namespace tilewright {
namespace {

std::string_view Extension(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == path.npos || path.find('/', dot) != path.npos ? std::string_view() : path.substr(dot + 1);
}

// The path without its extension.
std::string Stem(const std::string& path) { return path.substr(0, path.rfind('.')); }
std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Writes the code, and a C header beside what has functions; beside CUDA the host part that starts its kernels.
absl::Status Write(const CommandArguments& args, const Module& module, const Target& target, const std::string& path,
                   const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(const auto artifact, Compile(module, target, options));
  if (!WriteText(args, path, artifact.bytes)) return absl::UnknownError("");
  for (const auto& [name, count] : artifact.counters) args.out() << name << ": " << count << "\n";
  const bool is_text = !artifact.host_part.empty();
  if (is_text && !WriteText(args, Stem(path) + "_host.cc", artifact.host_part)) return absl::UnknownError("");
  const bool callable = is_text || options.format == "o" || options.format == "so";
  if (callable && !WriteText(args, Stem(path) + ".h", EmitHeader(module))) return absl::UnknownError("");
  return absl::OkStatus();
}

int RunCompile(const CommandArguments& args) {
  const std::optional<std::string> path = args.Get("-o");
  if (!path) return UsageError(args, "compile", "-o OUT is missing");
  if (args.Has("--cache-only")) return FillCache(args, *path);
  const std::string_view kind = Extension(*path);
  constexpr std::string_view kKinds[] = {"o", "so", "ll", "s", "cu", "ptx", "cubin"};
  if (std::ranges::find(kKinds, kind) == std::end(kKinds)) {
    return UsageError(args, "compile", "-o " + *path + " ends in none of .o, .so, .ll, .s, .cu, .ptx and .cubin");
  }
  if (args.kind() == FileKind::kModel) {
    if (kind != "o" && kind != "so") return UsageError(args, "compile", "-o of an ONNX model ends in .so or .o");
    return CompileOnnx(args, *path);
  }
  auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  const LoadReport timings;
  const std::vector<std::string> print_after = args.GetAll("--print-after");
  for (const std::string& pass : print_after) {
    const std::vector<std::string_view> names = LoweringPassNames(*target);
    if (pass == "all" || std::find(names.begin(), names.end(), pass) != names.end()) continue;
    std::vector<std::string> known = {"all"};
    known.insert(known.end(), names.begin(), names.end());
    return UsageError(args, "compile",
                      "--print-after=" + pass + ": there is no such pass" + DidYouMean(pass, known) + " (known are " +
                          absl::StrJoin(known, ", ") + ")");
  }
  const std::optional<Module> module = ReadProgram(args, args.operands()[0]);
  if (!module) return kRefused;
  WarnOfLoopsWithoutBlocks(args, *module);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const std::optional<ScheduledProgram> scheduled = ScheduleProgram(args, *module, *target, &intrins);
  if (!scheduled) return kRefused;
  const Schedule* schedule = &scheduled->schedule;
  if (!scheduled->verified && !MayBeCompiled(args, *module, scheduled->module, *target)) return kRefused;
  if (const auto trace = args.Get("--trace"); trace && !WriteText(args, *trace, ToText(schedule->trace()))) {
    return kRefused;
  }

  CompileOptions options{.format = std::string(kind), .count = kind == "cu" || kind == "ptx" || kind == "cubin"};
  if (kind == "cu") options.cubin_name = NameOf(Stem(*path)) + ".cubin";
  options.after_pass = [&](std::string_view pass, const Function&, const Function& after) {
    for (const std::string& wanted : print_after) {
      if (wanted != "all" && wanted != pass) continue;
      args.out() << "# after " << pass << "\n" << Print(after) << "\n";
      return;
    }
  };
  absl::Status written = Write(args, scheduled->module, *target, *path, options);
  if (args.Has("--timings")) args.out() << timings.ToText();
  if (written.ok()) return kDone;
  if (!written.message().empty())
    args.err() << args.operands()[0] << ": error: " << std::string(written.message()) << "\n";
  return kRefused;
}

}  // namespace

Command CompileCommand() {
  return {.name = "compile",
          .operands = "FILE",
          .summary = "compiles a program or an ONNX model to an object, a library, LLVM IR, assembly or CUDA",
          .details =
              "The extension of OUT says which: .o, .so, .ll or .s; for a GPU .so, .cu, .ptx or .cubin. Objects and "
              "libraries get a C header beside "
              "them, and NAME.cu gets NAME_host.cc besides, which starts its kernels. A library for a GPU needs the "
              "driver alone when it runs. How functions are called is described in docs/abi.md. Without --script and "
              "--db the program is "
              "scheduled by the rules for the target. The scheduled program is verified first. A model becomes one "
              "function, named after OUT, with its weights "
              "packed; symbolic dimensions without a value of --dim have those of each call. With --cache-only OUT is "
              "a folder "
              "that becomes a cache of kernels, for images and for CI: loads with TILEWRIGHT_KERNEL_CACHE=OUT, by this "
              "build on a machine like this one, then compile nothing.",
          .takes = kPrograms | kModels,
          .run = RunCompile};
}

}  // namespace tilewright
