// Characters of UTF-8 text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::script {

struct Utf8Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: the text does not begin with a character
};

// The first character of `text`.
Utf8Character ReadUtf8(std::string_view text);

// The offset of the first byte that begins no character; the size of the text when there is none.
size_t FirstInvalidUtf8(std::string_view text);

// Whether the code is that of a character: at most 0x10ffff, no half of a pair of UTF-16.
bool IsUnicode(uint32_t code);
void AppendUtf8(uint32_t code, std::string* out);

// Whether names may hold the character: whatever is beyond ASCII and no space, control, punctuation or symbol.
bool IsOtherLetter(uint32_t code);

}  // namespace tilewright::script
