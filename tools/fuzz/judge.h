// Whether a program computes the same in the interpreter, compiled as it stands, and scheduled by the default rules.
#pragma once

#include <cstdint>
#include <string>

#include "tools/fuzz/program_text.h"

namespace tilewright {

struct Judgement {
  enum class Result : uint8_t {
    kRight,
    kUnread,   // the parser refuses it
    kRefused,  // verify refutes it
    kInvalid,  // the interpreter says that it is in error on these inputs
    kWrong,    // another result, or refused further on
  };
  Result kind = Result::kRight;
  std::string reason;
};

// On the inputs of this seed.
Judgement JudgeProgram(const ProgramText& program, uint64_t seed);

}  // namespace tilewright
