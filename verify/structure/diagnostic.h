// What a check says about a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

enum class Verdict : uint8_t {
  kProven,   // nothing to say; never stands in a diagnostic
  kAssumed,  // holds if what the reason names (an external call, a gather) keeps to its declared signature
  kRefuted,  // wrong, or not provable by the rules that the check's header states
};

struct Diagnostic {
  Verdict verdict = Verdict::kRefuted;
  const char* check = "";  // the check's name: "region cover"
  uint32_t object = 0;     // id of the loop or block it is about; 0: the function
  std::string reason;      // "block C reads A_shared[0:16] of which only [0:8] is written before"
  // It is about what single accesses do, which running a small program shows (verify/structure/exact_run.h).
  bool enumerable = false;
  Buffer buffer;  // of which it says that elements are not written; else null
};

using Diagnostics = std::vector<Diagnostic>;

// The worst of the verdicts; proven when there are none.
Verdict Worst(const Diagnostics& diagnostics);

}  // namespace tilewright
