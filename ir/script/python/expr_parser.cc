#include "ir/script/python/expr_parser.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tilewright::script {
namespace {

constexpr int kMaxDepth = 500;
constexpr int64_t kMaxSize = 1000000;  // chained comparisons share operands, so size is not bounded by the text

constexpr int kNotPrecedence = 3;

constexpr std::string_view kKeywords[] = {"and",   "as",     "assert", "break", "class",  "continue", "def", "del",
                                          "elif",  "else",   "except", "for",   "from",   "global",   "if",  "import",
                                          "in",    "is",     "lambda", "not",   "or",     "pass",     "try", "raise",
                                          "while", "return", "with",   "yield", "finally"};
bool IsKeyword(std::string_view name) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords);
}

}  // namespace

int OperatorPrecedence(std::string_view op) {
  if (op == "or") return 1;
  if (op == "and") return 2;
  for (std::string_view comparison : {"==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"}) {
    if (op == comparison) return kComparisonPrecedence;
  }
  if (op == "|") return 5;
  if (op == "^") return 6;
  if (op == "&") return 7;
  if (op == "<<" || op == ">>") return 8;
  if (op == "+" || op == "-") return 9;
  if (op == "*" || op == "/" || op == "//" || op == "%" || op == "@") return 10;
  return 0;
}

const Token& PythonExprParser::Peek(size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

const Token& PythonExprParser::Take() {
  const Token& token = Peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool PythonExprParser::Is(std::string_view text, size_t ahead) const {
  const Token& token = Peek(ahead);
  return (token.kind == TokenKind::kOperator || token.kind == TokenKind::kName) && token.text == text;
}

bool PythonExprParser::Accept(std::string_view text) {
  if (!Is(text)) return false;
  Take();
  return true;
}

std::string PythonExprParser::Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kNewline:
      return "the end of the line";
    case TokenKind::kIndent:
      return "an indented line";
    case TokenKind::kDedent:
      return "the end of the indented lines";
    case TokenKind::kEnd:
      return "the end of the text";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kBad:
      return token.string;
    default:
      return absl::StrCat("'", absl::string_view(token.text.data(), std::min<size_t>(token.text.size(), 40)), "'");
  }
}

void PythonExprParser::Fail(uint32_t offset, std::string message) {
  if (!error_) error_ = MakeDiagnostic(text_, file_, offset, std::move(message));
}

void PythonExprParser::FailExpected(std::string_view what) {
  if (Peek().kind == TokenKind::kBad) return Fail(Peek().offset, Peek().string);
  Fail(Peek().offset,
       absl::StrCat("expected ", absl::string_view(what.data(), what.size()), ", found ", Describe(Peek())));
}

bool PythonExprParser::Expect(std::string_view text) {
  if (Accept(text)) return true;
  FailExpected(absl::StrCat("'", absl::string_view(text.data(), text.size()), "'"));
  return false;
}

bool PythonExprParser::ExpectName(std::string* name) {
  if (Peek().kind != TokenKind::kName || IsKeyword(Peek().text)) {
    FailExpected("a name");
    return false;
  }
  *name = std::string(Take().text);
  return true;
}

void PythonExprParser::ExpectLineEnd() {
  if (Peek().kind == TokenKind::kNewline) {
    Take();
  } else if (Peek().kind != TokenKind::kEnd) {
    FailExpected("the end of the line");
  }
}

std::shared_ptr<PyExpr> PythonExprParser::Make(Kind kind, uint32_t offset, std::vector<PyExprPtr> items) {
  auto e = std::make_shared<PyExpr>();
  e->kind = kind;
  e->offset = offset;
  e->items = std::move(items);
  return e;
}

// Sets the depth of a complete node.
PyExprPtr PythonExprParser::Finish(std::shared_ptr<PyExpr> e) {
  for (const auto* operands : {&e->items, &e->keyword_values}) {
    for (const PyExprPtr& item : *operands) {
      if (!item) continue;
      e->depth = std::max(e->depth, item->depth + 1);
      e->size += item->size;
    }
  }
  if (e->depth > kMaxDepth) {
    Fail(e->offset, absl::StrCat("this expression is more than ", kMaxDepth, " operators deep"));
    return nullptr;
  }
  if (e->size > kMaxSize) {
    Fail(e->offset, "this expression is too large");
    return nullptr;
  }
  return e;
}

