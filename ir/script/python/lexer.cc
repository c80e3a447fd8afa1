#include "ir/script/python/lexer.h"

#include <cctype>
#include <charconv>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/script/python/utf8.h"

namespace tilewright::script {
namespace {

constexpr size_t kMaxIndentation = 350;  // levels

bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  TokenList Run() {
    if (text_.size() >= std::numeric_limits<uint32_t>::max()) {
      Fail(0, "the text is too long");
    } else if (const size_t wrong = FirstInvalidUtf8(text_); wrong < text_.size()) {
      Fail(wrong, "the text is not UTF-8: this byte begins no character");
    } else {
      if (StartsWith("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
      result_.tokens.reserve(text_.size() / 4);
      while (!result_.error && LexLine()) {
      }
      if (!result_.error) Finish();
    }
    return std::move(result_);
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool AtEnd() const { return at_ >= text_.size(); }
  bool StartsWith(std::string_view prefix) const { return text_.substr(at_, prefix.size()) == prefix; }

  void Fail(size_t offset, std::string message) {
    if (!result_.error) {
      result_.error = MakeDiagnostic(text_, file_, static_cast<uint32_t>(offset), std::move(message));
    }
  }
  void Bad(size_t begin, std::string message) { Push(TokenKind::kBad, begin).string = std::move(message); }
  Token& Push(TokenKind kind, size_t begin) {
    Token token;
    token.kind = kind;
    token.offset = static_cast<uint32_t>(begin);
    token.text = text_.substr(begin, at_ - begin);
    result_.tokens.push_back(std::move(token));
    return result_.tokens.back();
  }

  // One line of text, with its indentation. False at the end of the text.
  bool LexLine() {
    size_t width = 0;
    for (; Peek() == ' ' || Peek() == '\t' || Peek() == '\f'; ++at_) {
      width = Peek() == '\t' ? (width / 8 + 1) * 8 : width + 1;
    }
    SkipComment();
    if (AtEnd()) return false;
    if (SkipLineEnd()) return true;  // a blank line
    SetIndentation(width);
    while (!result_.error && !AtEnd()) {
      SkipSpaceInLine();
      if (AtEnd()) break;
      const size_t begin = at_;
      if (SkipLineEnd()) {
        if (brackets_.empty()) {
          const size_t end = at_;
          at_ = begin;
          Push(TokenKind::kNewline, begin);
          at_ = end;
          return true;
        }
        continue;
      }
      LexToken();
    }
    return !AtEnd();
  }

  void SkipComment() {
    if (Peek() != '#') return;
    while (!AtEnd() && Peek() != '\n') ++at_;
  }
  bool SkipLineEnd() {
    if (Peek() == '\r' && Peek(1) == '\n') ++at_;
    if (Peek() != '\n') return false;
    ++at_;
    return true;
  }
  void SkipSpaceInLine() {
    while (true) {
      const char c = Peek();
      if (c == ' ' || c == '\t' || c == '\f') {
        ++at_;
      } else if (c == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n'))) {
        ++at_;
        SkipLineEnd();
      } else {
        break;
      }
    }
    SkipComment();
  }

  void SetIndentation(size_t width) {
    if (indentation_.empty()) {
      indentation_.push_back(width);
      return;
    }
    if (width > indentation_.back()) {
      if (indentation_.size() >= kMaxIndentation) return Fail(at_, "too many levels of indentation");
      indentation_.push_back(width);
      Push(TokenKind::kIndent, at_);
      return;
    }
    while (width < indentation_.back() && indentation_.size() > 1) {
      indentation_.pop_back();
      Push(TokenKind::kDedent, at_);
    }
    if (width != indentation_.back()) Fail(at_, "this indentation matches no line above");
  }

  void Finish() {
    if (!brackets_.empty()) {
      return Fail(brackets_.back(),
                  absl::StrCat("this '", std::string(1, text_[brackets_.back()]), "' is never closed"));
    }
    if (!result_.tokens.empty() && result_.tokens.back().kind != TokenKind::kNewline) Push(TokenKind::kNewline, at_);
    for (size_t i = 1; i < indentation_.size(); ++i) Push(TokenKind::kDedent, at_);
    Push(TokenKind::kEnd, at_);
  }

  void LexToken() {
    const char c = Peek();
    if (c == '"' || c == '\'') return LexString(at_, /*raw=*/false);
    if ((c == 'r' || c == 'R') && (Peek(1) == '"' || Peek(1) == '\'')) {
      const size_t begin = at_++;
      return LexString(begin, /*raw=*/true);
    }
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return LexNumber();
    const size_t begin = at_;
    TakeNameParts();
    if (at_ == begin) return LexOperator();
    Push(TokenKind::kName, begin);
  }
  // Letters beyond ASCII are parts of names, as in Python.
  void TakeNameParts() {
    while (true) {
      if (IsNamePart(Peek())) {
        ++at_;
        continue;
      }
      if (static_cast<unsigned char>(Peek()) < 0x80) return;
      const Utf8Character other = ReadUtf8(text_.substr(at_));
      if (!IsOtherLetter(other.code)) return;
      at_ += other.bytes;
    }
  }

  void LexOperator() {
    static constexpr std::string_view kOperators[] = {
        "...", "**=", "//=", ">>=", "<<=", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->", ":=", "+=",
        "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",  ".",
        ";",   "@",   "=",   "+",   "-",   "*",  "/",  "%",  "<",  ">",  "&",  "|",  "^",  "~"};
    const size_t begin = at_;
    const char first = Peek();
    for (std::string_view op : kOperators) {
      if (op[0] != first || !StartsWith(op)) continue;
      at_ += op.size();
      Push(TokenKind::kOperator, begin);
      if (op == "(" || op == "[" || op == "{") brackets_.push_back(begin);
      if (op == ")" || op == "]" || op == "}") CloseBracket(begin);
      return;
    }
    at_ += ReadUtf8(text_.substr(at_)).bytes;
    Bad(begin, "unexpected character");
  }
  void CloseBracket(size_t offset) {
    const char close = text_[offset];
    if (brackets_.empty()) return Fail(offset, absl::StrCat("this '", std::string(1, close), "' closes nothing"));
    const char open = text_[brackets_.back()];
    const char expected = open == '(' ? ')' : open == '[' ? ']' : '}';
    if (close != expected) {
      return Fail(offset, absl::StrCat("expected '", std::string(1, expected), "' to close '", std::string(1, open),
                                       "', found '", std::string(1, close), "'"));
    }
    brackets_.pop_back();
  }

  void LexNumber() {
    const size_t begin = at_;
    if (Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X')) return LexRadix(begin, 16);
    if (Peek() == '0' && (Peek(1) == 'b' || Peek(1) == 'B')) return LexRadix(begin, 2);
    if (Peek() == '0' && (Peek(1) == 'o' || Peek(1) == 'O')) return LexRadix(begin, 8);
    std::string digits;
    bool is_float = false;
    auto take_digits = [&] {
      while (IsDigit(Peek()) || (Peek() == '_' && IsDigit(Peek(1)))) {
        if (Peek() != '_') digits += Peek();
        ++at_;
      }
    };
    take_digits();
    if (Peek() == '.') {
      is_float = true;
      digits += Peek();
      ++at_;
      take_digits();
    }
    if ((Peek() == 'e' || Peek() == 'E') &&
        (IsDigit(Peek(1)) || ((Peek(1) == '+' || Peek(1) == '-') && IsDigit(Peek(2))))) {
      is_float = true;
      digits += Peek();
      digits += Peek(1);
      at_ += 2;
      take_digits();
    }
    const size_t end = at_;
    TakeNameParts();
    if (at_ != end) return Bad(begin, "malformed number");
    if (is_float) {
      double value = 0;
      if (!absl::SimpleAtod(digits, &value)) return Bad(begin, "malformed number");
      Push(TokenKind::kFloat, begin).real = value;
    } else {
      PushInteger(begin, digits, 10);
    }
  }
  void LexRadix(size_t begin, int radix) {
    at_ += 2;
    std::string digits;
    for (; IsNamePart(Peek()); ++at_) {
      if (Peek() != '_') digits += Peek();
    }
    PushInteger(begin, digits, radix);
  }
  void PushInteger(size_t begin, const std::string& digits, int radix) {
    uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    auto [last, error] = std::from_chars(digits.data(), end, value, radix);
    if (error == std::errc::result_out_of_range) return Bad(begin, "this integer does not fit into 64 bits");
    if (error != std::errc() || last != end) return Bad(begin, "malformed number");
    Push(TokenKind::kInt, begin).integer = value;
  }

  // At the opening quote; `begin` may be at a prefix before it.
  void LexString(size_t begin, bool raw) {
    const char quote = Peek();
    const bool triple = Peek(1) == quote && Peek(2) == quote;
    at_ += triple ? 3 : 1;
    std::string value;
    std::optional<size_t> unknown_escape;
    while (true) {
      if (AtEnd() || (!triple && Peek() == '\n')) return Bad(begin, "this string is never closed");
      if (Peek() == quote && (!triple || (Peek(1) == quote && Peek(2) == quote))) break;
      if (Peek() != '\\') {
        value += Peek();
        ++at_;
      } else if (raw) {
        value += Peek();
        if (Peek(1) != '\0') value += Peek(1);
        at_ = std::min(at_ + 2, text_.size());
      } else {
        const size_t escape = at_;
        if (!LexEscape(value) && !unknown_escape) unknown_escape = escape;
      }
    }
    at_ += triple ? 3 : 1;
    if (unknown_escape) {
      return Bad(*unknown_escape,
                 "unknown escape in a string; known are \\n \\t \\r \\a \\b \\f \\v \\\\ \\' \\\" \\OOO \\xHH \\uHHHH "
                 "\\UHHHHHHHH");
    }
    Push(TokenKind::kString, begin).string = std::move(value);
  }
  // At a backslash. False behind an escape that is none.
  bool LexEscape(std::string& value) {
    static constexpr std::pair<char, std::string_view> kEscapes[] = {
        {'\n', ""},  {'n', "\n"}, {'t', "\t"},  {'r', "\r"}, {'a', "\a"}, {'b', "\b"},
        {'f', "\f"}, {'v', "\v"}, {'\\', "\\"}, {'\'', "'"}, {'"', "\""}};
    const char c = Peek(1);
    for (const auto& [letter, meaning] : kEscapes) {
      if (c != letter) continue;
      at_ += 2;
      value += meaning;
      return true;
    }
    if (c >= '0' && c <= '7') {
      ++at_;
      size_t digits = 1;
      while (digits < 3 && Peek(digits) >= '0' && Peek(digits) <= '7') ++digits;
      return LexCode(digits, 8, value);
    }
    at_ = std::min(at_ + 2, text_.size());
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    return digits > 0 && LexCode(digits, 16, value);
  }
  // The character of a code that is written in so many digits.
  bool LexCode(size_t count, int radix, std::string& value) {
    uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, count);
    auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, radix);
    if (error != std::errc() || last != digits.data() + count || !IsUnicode(code)) return false;
    at_ += count;
    AppendUtf8(code, &value);
    return true;
  }

  const std::string_view text_;
  const std::string_view file_;
  size_t at_ = 0;
  std::vector<size_t> indentation_;
  std::vector<size_t> brackets_;  // offsets of the open ones
  TokenList result_;
};

}  // namespace

TokenList Tokenize(std::string_view text, std::string_view file) { return Lexer(text, file).Run(); }

}  // namespace tilewright::script
