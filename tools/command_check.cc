#include <ostream>

#include "ir/script/parser.h"
#include "ir/script/python/diagnostic.h"
#include "ir/script/source_places.h"
#include "target/target.h"
#include "tools/commands.h"
#include "tools/onnx_file.h"
#include "tools/program_file.h"
#include "tools/scheduled_program.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// The diagnostic with the line of the file that it is about; with the whole program where the line is not known.
std::string InText(const Diagnostic& diagnostic, const Function& function, std::string_view text, std::string_view file,
                   const script::SourcePlaces& places) {
  const auto offset = places.Find(function->name, diagnostic.object);
  if (!offset) return Render({{diagnostic}}, function);
  const std::string message = std::string(diagnostic.check) + ": " + diagnostic.reason;
  std::string shown = script::MakeDiagnostic(text, file, *offset, message).ToString();
  if (diagnostic.verdict == Verdict::kAssumed) {
    const size_t at = shown.find(": error: ");
    if (at != shown.npos) shown.replace(at, 9, ": assumed: ");
  }
  return shown;
}

int Check(const CommandArguments& args) {
  if (IsOnnxFile(args.operands()[0])) return CheckOnnx(args);
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  if (!LoadIntrinsics(args, &intrins)) return kRefused;
  const std::string& path = args.operands()[0];
  const std::optional<std::string> text = ReadText(args, path);
  if (!text) return kRefused;
  const std::string file = path == "-" ? "<stdin>" : path;
  const script::ParseResult parsed = script::Parse(*text, file);
  for (const script::Diagnostic& diagnostic : parsed.diagnostics) args.err() << diagnostic.ToString() << "\n";
  if (!parsed.diagnostics.empty()) return kRefused;
  const script::SourcePlaces places(*text, parsed.module);
  int status = kDone;
  for (const Function& function : parsed.module.functions()) {
    const VerifyResult result = VerifyProgram(function, &*target);
    if (result.verdict() == Verdict::kRefuted) status = kRefused;
    for (const Diagnostic& diagnostic : result.diagnostics) {
      (diagnostic.verdict == Verdict::kRefuted ? args.err() : args.out())
          << InText(diagnostic, function, *text, file, places) << "\n";
    }
    if (result.verdict() == Verdict::kProven) args.out() << function->name << ": proven valid\n";
    if (result.verdict() == Verdict::kAssumed) args.out() << function->name << ": valid under the assumptions above\n";
  }
  return status;
}

}  // namespace

Command CheckCommand() {
  return {
      .name = "check",
      .operands = "FILE",
      .summary = "verifies a program, or says whether an ONNX model can be imported",
      .details =
          "Exit status 1 when something is refuted. For a GPU (cuda-sm75 to cuda-sm90a) its limits count too: threads, "
          "shared memory, registers, vectors.",
      .flags = {{"--target", "NAME", "what the program is for; host by default"},
                {"--intrin", "FILE", "intrinsics that the program uses, as pairs NAME_desc and NAME_impl", true},
                {"--dim", "NAME=N", "value of a symbolic dimension of an ONNX model", true},
                {"--opt-level", "N", "of an ONNX model's passes: 0 none, 1 what keeps every bit, 2 all (the default)"},
                {"--disable", "PASS", "a pass that an ONNX model does not go through", true}},
      .run = Check};
}

}  // namespace tilewright
