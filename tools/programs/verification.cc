#include "tools/programs/verification.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/script/python/diagnostic.h"
#include "ir/script/source_places.h"
#include "tools/command_line/input_text.h"
#include "tools/programs/cautions.h"
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
    return diagnostic.verdict == Verdict::kAssumed ? Instead(std::move(shown), "assumed") : shown;
  }
  std::string Show(const Caution& caution, const Function& function) const {
    const auto offset = places_.Find(function->name, caution.object);
    if (!offset) return file_ + ": warning: " + caution.text + "\n";
    return Instead(script::MakeDiagnostic(text_, file_, *offset, caution.text).ToString(), "warning");
  }

 private:
  // The text of a diagnostic with another word than error.
  static std::string Instead(std::string shown, std::string_view word) {
    constexpr std::string_view kError = ": error: ";
    const size_t at = shown.find(kError);
    if (at != shown.npos) shown.replace(at, kError.size(), ": " + std::string(word) + ": ");
    return shown;
  }

  const std::string file_, text_;
  const script::SourcePlaces places_;
};

void Warn(const CommandArguments& args, const Module& source, std::vector<Caution> (*cautions_of)(const Function&)) {
  std::optional<SourceText> text;
  for (const Function& function : source.functions()) {
    for (const Caution& caution : cautions_of(function)) {
      if (!text) text.emplace(args, source);
      args.err() << text->Show(caution, function) << "\n";
    }
  }
}

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

void WarnOf(const CommandArguments& args, const Module& source) { Warn(args, source, CautionsOf); }

void WarnOfLoopsWithoutBlocks(const CommandArguments& args, const Module& source) {
  Warn(args, source, LoopsWithoutBlocks);
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
