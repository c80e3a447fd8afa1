#include "codegen/llvm/aarch64/spills.h"

#include "codegen/llvm/assembly/inner_loop_spills.h"

namespace tilewright::aarch64 {
namespace {

// "str\tq0, [sp, #96]", "ldp\td8, d9, [x0]"; a pair counts once.
bool IsVectorMove(std::string_view line) {
  const bool is_move = line.starts_with("ld") || line.starts_with("st");
  const size_t operand = line.find('\t');
  if (!is_move || operand == line.npos || operand + 1 >= line.size()) return false;
  const char kind = line[operand + 1];  // of register; lists of ld1 are in braces
  return kind == 'q' || kind == 'd' || kind == 's' || kind == '{';
}

// x29 is any other register where it does not hold the frame.
bool UsesStack(std::string_view line, bool has_frame) {
  return line.find("[sp") != line.npos || (has_frame && line.find("[x29") != line.npos);
}

bool IsStore(std::string_view line) { return line.starts_with("st"); }

// "b.ne\t.LBB0_1", "cbnz\tx8, .LBB0_1".
bool IsJump(std::string_view line) {
  return line.starts_with("b.") || line.starts_with("b\t") || line.starts_with("cb") || line.starts_with("tb");
}

}  // namespace

int CountInnerLoopVectorSpills(std::string_view assembly) {
  constexpr AssemblySyntax kSyntax = {.frame_begins = "mov\tx29, sp",
                                      .is_jump = IsJump,
                                      .is_vector_move = IsVectorMove,
                                      .uses_stack = UsesStack,
                                      .is_store = IsStore};
  return tilewright::CountInnerLoopVectorSpills(assembly, kSyntax);
}

}  // namespace tilewright::aarch64
