// Expressions as text. Internal to //ir/script:printer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/function.h"
#include "ir/script/names.h"

namespace tilewright::script {

class ExprPrinter {
 public:
  // Integers of type `plain` are printed without it: 4 in place of T.int64(4).
  explicit ExprPrinter(Names& names, DataType plain = DataType::Int(32)) : names_(names), plain_(plain) {}

  std::string Text(const Expr& e);
  // "A[i, 0:16]"
  std::string Text(const BufferRegion& region);
  // "(a, b)", "(a,)", "()"
  std::string Tuple(const std::vector<Expr>& items);
  // The index list of a load or store: "[i, j]"; vectors of consecutive elements as slices.
  std::string Indices(const std::vector<Expr>& indices);
  // The end of the interval {min, extent}, so that the parser finds the extent again.
  std::string Stop(const Expr& min, const Expr& extent);
  std::string Text(const Annotation& annotation);
  std::string Text(const Annotations& annotations);
  std::string Text(const IndexMap& map);

 private:
  // `least`: the precedence the surrounding text needs; lower-binding operators get parentheses.
  void Append(const Expr& e, int least, std::string& out);
  void AppendAll(const std::vector<Expr>& items, std::string& out);
  void AppendBinary(const BinaryNode* op, int least, std::string& out);
  void AppendNot(const NotNode* op, int least, std::string& out);
  void AppendLet(const LetNode* op, std::string& out);
  // Those that print as a call of their name.
  void AppendNamed(const Expr& e, std::string& out);
  void AppendLoad(const LoadNode* op, std::string& out);
  void AppendCall(const CallNode* op, int least, std::string& out);
  // x & 7, ~x, ...; false when the call has no such form.
  bool AppendBitOperator(const CallNode* op, int least, std::string& out);
  void AppendOperator(const Expr& a, const Expr& b, const char* symbol, int precedence, bool associates, int least,
                      std::string& out);
  // T.comm_reducer(lambda x0, y0: ..., [...]); false when the call is none that the parser makes.
  bool AppendReducer(const CallNode* op, std::string& out);
  void AppendInt(const IntImmNode* op, std::string& out);
  void AppendFloat(const FloatImmNode* op, std::string& out);

  Names& names_;
  const DataType plain_;
  // The parameters of the reducer that is being printed, and their types.
  std::vector<std::pair<std::string, DataType>> operands_;
};

// A Python string literal.
std::string Quote(const std::string& text);

}  // namespace tilewright::script
