#include "ir/script/python/diagnostic.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tilewright::script {
namespace {

// Code points, not bytes: continuation bytes of UTF-8 do not count.
int CountCharacters(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

Diagnostic MakeDiagnostic(std::string_view text, std::string_view file, uint32_t offset, std::string message) {
  const size_t at = std::min<size_t>(offset, text.size());
  const size_t previous_end = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const size_t begin = previous_end == std::string_view::npos ? 0 : previous_end + 1;
  const size_t end = std::min(text.find('\n', at), text.size());
  std::string_view line = text.substr(begin, end - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  Diagnostic diagnostic;
  diagnostic.file = std::string(file);
  diagnostic.line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(begin), '\n'));
  diagnostic.column = 1 + CountCharacters(text.substr(begin, at - begin));
  diagnostic.message = std::move(message);
  diagnostic.source_line = std::string(line);
  return diagnostic;
}

std::string Diagnostic::ToString() const {
  // Tabs stay tabs, so that the caret stands under its character however wide they are shown.
  std::string caret;
  for (char c : source_line) {
    if (static_cast<int>(caret.size()) + 1 >= column) break;
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
    caret += c == '\t' ? '\t' : ' ';
  }
  caret.resize(static_cast<size_t>(std::max(column - 1, 0)), ' ');
  return absl::StrCat(file, ":", line, ":", column, ": error: ", message, "\n", source_line, "\n", caret, "^");
}

}  // namespace tilewright::script
