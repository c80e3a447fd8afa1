// All checks of a program at once. Each is a free function in a file of its own, which says what it proves; this is the
// list of them.
//
//   VerifyResult result = VerifyProgram(function);
//   if (result.verdict() == Verdict::kRefuted) std::cerr << Render(result, function);
#pragma once

#include <string>

#include "ir/function.h"
#include "verify/diagnostic.h"

namespace tilewright {

struct VerifyResult {
  Diagnostics diagnostics;
  Verdict verdict() const { return Worst(diagnostics); }
};

VerifyResult VerifyProgram(const Function& function);

// One paragraph per diagnostic: check, reason, then the program with the loops and blocks concerned marked.
std::string Render(const VerifyResult& result, const Function& function);

}  // namespace tilewright