// With a comma: a tuple.
PyExprPtr PythonExprParser::ParseTuple() {
  const uint32_t offset = Peek().offset;
  PyExprPtr first = ParseExpr();
  if (!first || !Is(",")) return first;
  std::vector<PyExprPtr> items = {first};
  while (Accept(",")) {
    if (StartsNoExpression()) break;
    PyExprPtr item = ParseExpr();
    if (!item) return nullptr;
    items.push_back(std::move(item));
  }
  return Finish(Make(Kind::kTuple, offset, std::move(items)));
}

PyExprPtr PythonExprParser::ParseTargets() {
  in_targets_ = true;
  PyExprPtr targets = ParseTuple();
  in_targets_ = false;
  return targets;
}

bool PythonExprParser::StartsNoExpression() const {
  const Token& token = Peek();
  return token.kind == TokenKind::kNewline || token.kind == TokenKind::kEnd || Is(")") || Is("]") || Is("}") ||
         Is("=") || Is(":") || Is("in");
}

PyExprPtr PythonExprParser::ParseExpr() {
  Level level(this);
  if (!level) return nullptr;
  if (Is("lambda")) return ParseLambda();
  PyExprPtr value = ParseBinary(1);
  if (!value || !Is("if")) return value;
  const uint32_t offset = Take().offset;
  PyExprPtr condition = ParseBinary(1);
  if (!condition || !Expect("else")) return nullptr;
  PyExprPtr other = ParseExpr();
  if (!other) return nullptr;
  return Finish(Make(Kind::kIfElse, offset, {condition, value, other}));
}

PyExprPtr PythonExprParser::ParseLambda() {
  auto lambda = Make(Kind::kLambda, Take().offset);
  while (!Is(":")) {
    lambda->keyword_offsets.push_back(Peek().offset);
    std::string name = Accept("*") ? "*" : "";
    std::string word;
    if (!ExpectName(&word)) return nullptr;
    lambda->keywords.push_back(name + word);
    if (!Accept(",")) break;
  }
  if (!Expect(":")) return nullptr;
  PyExprPtr body = ParseExpr();
  if (!body) return nullptr;
  lambda->items.push_back(std::move(body));
  return Finish(std::move(lambda));
}

PyExprPtr PythonExprParser::ParseBinary(int least) {
  PyExprPtr left = Is("not") && least <= kNotPrecedence ? ParseNot() : ParseUnary();
  while (left) {
    size_t tokens = 0;
    std::string op = OperatorHere(&tokens);
    const int precedence = OperatorPrecedence(op);
    if (precedence < least || precedence == 0) break;
    const uint32_t offset = Peek().offset;
    at_ += tokens;
    PyExprPtr right = ParseBinary(precedence + 1);
    if (!right) return nullptr;
    PyExprPtr last = right;
    left = MakeBinary(offset, std::move(op), std::move(left), std::move(right));
    // a < b < c means a < b and b < c.
    while (left && precedence == kComparisonPrecedence) {
      op = OperatorHere(&tokens);
      if (OperatorPrecedence(op) != kComparisonPrecedence) break;
      const uint32_t next_offset = Peek().offset;
      at_ += tokens;
      PyExprPtr next = ParseBinary(kComparisonPrecedence + 1);
      if (!next) return nullptr;
      PyExprPtr second = MakeBinary(next_offset, std::move(op), last, next);
      if (!second) return nullptr;
      auto both = Make(Kind::kBinary, next_offset, {left, second});
      both->text = "and";
      left = Finish(std::move(both));
      last = std::move(next);
    }
  }
  return left;
}

std::string PythonExprParser::OperatorHere(size_t* tokens) const {
  *tokens = 1;
  const Token& token = Peek();
  const bool word = token.kind == TokenKind::kName || token.kind == TokenKind::kOperator;
  if (!word || (in_targets_ && token.text == "in")) return "";
  const bool two = (Is("not") && Is("in", 1)) || (Is("is") && Is("not", 1));
  if (!two) return std::string(token.text);
  *tokens = 2;
  return absl::StrCat(std::string(token.text), " ", std::string(Peek(1).text));
}

PyExprPtr PythonExprParser::MakeBinary(uint32_t offset, std::string op, PyExprPtr left, PyExprPtr right) {
  auto e = Make(Kind::kBinary, offset, {std::move(left), std::move(right)});
  e->text = std::move(op);
  return Finish(std::move(e));
}

