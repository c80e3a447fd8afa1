#include "ir/script/undefined.h"

#include <algorithm>

#include "ir/functor.h"

namespace tilewright::script {
namespace {

// The expressions among the values, those in lists and dictionaries too.
void Collect(const Annotations& annotations, std::vector<Expr>& out);
void Collect(const Annotation& annotation, std::vector<Expr>& out) {
  if (const auto* e = std::get_if<Expr>(&annotation.value)) {
    out.push_back(*e);
  } else if (const auto* list = std::get_if<Annotation::List>(&annotation.value)) {
    for (const Annotation& entry : *list) Collect(entry, out);
  } else {
    Collect(std::get<Annotations>(annotation.value), out);
  }
}
void Collect(const Annotations& annotations, std::vector<Expr>& out) {
  for (const auto& [key, value] : annotations) Collect(value, out);
}

}  // namespace

bool UsesUndefined(const Annotations& annotations, const Names& names) {
  std::vector<Expr> values;
  Collect(annotations, values);
  return std::any_of(values.begin(), values.end(), [&](const Expr& value) {
    bool found = false;
    PreOrder(value, [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      const auto* load = dyn_cast<LoadNode>(e);
      found = found || (var != nullptr && !names.IsDefined(var)) ||
              (load != nullptr && !names.IsDefined(load->buffer.get()));
      return !found;
    });
    return found;
  });
}

std::vector<Expr> UndefinedVars(const Annotations& annotations, const Names& names) {
  std::vector<Expr> values;
  Collect(annotations, values);
  std::erase_if(values, [&](const Expr& value) {
    const auto* var = dyn_cast<VarNode>(value);
    return var == nullptr || names.IsDefined(var);
  });
  return values;
}

}  // namespace tilewright::script
