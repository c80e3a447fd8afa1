#include "ir/script/python/utf8.h"

namespace tilewright::script {

Utf8Character ReadUtf8(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t code = first & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  // No code is written longer than it has to be.
  const uint32_t least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  if (code < least || !IsUnicode(code)) return {};
  return {code, bytes};
}

size_t FirstInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Character next = ReadUtf8(text.substr(at));
    if (next.bytes == 0) break;
    at += next.bytes;
  }
  return at;
}

bool IsUnicode(uint32_t code) { return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff); }

void AppendUtf8(uint32_t code, std::string* out) {
  const auto push = [&](uint32_t byte) { *out += static_cast<char>(byte); };
  if (code < 0x80) return push(code);
  if (code < 0x800) {
    push(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    push(0xe0 | code >> 12);
    push(0x80 | (code >> 6 & 0x3f));
  } else {
    push(0xf0 | code >> 18);
    push(0x80 | (code >> 12 & 0x3f));
    push(0x80 | (code >> 6 & 0x3f));
  }
  push(0x80 | (code & 0x3f));
}

bool IsOtherLetter(uint32_t code) {
  struct Codes {
    uint32_t first, last;
  };
  static constexpr Codes kNoLetters[] = {
      {0x00, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb6},     {0xb8, 0xb9},     {0xbb, 0xbf},       {0xd7, 0xd7},
      {0xf7, 0xf7},     {0x1680, 0x1680}, {0x2000, 0x206f}, {0x20a0, 0x20cf}, {0x2190, 0x2bff},   {0x3000, 0x3004},
      {0x3008, 0x3020}, {0x3030, 0x3030}, {0xd800, 0xf8ff}, {0xfe10, 0xfe1f}, {0xfe30, 0xfe6f},   {0xfeff, 0xff0f},
      {0xff1a, 0xff20}, {0xff3b, 0xff3e}, {0xff5b, 0xff65}, {0xffe0, 0xffff}, {0x1f000, 0x1faff}, {0xe0000, 0x10ffff}};
  for (const Codes& codes : kNoLetters) {
    if (codes.first <= code && code <= codes.last) return false;
  }
  return true;
}

}  // namespace tilewright::script
