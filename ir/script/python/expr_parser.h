// Expressions of the Python subset, from tokens. Internal to //ir/script:python.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/script/python/ast.h"
#include "ir/script/python/diagnostic.h"
#include "ir/script/python/lexer.h"

namespace tilewright::script {

// Precedence of binary operators, higher binds tighter; 0 for anything else. All are left-associative but "**".
int OperatorPrecedence(std::string_view op);
inline constexpr int kComparisonPrecedence = 4;

inline constexpr int kMaxRecursion = 200;        // of expressions; brackets take two
inline constexpr int kMaxStatementLevels = 350;  // more than the IR nests, so that whatever is printed can be read

// Reads tokens from left to right. Methods that read something return null (or false) after an error; the first error
// is kept.
class PythonExprParser {
 public:
  PythonExprParser(std::string_view text, std::string_view file, std::vector<Token> tokens)
      : text_(text), file_(file), tokens_(std::move(tokens)) {}
  PythonExprParser(const PythonExprParser&) = delete;
  PythonExprParser& operator=(const PythonExprParser&) = delete;

 protected:
  using Kind = PyExpr::Kind;

  // Tokens. Names and operators are recognized by their text.
  const Token& Peek(size_t ahead = 0) const;
  const Token& Take();
  bool Is(std::string_view text, size_t ahead = 0) const;
  bool Accept(std::string_view text);
  static std::string Describe(const Token& token);
  void Fail(uint32_t offset, std::string message);
  void FailExpected(std::string_view what);
  bool Expect(std::string_view text);
  bool ExpectName(std::string* name);
  void ExpectLineEnd();
  // Expressions.
  static std::shared_ptr<PyExpr> Make(Kind kind, uint32_t offset, std::vector<PyExprPtr> items = {});
  // Sets the depth of a complete node.
  PyExprPtr Finish(std::shared_ptr<PyExpr> e);
  // With a comma: a tuple.
  PyExprPtr ParseTuple();
  // The names that a loop gives values to, up to its `in`.
  PyExprPtr ParseTargets();
  // "not in" and "is not" are two tokens; sets how many.
  std::string OperatorHere(size_t* tokens) const;
  bool StartsNoExpression() const;
  PyExprPtr ParseExpr();
  PyExprPtr ParseLambda();
  PyExprPtr ParseBinary(int least);
  PyExprPtr MakeBinary(uint32_t offset, std::string op, PyExprPtr left, PyExprPtr right);
  PyExprPtr ParseNot();
  PyExprPtr ParseUnary();
  PyExprPtr ParsePostfix();
  PyExprPtr ParseCall(std::shared_ptr<PyExpr> call);
  PyExprPtr ParseSubscript(std::shared_ptr<PyExpr> subscript, uint32_t offset);
  PyExprPtr ParseIndex();
  PyExprPtr ParseAtom();
  PyExprPtr ParseName();
  PyExprPtr ParseFormat(uint32_t offset);
  PyExprPtr ParseParenthesis();
  PyExprPtr ParseItems(std::shared_ptr<PyExpr> e, std::string_view close);
  PyExprPtr ParseComprehension(std::shared_ptr<PyExpr> e, std::string_view close);
  PyExprPtr ParseDict();

  // Counts the levels of recursion; false (and an error) when there are too many.
  class Level {
   public:
    explicit Level(PythonExprParser* parser, bool statement = false)
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
    PythonExprParser* parser_;
    int& depth_;
    const int limit_;
  };

  const std::string_view text_;
  const std::string_view file_;
  const std::vector<Token> tokens_;
  size_t at_ = 0;
  bool in_targets_ = false;  // where "in" is not an operator
  int recursion_ = 0;
  int statement_depth_ = 0;
  std::optional<Diagnostic> error_;
};

}  // namespace tilewright::script
