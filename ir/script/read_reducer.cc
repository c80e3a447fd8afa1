// T.comm_reducer(lambda x, y: x + y, [T.float32(0)]): how a reduction across threads combines its values.
#include "absl/strings/str_cat.h"
#include "ir/script/reader.h"
#include "ir/script/reducer.h"

namespace tilewright::script {

using Kind = PyExpr::Kind;

Expr FunctionReader::ReadReducer(const PyExpr& e) {
  Arguments args;
  if (!Bind(e, {"combiner", "identity"}, &args) || !Require(e, args, "combiner") || !Require(e, args, "identity")) {
    return Expr();
  }
  const PyExpr& combiner = *args["combiner"];
  const PyExpr& identity = *args["identity"];
  if (combiner.kind != Kind::kLambda) {
    Fail(combiner.offset, "expected a lambda");
    return Expr();
  }
  if (identity.kind != Kind::kList || identity.items.empty()) {
    Fail(identity.offset, "expected a list of identities");
    return Expr();
  }
  std::vector<Expr> identities;
  if (!ReadExprs(identity.items, 0, &identities)) return Expr();
  const size_t count = identities.size();
  const PyExpr& body = *combiner.items[0];
  const bool tuple = body.kind == Kind::kTuple || body.kind == Kind::kList;
  const size_t results = tuple ? body.items.size() : 1;
  if (combiner.keywords.size() != 2 * count || results != count) {
    Fail(combiner.offset, absl::StrCat("the lambda has ", combiner.keywords.size(), " parameters and ", results,
                                       " results; expected ", 2 * count, " and ", count));
    return Expr();
  }
  frames_.emplace_back();
  std::vector<Expr> combined;
  for (size_t i = 0; !error_ && i < 2 * count; ++i) {
    Define(combiner.keywords[i], combiner.keyword_offsets[i],
           Value{ReducerOperand(identities[i % count].dtype(), static_cast<int>(i))});
  }
  for (size_t i = 0; !error_ && i < count; ++i) {
    const PyExpr& result = tuple ? *body.items[i] : body;
    Expr value = ReadExpr(result);
    if (value && value.dtype() != identities[i].dtype()) {
      Fail(result.offset, absl::StrCat("the result is ", value.dtype().ToString(), ", the identity ",
                                       identities[i].dtype().ToString()));
    }
    combined.push_back(std::move(value));
  }
  LeaveFrame();
  return error_ ? Expr() : Reducer(std::move(combined), std::move(identities));
}

}  // namespace tilewright::script