PyExprPtr PythonExprParser::ParseNot() {
  Level level(this);
  if (!level) return nullptr;
  auto e = Make(Kind::kUnary, Take().offset);
  e->text = "not";
  PyExprPtr operand = Is("not") ? ParseNot() : ParseBinary(kNotPrecedence + 1);
  if (!operand) return nullptr;
  e->items.push_back(std::move(operand));
  return Finish(std::move(e));
}

PyExprPtr PythonExprParser::ParseUnary() {
  Level level(this);
  if (!level) return nullptr;
  if (Is("-") || Is("+") || Is("~") || Is("*")) {
    const Token& op = Take();
    auto e = Make(op.text == "*" ? Kind::kStarred : Kind::kUnary, op.offset);
    e->text = std::string(op.text);
    PyExprPtr operand = ParseUnary();
    if (!operand) return nullptr;
    e->items.push_back(std::move(operand));
    return Finish(std::move(e));
  }
  PyExprPtr base = ParsePostfix();
  if (!base || !Is("**")) return base;
  const Token& op = Take();
  PyExprPtr exponent = ParseUnary();
  if (!exponent) return nullptr;
  return MakeBinary(op.offset, std::string(op.text), std::move(base), std::move(exponent));
}

PyExprPtr PythonExprParser::ParsePostfix() {
  PyExprPtr e = ParseAtom();
  while (e) {
    const uint32_t offset = Peek().offset;
    if (Accept(".")) {
      auto attribute = Make(Kind::kAttribute, e->offset, {e});
      if (!ExpectName(&attribute->text)) return nullptr;
      e = Finish(std::move(attribute));
    } else if (Accept("(")) {
      e = ParseCall(Make(Kind::kCall, e->offset, {e}));
    } else if (Accept("[")) {
      e = ParseSubscript(Make(Kind::kSubscript, e->offset, {e}), offset);
    } else {
      break;
    }
  }
  return e;
}

PyExprPtr PythonExprParser::ParseCall(std::shared_ptr<PyExpr> call) {
  while (!Is(")")) {
    if (Peek().kind == TokenKind::kName && Is("=", 1)) {
      call->keyword_offsets.push_back(Peek().offset);
      call->keywords.emplace_back();
      if (!ExpectName(&call->keywords.back())) return nullptr;
      Take();
      PyExprPtr value = ParseExpr();
      if (!value) return nullptr;
      call->keyword_values.push_back(std::move(value));
    } else {
      if (!call->keywords.empty()) {
        FailExpected("a keyword argument (NAME=VALUE) after keyword arguments");
        return nullptr;
      }
      PyExprPtr value = ParseExpr();
      if (!value) return nullptr;
      if (call->items.size() == 1 && Accept("for")) {  // sum(x for x in values)
        value = ParseComprehension(Make(Kind::kComprehension, value->offset, {value}), ")");
        if (!value) return nullptr;
        call->items.push_back(std::move(value));
        return Finish(std::move(call));
      }
      call->items.push_back(std::move(value));
    }
    if (!Accept(",") && !Is(")")) {
      FailExpected("',' or ')' after an argument");
      return nullptr;
    }
  }
  Take();
  return Finish(std::move(call));
}

PyExprPtr PythonExprParser::ParseSubscript(std::shared_ptr<PyExpr> subscript, uint32_t offset) {
  if (Is("]")) {
    // `A[()]`, an element of a buffer with no dimensions, is the way to write no index at all.
    Fail(offset, "expected an index");
    return nullptr;
  }
  while (!Is("]")) {
    PyExprPtr index = ParseIndex();
    if (!index) return nullptr;
    subscript->items.push_back(std::move(index));
    if (!Accept(",") && !Is("]")) {
      FailExpected("',' or ']' after an index");
      return nullptr;
    }
  }
  Take();
  return Finish(std::move(subscript));
}

PyExprPtr PythonExprParser::ParseIndex() {
  const uint32_t offset = Peek().offset;
  std::vector<PyExprPtr> parts(3);
  size_t part = 0;
  bool is_slice = false;
  while (true) {
    if (Is(":")) {
      is_slice = true;
      if (++part > 2) {
        Fail(Peek().offset, "expected at most two ':' in an index");
        return nullptr;
      }
      Take();
    } else if (Is(",") || Is("]") || parts[part]) {
      break;
    } else if (!(parts[part] = ParseExpr())) {
      return nullptr;
    }
  }
  if (!is_slice) {
    if (!parts[0]) FailExpected("an index");
    return parts[0];
  }
  return Finish(Make(Kind::kSlice, offset, std::move(parts)));
}

