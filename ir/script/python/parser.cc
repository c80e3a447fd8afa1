#include "ir/script/python/parser.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "ir/script/python/expr_parser.h"

namespace tilewright::script {
namespace {

class Parser : public PythonExprParser {
 public:
  using PythonExprParser::PythonExprParser;

  // `whole_file`: statements that are not understood become kOther.
  PythonTree Run(bool whole_file) {
    whole_file_ = whole_file;
    PythonTree tree;
    while (!error_ && Peek().kind != TokenKind::kEnd) ParseStatement(tree.statements);
    if (error_) {
      tree.statements.clear();
      tree.error = std::move(error_);
    }
    return tree;
  }

 private:
  void ParseStatement(std::vector<PyStmt>& out) {
    const size_t begin = at_, statements = out.size();
    ParseKnownStatement(out);
    if (!error_ || !whole_file_) return;
    out.resize(statements);
    at_ = begin;
    out.push_back(PassOver());
  }

  // The statement that `error_` is about, with the lines that are indented below it.
  PyStmt PassOver() {
    PyStmt other;
    other.kind = PyStmt::Kind::kOther;
    other.offset = Peek().offset;
    other.problem = std::make_shared<Diagnostic>(*std::move(error_));
    error_.reset();
    std::set<std::string> names, assigned;
    const auto take = [&] {
      const Token& token = Take();
      if (token.kind != TokenKind::kName) return token.kind;
      names.emplace(token.text);
      const std::string_view next = Peek().kind == TokenKind::kOperator ? Peek().text : std::string_view();
      const bool sets = next == ":=" || (!next.empty() && next.back() == '=' && OperatorPrecedence(next) == 0);
      if (sets) assigned.emplace(token.text);
      return token.kind;
    };
    while (Accept("@")) {
      PyExprPtr decorator = ParseExpr();
      error_.reset();
      if (decorator) other.decorators.push_back(std::move(decorator));
      while (Peek().kind != TokenKind::kEnd && take() != TokenKind::kNewline) {
      }
    }
    int depth = 0;
    while (Peek().kind != TokenKind::kEnd && (depth > 0 || Peek().kind != TokenKind::kDedent)) {
      const TokenKind kind = take();
      if (kind == TokenKind::kIndent) ++depth;
      if (kind == TokenKind::kDedent) --depth;
      const bool ends = kind == TokenKind::kNewline || kind == TokenKind::kDedent;
      if (depth == 0 && ends && Peek().kind != TokenKind::kIndent) break;
    }
    other.names.assign(names.begin(), names.end());
    other.aliases.assign(assigned.begin(), assigned.end());
    return other;
  }

  void ParseKnownStatement(std::vector<PyStmt>& out) {
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
      const bool all = Is("*") || Is("**");
      if (all) parameter.name = std::string(Take().text);
      std::string name;
      if (!ExpectName(&name)) return;
      parameter.name += name;
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
    stmt.target = ParseTargets();
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
      while (stmt.value && Accept("=")) {  // a = b = value
        stmt.more_targets.push_back(std::move(stmt.value));
        stmt.value = ParseTuple();
      }
    } else if (Peek().kind == TokenKind::kOperator && Peek().text.size() > 1 && Peek().text.back() == '=' &&
               OperatorPrecedence(Peek().text.substr(0, Peek().text.size() - 1)) > kComparisonPrecedence) {
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
    bool relative = false;
    while (from && (Is(".") || Is("..."))) {
      relative = true;
      stmt.text += Take().text;
    }
    if (from && !(relative && Is("import")) && !ParseDotted(&stmt.text)) return;
    if (from && !Expect("import")) return;
    const bool parenthesized = from && Accept("(");
    do {
      std::string name, alias;
      if (parenthesized && Is(")")) break;  // behind the last comma
      if (from && Accept("*")) {
        name = "*";
      } else if (!ParseDotted(&name)) {
        return;
      }
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
      absl::StrAppend(out, out->empty() || out->back() == '.' ? "" : ".", part);
    } while (Accept("."));
    return true;
  }

  bool whole_file_ = false;
};

PythonTree ParseText(std::string_view text, std::string_view file, bool whole_file) {
  TokenList tokens = Tokenize(text, file);
  if (tokens.error) {
    PythonTree tree;
    tree.error = std::move(tokens.error);
    return tree;
  }
  return Parser(text, file, std::move(tokens.tokens)).Run(whole_file);
}

}  // namespace

PythonTree ParsePython(std::string_view text, std::string_view file) { return ParseText(text, file, false); }

PythonTree ParsePythonFile(std::string_view text, std::string_view file) { return ParseText(text, file, true); }

}  // namespace tilewright::script
