// What tests of verification ask with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "target/target.h"
#include "verify/verify.h"

namespace tilewright::testing {

using Texts = std::vector<std::string>;

// "check: reason" of every diagnostic of the program's only function.
inline Texts Findings(std::string_view text, const Target* target = nullptr) {
  Texts findings;
  for (const Diagnostic& d : VerifyProgram(ParseFunctionOrDie(text), target).diagnostics) {
    findings.push_back(std::string(d.check) + ": " + d.reason);
  }
  return findings;
}

// Those that are refuted, of a program for a GPU.
inline Texts RefutedOnGpu(std::string_view text, const char* gpu = "cuda-sm80") {
  const Target target = *NamedTarget(gpu);
  Texts findings;
  for (const Diagnostic& d : VerifyProgram(ParseFunctionOrDie(text), &target).diagnostics) {
    if (d.verdict == Verdict::kRefuted) findings.push_back(std::string(d.check) + ": " + d.reason);
  }
  return findings;
}

}  // namespace tilewright::testing
