#include "ir/script/python_parser.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/script/python_lexer.h"

namespace tilewright::script {
namespace {

constexpr int kMaxRecursion = 200;        // of expressions; brackets take two
constexpr int kMaxStatementLevels = 350;  // more than the IR nests, so that whatever is printed can be read
constexpr int kMaxDepth = 500;
constexpr int64_t kMaxSize = 1000000;  // chained comparisons share operands, so size is not bounded by the text

// Precedence of binary operators, higher binds tighter; 0 for anything else. All are left-associative but "**".
int Precedence(std::string_view op) {
  if (op == "or") return 1;
  if (op == "and") return 2;
  if (op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=") return 4;
  if (op == "|") return 5;
  if (op == "^") return 6;
  if (op == "&") return 7;
  if (op == "<<" || op == ">>") return 8;
  if (op == "+" || op == "-") return 9;
  if (op == "*" || op == "/" || op == "//" || op == "%" || op == "@") return 10;
  return 0;
}
constexpr int kNotPrecedence = 3;
constexpr int kComparison = 4;

constexpr std::string_view kKeywords[] = {"and",   "as",     "assert", "break", "class",  "continue", "def", "del",
                                          "elif",  "else",   "except", "for",   "from",   "global",   "if",  "import",
                                          "in",    "is",     "lambda", "not",   "or",     "pass",     "try", "raise",
                                          "while", "return", "with",   "yield", "finally"};
bool IsKeyword(std::string_view name) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords);
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file, std::vector<Token> tokens)
      : text_(text), file_(file), tokens_(std::move(tokens)) {}

  PythonTree Run() {
    PythonTree tree;
    while (!error_ && Peek().kind != TokenKind::kEnd) ParseStatement(tree.statements);
    if (error_) {
      tree.statements.clear();
      tree.error = std::move(error_);
    }
    return tree;
  }

 private:
  using Kind = PyExpr::Kind;

  // --- Tokens.
  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& Take() {
    const Token& token = Peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool Is(std::string_view text, size_t ahead = 0) const {
    const Token& token = Peek(ahead);
    return (token.kind == TokenKind::kOperator || token.kind == TokenKind::kName) && token.text == text;
  }
  bool Accept(std::string_view text) {
    if (!Is(text)) return false;
    Take();
    return true;
  }
  static std::string Describe(const Token& token) {
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
      default:
        return absl::StrCat("'", absl::string_view(token.text.data(), std::min<size_t>(token.text.size(), 40)), "'");
    }
  }
  void Fail(uint32_t offset, std::string message) {
    if (!error_) error_ = MakeDiagnostic(text_, file_, offset, std::move(message));
  }
  void FailExpected(std::string_view what) {
    Fail(Peek().offset,
         absl::StrCat("expected ", absl::string_view(what.data(), what.size()), ", found ", Describe(Peek())));
  }
  bool Expect(std::string_view text) {
    if (Accept(text)) return true;
    FailExpected(absl::StrCat("'", absl::string_view(text.data(), text.size()), "'"));
    return false;
  }
  bool ExpectName(std::string* name) {
    if (Peek().kind != TokenKind::kName || IsKeyword(Peek().text)) {
      FailExpected("a name");
      return false;
    }
    *name = std::string(Take().text);
    return true;
  }
  void ExpectLineEnd() {
    if (Peek().kind == TokenKind::kNewline) {
      Take();
    } else if (Peek().kind != TokenKind::kEnd) {
      FailExpected("the end of the line");
    }
  }

  // Counts the levels of recursion; false (and an error) when there are too many.
  class Level {
   public:
    explicit Level(Parser* parser, bool statement = false)
        : parser_(parser),
          depth_(statement ? parser->statement_depth_ : parser->recursion_),
          limit_(statement ? kMaxStatementLevels : kMaxRecursion) {
      ++depth_;
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --depth_; }
    explicit operator bool() const {
      if (depth_ <= limit_) return true;
      parser_->Fail(parser_->Peek().offset, absl::StrCat("nested more than ", limit_, " levels deep"));
      return false;
    }

   private:
    Parser* parser_;
    int& depth_;
    const int limit_;
  };

