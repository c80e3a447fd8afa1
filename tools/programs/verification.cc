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

  // The diagnostic with the line of the file that it is about. Where the line is not known, what is assumed stands by
  // itself, and nothing shows what is refuted.
  std::optional<std::string> Show(const Diagnostic& diagnostic, const Function& function) const {
    const auto offset = places_.Find(function->name, diagnostic.object);
    const std::string message = std::string(diagnostic.check) + ": " + diagnostic.reason;
    if (!offset && diagnostic.verdict == Verdict::kAssumed) return file_ + ": assumed: " + message;
    if (!offset) return std::nullopt;
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

}  // namespace

std::optional<std::string> RefutationOf(const Module& module, const Target* target) {
  for (const Function& function : module.functions()) {
    for (const Diagnostic& diagnostic : VerifyProgram(function, target).diagnostics) {
      if (diagnostic.verdict == Verdict::kRefuted) return std::string(diagnostic.check) + ": " + diagnostic.reason;
    }
  }
  return std::nullopt;
}

Verdict ReportVerification(const CommandArguments& args, const Module& source, const Module& program,
                           const Target& target, bool all) {
  std::optional<SourceText> text;
  Verdict worst = Verdict::kProven;
  for (const Function& function : program.functions()) {
    const VerifyResult result = VerifyProgram(function, &target);
    const Verdict verdict = result.verdict();
    worst = std::max(worst, verdict);
    VerifyResult without_place;  // shown together, in the program
    for (const Diagnostic& diagnostic : result.diagnostics) {
      const bool refuted = diagnostic.verdict == Verdict::kRefuted;
      if (!refuted && !all) continue;
      if (!text) text.emplace(args, source);
      const std::optional<std::string> shown = text->Show(diagnostic, function);
      if (shown) (refuted ? args.err() : args.out()) << *shown << "\n";
      if (!shown) without_place.diagnostics.push_back(diagnostic);
    }
    if (!without_place.diagnostics.empty()) args.err() << Render(without_place, function) << "\n";
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
  if (!RefutationOf(scheduled, &target)) return true;
  const bool scheduled_only = !RefutationOf(source, nullptr);
  const bool as_is = source.functions().front().same_as(scheduled.functions().front());
  if (scheduled_only && !as_is) args.err() << args.operands()[0] << ": error: the scheduled program is refuted\n";
  ReportVerification(args, source, scheduled_only ? scheduled : source, target, false);
  return false;
}

}  // namespace tilewright
