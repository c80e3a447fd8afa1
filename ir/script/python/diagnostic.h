// Error messages that point into a text.
//
//   matmul.py:7:14: error: B has 2 dimensions, but 1 index is given
//           C[vi, vj] = B[vi]
//                       ^
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::script {

struct Diagnostic {
  std::string file;
  int line = 0;    // from 1
  int column = 0;  // from 1, in characters (UTF-8 code points)
  std::string message;
  std::string source_line;  // the whole line, without its end

  // "FILE:LINE:COL: error: message", the line, a caret; three lines, no newline at the end.
  std::string ToString() const;
};

// A diagnostic about the byte at `offset` of `text`.
Diagnostic MakeDiagnostic(std::string_view text, std::string_view file, uint32_t offset, std::string message);

}  // namespace tilewright::script