  // --- Expressions. They return null after an error.
  static std::shared_ptr<PyExpr> Make(Kind kind, uint32_t offset, std::vector<PyExprPtr> items = {}) {
    auto e = std::make_shared<PyExpr>();
    e->kind = kind;
    e->offset = offset;
    e->items = std::move(items);
    return e;
  }
  // Sets the depth of a complete node.
  PyExprPtr Finish(std::shared_ptr<PyExpr> e) {
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
  PyExprPtr ParseTuple() {
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
  bool StartsNoExpression() const {
    const Token& token = Peek();
    return token.kind == TokenKind::kNewline || token.kind == TokenKind::kEnd || Is(")") || Is("]") || Is("}") ||
           Is("=") || Is(":") || Is("in");
  }

  PyExprPtr ParseExpr() {
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

  PyExprPtr ParseLambda() {
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

  PyExprPtr ParseBinary(int least) {
    PyExprPtr left = Is("not") && least <= kNotPrecedence ? ParseNot() : ParseUnary();
    while (left) {
      const Token& token = Peek();
      const bool word = token.kind == TokenKind::kName || token.kind == TokenKind::kOperator;
      const int precedence = word ? Precedence(token.text) : 0;
      if (precedence < least || precedence == 0) break;
      Take();
      PyExprPtr right = ParseBinary(precedence + 1);
      if (!right) return nullptr;
      PyExprPtr last = right;
      left = MakeBinary(token, std::move(left), std::move(right));
      // a < b < c means a < b and b < c.
      while (left && precedence == kComparison && Precedence(Peek().text) == kComparison &&
             Peek().kind == TokenKind::kOperator) {
        const Token& next_token = Take();
        PyExprPtr next = ParseBinary(kComparison + 1);
        if (!next) return nullptr;
        PyExprPtr second = MakeBinary(next_token, last, next);
        if (!second) return nullptr;
        auto both = Make(Kind::kBinary, next_token.offset, {left, second});
        both->text = "and";
        left = Finish(std::move(both));
        last = std::move(next);
      }
    }
    return left;
  }
  PyExprPtr MakeBinary(const Token& op, PyExprPtr left, PyExprPtr right) {
    auto e = Make(Kind::kBinary, op.offset, {std::move(left), std::move(right)});
    e->text = std::string(op.text);
    return Finish(std::move(e));
  }
  PyExprPtr ParseNot() {
    Level level(this);
    if (!level) return nullptr;
    auto e = Make(Kind::kUnary, Take().offset);
    e->text = "not";
    PyExprPtr operand = Is("not") ? ParseNot() : ParseBinary(kNotPrecedence + 1);
    if (!operand) return nullptr;
    e->items.push_back(std::move(operand));
    return Finish(std::move(e));
  }
  PyExprPtr ParseUnary() {
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
    return MakeBinary(op, std::move(base), std::move(exponent));
  }

  PyExprPtr ParsePostfix() {
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
  PyExprPtr ParseCall(std::shared_ptr<PyExpr> call) {
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
  PyExprPtr ParseSubscript(std::shared_ptr<PyExpr> subscript, uint32_t offset) {
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
  PyExprPtr ParseIndex() {
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

  PyExprPtr ParseAtom() {
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
  PyExprPtr ParseName() {
    const Token& token = Peek();
    if (IsKeyword(token.text)) {
      FailExpected("an expression");
      return nullptr;
    }
    Take();
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
  PyExprPtr ParseParenthesis() {
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
  PyExprPtr ParseItems(std::shared_ptr<PyExpr> e, std::string_view close) {
    while (!Accept(close)) {
      PyExprPtr item = ParseExpr();
      if (!item) return nullptr;
      e->items.push_back(std::move(item));
      if (!Accept(",") && !Is(close)) {
        FailExpected(absl::StrCat("',' or '", absl::string_view(close.data(), close.size()), "'"));
        return nullptr;
      }
    }
    return Finish(std::move(e));
  }
  PyExprPtr ParseDict() {
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

  // --- Statements.
  void ParseStatement(std::vector<PyStmt>& out) {
    Level level(this, /*statement=*/true);
    if (!level) return;
    if (Peek().kind == TokenKind::kIndent) return Fail(Peek().offset, "unexpected indentation");
    PyStmt stmt;
    stmt.offset = Peek().offset;
    while (Is("@")) {
      Take();
      PyExprPtr decorator = ParseExpr();
      if (!decorator) return;
      stmt.decorators.push_back(std::move(decorator));
      ExpectLineEnd();
      if (error_) return;
    }
    if (!stmt.decorators.empty() && !Is("def") && !Is("class")) {
      return FailExpected("'def' or 'class' after a decorator");
    }
    if (Is("def")) {
      ParseFunction(stmt);
    } else if (Is("class")) {
      ParseClass(stmt);
    } else if (Is("for")) {
      ParseFor(stmt);
    } else if (Is("with")) {
      return ParseWith(std::move(stmt), out);
    } else if (Is("if")) {
      ParseIf(stmt);
    } else if (Is("while")) {
      stmt.kind = PyStmt::Kind::kWhile;
      Take();
      if ((stmt.value = ParseExpr())) ParseBody(stmt.body);
    } else {
      return ParseSimpleLine(out);
    }
    if (!error_) out.push_back(std::move(stmt));
  }

  // ": statement" or ":", newline and indented statements.
  void ParseBody(std::vector<PyStmt>& out) {
    if (!Expect(":")) return;
    if (Peek().kind != TokenKind::kNewline) return ParseSimpleLine(out);
    Take();
    if (Peek().kind != TokenKind::kIndent) return FailExpected("an indented line");
    Take();
    while (!error_ && Peek().kind != TokenKind::kDedent && Peek().kind != TokenKind::kEnd) ParseStatement(out);
    if (Peek().kind == TokenKind::kDedent) Take();
  }

  void ParseFunction(PyStmt& stmt) {
    stmt.kind = PyStmt::Kind::kFunction;
    Take();
    if (!ExpectName(&stmt.text) || !Expect("(")) return;
    while (!Accept(")")) {
      PyParameter parameter;
      parameter.offset = Peek().offset;
      if (!ExpectName(&parameter.name)) return;
      if (Accept(":") && !(parameter.annotation = ParseExpr())) return;
      if (Accept("=") && !(parameter.default_value = ParseExpr())) return;
      stmt.parameters.push_back(std::move(parameter));
      if (!Accept(",") && !Is(")")) return FailExpected("',' or ')' after a parameter");
    }
    if (Accept("->") && !(stmt.annotation = ParseExpr())) return;
    ParseBody(stmt.body);
  }
  void ParseClass(PyStmt& stmt) {
    stmt.kind = PyStmt::Kind::kClass;
    Take();
    if (!ExpectName(&stmt.text)) return;
    if (Accept("(") && !ParseItems(Make(Kind::kTuple, Peek().offset), ")")) return;
    ParseBody(stmt.body);
  }
  void ParseFor(PyStmt& stmt) {
    stmt.kind = PyStmt::Kind::kFor;
    Take();
    stmt.target = ParseTuple();
    if (!stmt.target || !Expect("in")) return;
    stmt.value = ParseTuple();
    if (stmt.value) ParseBody(stmt.body);
  }
  // "with a as x, b:" is "with a as x:" around "with b:".
  void ParseWith(PyStmt stmt, std::vector<PyStmt>& out) {
    stmt.kind = PyStmt::Kind::kWith;
    Take();
    std::vector<PyStmt> items;
    do {
      PyStmt item;
      item.kind = PyStmt::Kind::kWith;
      item.offset = Peek().offset;
      if (!(item.value = ParseExpr())) return;
      if (Accept("as") && !(item.target = ParsePostfix())) return;
      items.push_back(std::move(item));
    } while (Accept(","));
    if (items.size() > static_cast<size_t>(kMaxRecursion)) return Fail(stmt.offset, "too many items in one 'with'");
    ParseBody(items.back().body);
    if (error_) return;
    while (items.size() > 1) {
      PyStmt inner = std::move(items.back());
      items.pop_back();
      items.back().body.push_back(std::move(inner));
    }
    out.push_back(std::move(items[0]));
  }
  void ParseIf(PyStmt& stmt) {
    Level level(this, /*statement=*/true);
    if (!level) return;
    stmt.kind = PyStmt::Kind::kIf;
    Take();
    if (!(stmt.value = ParseExpr())) return;
    ParseBody(stmt.body);
    if (error_) return;
    if (Is("elif")) {
      PyStmt nested;
      nested.offset = Peek().offset;
      ParseIf(nested);
      stmt.else_body.push_back(std::move(nested));
    } else if (Accept("else")) {
      ParseBody(stmt.else_body);
    }
  }

  void ParseSimpleLine(std::vector<PyStmt>& out) {
    do {
      if (Peek().kind == TokenKind::kNewline) break;  // after a ';' at the end
      PyStmt stmt;
      stmt.offset = Peek().offset;
      ParseSimple(stmt);
      if (error_) return;
      out.push_back(std::move(stmt));
    } while (Accept(";"));
    ExpectLineEnd();
  }
  void ParseSimple(PyStmt& stmt) {
    using StmtKind = PyStmt::Kind;
    if (Accept("pass")) return;
    if (Is("from") || Is("import")) return ParseImport(stmt);
    if (Is("break") || Is("continue")) {
      stmt.kind = StmtKind::kBreak;
      stmt.text = std::string(Take().text);
      return;
    }
    if (Accept("return")) {
      stmt.kind = StmtKind::kReturn;
      if (Peek().kind != TokenKind::kNewline && Peek().kind != TokenKind::kEnd && !Is(";")) stmt.value = ParseTuple();
      return;
    }
    if (Accept("assert")) {
      stmt.kind = StmtKind::kAssert;
      if (!(stmt.value = ParseExpr())) return;
      if (Accept(",")) stmt.annotation = ParseExpr();
      return;
    }
    PyExprPtr first = ParseTuple();
    if (!first) return;
    if (Accept(":")) {
      stmt.kind = StmtKind::kAnnotate;
      stmt.target = std::move(first);
      if (!(stmt.annotation = ParseExpr())) return;
      if (Accept("=")) stmt.value = ParseTuple();
    } else if (Accept("=")) {
      stmt.kind = StmtKind::kAssign;
      stmt.target = std::move(first);
      stmt.value = ParseTuple();
    } else if (Peek().kind == TokenKind::kOperator && Peek().text.size() > 1 && Peek().text.back() == '=' &&
               Precedence(Peek().text.substr(0, Peek().text.size() - 1)) > kComparison) {
      stmt.kind = StmtKind::kAugment;
      stmt.target = std::move(first);
      stmt.text = std::string(Peek().text.substr(0, Peek().text.size() - 1));
      Take();
      stmt.value = ParseTuple();
    } else {
      stmt.kind = StmtKind::kExpr;
      stmt.value = std::move(first);
    }
  }
  void ParseImport(PyStmt& stmt) {
    stmt.kind = PyStmt::Kind::kImport;
    const bool from = Take().text == "from";
    if (from && (!ParseDotted(&stmt.text) || !Expect("import"))) return;
    const bool parenthesized = from && Accept("(");
    do {
      std::string name, alias;
      if (!ParseDotted(&name)) return;
      if (Accept("as") && !ExpectName(&alias)) return;
      stmt.names.push_back(std::move(name));
      stmt.aliases.push_back(std::move(alias));
    } while (Accept(","));
    if (parenthesized) Expect(")");
  }
  bool ParseDotted(std::string* out) {
    do {
      std::string part;
      if (!ExpectName(&part)) return false;
      absl::StrAppend(out, out->empty() ? "" : ".", part);
    } while (Accept("."));
    return true;
  }

  const std::string_view text_;
  const std::string_view file_;
  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int recursion_ = 0;
  int statement_depth_ = 0;
  std::optional<Diagnostic> error_;
};

}  // namespace

PythonTree ParsePython(std::string_view text, std::string_view file) {
  TokenList tokens = Tokenize(text, file);
  if (tokens.error) {
    PythonTree tree;
    tree.error = std::move(tokens.error);
    return tree;
  }
  return Parser(text, file, std::move(tokens.tokens)).Run();
}

}  // namespace tilewright::script