PyExprPtr PythonExprParser::ParseAtom() {
  const Token& token = Peek();
  switch (token.kind) {
    case TokenKind::kInt: {
      auto e = Make(Kind::kInt, Take().offset);
      e->integer = token.integer;
      return e;
    }
    case TokenKind::kFloat: {
      auto e = Make(Kind::kFloat, Take().offset);
      e->real = token.real;
      return e;
    }
    case TokenKind::kString: {
      auto e = Make(Kind::kString, token.offset);
      while (Peek().kind == TokenKind::kString) e->text += Take().string;
      return e;
    }
    case TokenKind::kName:
      return ParseName();
    default:
      break;
  }
  if (Is("(")) return ParseParenthesis();
  if (Is("[")) return ParseItems(Make(Kind::kList, Take().offset), "]");
  if (Is("{")) return ParseDict();
  FailExpected("an expression");
  return nullptr;
}

PyExprPtr PythonExprParser::ParseName() {
  const Token& token = Peek();
  if (IsKeyword(token.text)) {
    FailExpected("an expression");
    return nullptr;
  }
  Take();
  if (token.text == "f" && Peek().kind == TokenKind::kString && Peek().offset == token.offset + 1) {
    return ParseFormat(token.offset);
  }
  const bool truth = token.text == "True";
  if (truth || token.text == "False") {
    auto e = Make(Kind::kBool, token.offset);
    e->integer = truth ? 1 : 0;
    return e;
  }
  auto e = Make(token.text == "None" ? Kind::kNone : Kind::kName, token.offset);
  e->text = std::string(token.text);
  return e;
}

// Behind the f of f"a{x}" "b" f"c".
PyExprPtr PythonExprParser::ParseFormat(uint32_t offset) {
  auto format = Make(Kind::kFormat, offset);
  format->text = Take().string;
  while (true) {
    const bool formatted = Is("f") && Peek(1).kind == TokenKind::kString && Peek(1).offset == Peek().offset + 1;
    if (formatted) Take();
    if (Peek().kind != TokenKind::kString) return format;
    for (const char c : Take().string) format->text.append(!formatted && (c == '{' || c == '}') ? 2 : 1, c);
  }
}

PyExprPtr PythonExprParser::ParseParenthesis() {
  const uint32_t offset = Take().offset;
  if (Accept(")")) return Make(Kind::kTuple, offset);
  PyExprPtr first = ParseExpr();
  if (!first) return nullptr;
  if (Accept(")")) return first;
  if (!Is(",")) {
    FailExpected("',' or ')'");
    return nullptr;
  }
  Take();
  return ParseItems(Make(Kind::kTuple, offset, {first}), ")");
}

PyExprPtr PythonExprParser::ParseItems(std::shared_ptr<PyExpr> e, std::string_view close) {
  while (!Accept(close)) {
    PyExprPtr item = ParseExpr();
    if (!item) return nullptr;
    e->items.push_back(std::move(item));
    if (e->kind == Kind::kList && e->items.size() == 1 && Accept("for")) return ParseComprehension(std::move(e), close);
    if (!Accept(",") && !Is(close)) {
      FailExpected(absl::StrCat("',' or '", absl::string_view(close.data(), close.size()), "'"));
      return nullptr;
    }
  }
  return Finish(std::move(e));
}

// Behind `[item for`.
PyExprPtr PythonExprParser::ParseComprehension(std::shared_ptr<PyExpr> e, std::string_view close) {
  e->kind = Kind::kComprehension;
  PyExprPtr target = ParseTargets();
  if (!target || !Expect("in")) return nullptr;
  PyExprPtr from = ParseBinary(1);
  if (!from) return nullptr;
  PyExprPtr condition;
  if (Accept("if") && !(condition = ParseBinary(1))) return nullptr;
  if (!Expect(close)) return nullptr;
  e->items.insert(e->items.end(), {std::move(target), std::move(from), std::move(condition)});
  return Finish(std::move(e));
}

PyExprPtr PythonExprParser::ParseDict() {
  auto e = Make(Kind::kDict, Take().offset);
  while (!Accept("}")) {
    PyExprPtr key = ParseExpr();
    if (!key || !Expect(":")) return nullptr;
    PyExprPtr value = ParseExpr();
    if (!value) return nullptr;
    e->items.push_back(std::move(key));
    e->items.push_back(std::move(value));
    if (!Accept(",") && !Is("}")) {
      FailExpected("',' or '}'");
      return nullptr;
    }
  }
  return Finish(std::move(e));
}

}  // namespace tilewright::script
