// All checks of a program at once. Each is a free function in a file of its own, which says what it proves; this is the
// list of them.
//
//   VerifyResult result = VerifyProgram(function, &target);
//   if (result.verdict() == Verdict::kRefuted) std::cerr << Render(result, function);
#pragma once

#include <string>

#include "ir/function.h"
#include "target/target.h"
#include "verify/structure/diagnostic.h"
#include "verify/structure/proven_parts.h"

namespace tilewright {

struct VerifyResult {
  Diagnostics diagnostics;
  Verdict verdict() const { return Worst(diagnostics); }
};

// Without a target no limit holds, and warps and warpgroups have as many threads as in every preset (GpuTarget).
// `proven` (may be null): what earlier calls proved.
VerifyResult VerifyProgram(const Function& function, const Target* target = nullptr, ProvenParts* proven = nullptr);

// One paragraph per diagnostic: check, reason, then the program with the loops and blocks concerned marked.
std::string Render(const VerifyResult& result, const Function& function);

}  // namespace tilewright
