#include "tools/programs/verification.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>

#include "ir/script/python/diagnostic.h"
#include "ir/script/source_places.h"
#include "tools/command_line/input_text.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// The text of the first operand, and where the loops and blocks of its program stand in it.
class SourceText {
 public:
  SourceText(const CommandArguments& args, const Module& source)
      : file_(args.operands()[0] == "-" ? "<stdin>" : args.operands()[0]),
        text_(ReadText(args, args.operands()[0]).value_or("")),
        places_(text_, source) {}

  // The diagnostic with the line of the file that it is about; with the whole program where the line is not known.
  std::string Show(const Diagnostic& diagnostic, const Function& function) const {
    const auto offset = places_.Find(function->name, diagnostic.object);
    if (!offset) return Render({{diagnostic}}, function);
    const std::string message = std::string(diagnostic.check) + ": " + diagnostic.reason;
    std::string shown = script::MakeDiagnostic(text_, file_, *offset, message).ToString();
    if (diagnostic.verdict == Verdict::kAssumed) {
      const size_t at = shown.find(": error: ");
      if (at != shown.npos) shown.replace(at, 9, ": assumed: ");
    }
    return shown;
  }

 private:
  const std::string file_, text_;
  const script::SourcePlaces places_;
};

bool IsRefuted(const Module& module) {
  for (const Function& function : module.functions()) {
    if (VerifyProgram(function).verdict() == Verdict::kRefuted) return true;
  }
  return false;
}

}  // namespace

Verdict ReportVerification(const CommandArguments& args, const Module& source, const Module& program,
                           const Target& target, bool all) {
  std::optional<SourceText> text;
  Verdict worst = Verdict::kProven;
  for (const Function& function : program.functions()) {
    const VerifyResult result = VerifyProgram(function, &target);
    const Verdict verdict = result.verdict();
    worst = std::max(worst, verdict);
    for (const Diagnostic& diagnostic : result.diagnostics) {
      const bool refuted = diagnostic.verdict == Verdict::kRefuted;
      if (!refuted && !all) continue;
      if (!text) text.emplace(args, source);
      (refuted ? args.err() : args.out()) << text->Show(diagnostic, function) << "\n";
    }
    if (!all || verdict == Verdict::kRefuted) continue;
    args.out() << function->name
               << (verdict == Verdict::kProven ? ": proven valid\n" : ": valid under the assumptions above\n");
  }
  return worst;
}

bool MayBeCompiled(const CommandArguments& args, const Module& source, const Module& scheduled, const Target& target) {
  if (args.Has("--unverified")) {
    args.err() << "not verified: --unverified leaves that out\n";
    return true;
  }
  bool good = true;
  for (const Function& function : scheduled.functions()) {
    good = good && VerifyProgram(function, &target).verdict() != Verdict::kRefuted;
  }
  if (good) return true;
  const bool scheduled_only = !IsRefuted(source);
  const bool as_is = source.functions().front().same_as(scheduled.functions().front());
  if (scheduled_only && !as_is) args.err() << args.operands()[0] << ": error: the scheduled program is refuted\n";
  ReportVerification(args, source, scheduled_only ? scheduled : source, target, false);
  return false;
}

}  // namespace tilewright
