// The moves of vectors to and from the stack in innermost loops, in the assembly of any instruction set.
#pragma once

#include <string_view>

namespace tilewright {

// What an instruction set's assembly looks like, line by line, without the white space before it.
struct AssemblySyntax {
  std::string_view frame_begins;                              // of the line after which a register holds the frame
  bool (*is_jump)(std::string_view line);                     // that names a label
  bool (*is_vector_move)(std::string_view line);              // to or from memory
  bool (*uses_stack)(std::string_view line, bool has_frame);  // of a move
  bool (*is_store)(std::string_view line);                    // of a move
};

// Moves to or from the stack inside of innermost loops. Loops that store vectors elsewhere, which are not sums, may
// have some for each of these.
int CountInnerLoopVectorSpills(std::string_view assembly, const AssemblySyntax& syntax);

}  // namespace tilewright
