#include "ir/script/python/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::script {
namespace {

// Every code, in as many bytes as UTF-8 has for it, is read back.
TEST(Utf8, EveryCharacterIsReadAsItIsWritten) {
  for (uint32_t code = 0; code <= 0x110000; ++code) {
    const bool is_character = code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
    ASSERT_EQ(IsUnicode(code), is_character) << code;
    if (code > 0x10ffff) continue;
    std::string text;
    AppendUtf8(code, &text);
    ASSERT_EQ(text.size(), code < 0x80 ? 1u : code < 0x800 ? 2u : code < 0x10000 ? 3u : 4u) << code;
    const Utf8Character read = ReadUtf8(text + "x");
    ASSERT_EQ(read.bytes, is_character ? text.size() : 0) << code;
    if (is_character) ASSERT_EQ(read.code, code);
    // A character that is cut off is none.
    for (size_t bytes = 1; bytes < text.size(); ++bytes) {
      ASSERT_EQ(ReadUtf8(std::string_view(text).substr(0, bytes)).bytes, 0u) << code;
    }
  }
}

TEST(Utf8, OtherBytesBeginNoCharacter) {
  for (const char* text : {"", "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xc3(",
                           "\xe2\x82(", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(ReadUtf8(text).bytes, 0u) << text;
  }
  EXPECT_EQ(FirstInvalidUtf8("a\xc3\xa4\xe2\x82\xac"), 6u);
  EXPECT_EQ(FirstInvalidUtf8("a\xc3\xa4\x80 b"), 3u);
  EXPECT_EQ(FirstInvalidUtf8(""), 0u);
}

TEST(Utf8, NamesHoldLettersAlone) {
  for (const uint32_t code : {0xe4u, 0xb5u, 0x3b1u, 0x430u, 0x4e2du, 0x3042u, 0x2080u})
    EXPECT_TRUE(IsOtherLetter(code)) << code;
  // ASCII, a space, punctuation, arithmetic, arrows, halves of pairs, and a picture.
  for (const uint32_t code : {0x61u, 0xa0u, 0xd7u, 0x2014u, 0x2212u, 0x2192u, 0xd800u, 0x1f600u}) {
    EXPECT_FALSE(IsOtherLetter(code)) << code;
  }
}

}  // namespace
}  // namespace tilewright::script
