// Tokens of Python text: names, numbers, strings, operators, and the line ends and indentation that give it structure.
//
//   for i in range(4):      name name name name ( number ) : newline
//       f(i)                indent name ( name ) newline
//                           dedent end
//
// Inside brackets, and after a backslash at the end of a line, line ends mean nothing. A text that is indented as a
// whole is read as if it were not: the first line sets the level. A byte order mark at its beginning is skipped.
//
// What is not a token of this language, but may be one of Python's, is a token of kind kBad: only who needs the
// statement around it reports it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/script/python/diagnostic.h"

namespace tilewright::script {

enum class TokenKind : uint8_t { kName, kInt, kFloat, kString, kOperator, kNewline, kIndent, kDedent, kEnd, kBad };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t offset = 0;    // of its first byte in the text
  std::string_view text;  // as written (into the text that was given)
  std::string string;     // of strings: the value, escapes resolved; of bad tokens: what is wrong
  uint64_t integer = 0;
  double real = 0;
};

// The tokens, the last one of kind kEnd; or an error. `text` must outlive them.
struct TokenList {
  std::vector<Token> tokens;
  std::optional<Diagnostic> error;
};
TokenList Tokenize(std::string_view text, std::string_view file);

}  // namespace tilewright::script
