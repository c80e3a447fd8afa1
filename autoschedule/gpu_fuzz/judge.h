// One case of the fuzz: a program of a kind, scheduled in a way, emulated and compared with the interpreter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/recorder/schedule.h"

namespace tilewright::fuzz {

enum class Way : uint8_t {
  kPreferred,  // by the rules, as when nothing was measured
  kDrawn,      // by the rules, with random choices
  kPrimitives  // random primitives
};

struct GpuCase {
  std::string kind;
  Way way = Way::kDrawn;
  uint64_t seed = 0;
  std::string target = "cuda-sm80";
};
// The n-th case of a campaign: kinds, ways and targets in turn.
GpuCase CaseOf(uint64_t number);
// "preferred", "drawn", "primitives"; nothing for others.
std::optional<Way> WayNamed(std::string_view name);
std::string ToString(const GpuCase& each);

enum class CaseResult : uint8_t {
  kRight,
  kRefuted,    // verification refuses the schedule
  kRefused,    // code generation refuses it
  kWrong,      // an unequal result, a fault in the emulator
  kUnfinished  // the emulator ended it after its budget of instructions and had found nothing
};

struct Judged {
  CaseResult result = CaseResult::kRight;
  std::string why;
  int kernels = 0;                          // that ran
  std::vector<std::string> kernel_kinds{};  // of those (codegen/cuda/testing/kernel_kinds.h)
  Schedule schedule;
};
// `on_gpu`: what is right in emulation runs on this machine's GPU too.
Judged Judge(const GpuCase& each, bool on_gpu = false);

}  // namespace tilewright::fuzz
