// Inline PTX: text such as
//
//   "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }"
//
// read once, and then run for each thread that comes to it. Operands of the statement ($0, $1, ...) are 64 bits each;
// narrower ones are their low bits. docs/emulate.md lists the instructions; each calls the emulator's function of the
// same name, which checks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tilewright::foreign::ptx {

struct Instruction;

class Program {
 public:
  Program();
  ~Program();
  // Runs it for the thread that runs.
  void Run(uint64_t* operands) const;

 private:
  friend class Parser;
  std::vector<Instruction> instructions_;
  size_t operands_ = 0, locals_ = 0;
};

// `text` as LLVM keeps it, of a statement with this many operands. An error names the instruction that is not known.
absl::StatusOr<std::unique_ptr<Program>> Parse(std::string_view text, size_t operands);

// The lane of its warp that the thread which runs is.
unsigned LaneOfThread();

// The instructions that are known, by the words that they begin with.
std::vector<std::string> KnownInstructions();

}  // namespace tilewright::foreign::ptx
