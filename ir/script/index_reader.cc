#include "ir/script/index_reader.h"

#include <limits>

#include "ir/script/reader.h"

namespace tilewright::script {

IndexReader::IndexReader(std::string_view text, std::string_view file) : context_(std::make_unique<ModuleContext>()) {
  context_->text = text;
  context_->file = file;
}

IndexReader::~IndexReader() = default;

void IndexReader::Define(const std::string& name, const Var& symbol) {
  context_->constants.insert_or_assign(name, Value{Expr(symbol)});
}

Expr IndexReader::Read(const PyExpr& e) {
  FunctionReader reader(*context_);
  Value value;
  if (!reader.ReadConstant(e, &value)) {
    error_ = reader.error();
    return Expr();
  }
  if (const Integer* integer = value.As<Integer>()) {
    const bool fits =
        *integer >= std::numeric_limits<int64_t>::min() && *integer <= std::numeric_limits<int64_t>::max();
    if (fits) return Const(DataType::Int(64), static_cast<int64_t>(*integer));
  } else if (const Expr* expr = value.As<Expr>()) {
    if (expr->dtype() == DataType::Int(64) || expr->dtype() == DataType::Bool()) return *expr;
    if (expr->dtype() == DataType::Int(32)) return CastTo(DataType::Int(64), *expr);
  } else if (const bool* flag = value.As<bool>()) {
    return *flag ? True() : False();
  }
  error_ = MakeDiagnostic(context_->text, context_->file, e.offset, "expected an integer of type int64");
  return Expr();
}

}  // namespace tilewright::script
