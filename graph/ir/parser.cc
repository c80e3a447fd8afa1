#include "graph/ir/parser.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/reader.h"
#include "ir/script/parser.h"

namespace tilewright::graph {
namespace {

// What graphs can say of an attribute of programs: a number, a string, a list of either. False for anything else.
bool ToAttr(const Annotation& annotation, AttrValue* out) {
  if (const Expr* e = std::get_if<Expr>(&annotation.value)) {
    if (const auto* integer = dyn_cast<IntImmNode>(*e)) {
      *out = e->dtype().is_bool() ? AttrValue(integer->value != 0) : AttrValue(integer->value);
    } else if (const auto* real = dyn_cast<FloatImmNode>(*e)) {
      *out = real->value;
    } else if (const auto* text = dyn_cast<StringImmNode>(*e)) {
      *out = text->value;
    } else {
      return false;
    }
    return true;
  }
  const auto* list = std::get_if<Annotation::List>(&annotation.value);
  if (list == nullptr) return false;
  std::vector<AttrValue> items(list->size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (!ToAttr((*list)[i], &items[i]) || items[i].index() != items[0].index()) return false;
  }
  const auto all = [&]<class T>(std::vector<T> values) {
    for (const AttrValue& item : items) values.push_back(*item.As<T>());
    *out = std::move(values);
    return true;
  };
  if (items.empty() || items[0].As<int64_t>() != nullptr) return all(IntList());
  if (items[0].As<double>() != nullptr) return all(FloatList());
  return items[0].As<std::string>() != nullptr && all(StringList());
}

class ModuleParser {
 public:
  ModuleParser(std::string_view text, std::string_view file, const OpTable& ops, const std::vector<Constant>& constants)
      : text_(text), file_(file), builder_(&ops) {
    context_.text = text;
    context_.file = file;
    context_.constants = &constants;
    context_.builder = &builder_;
    context_.need_function = [this](const std::string& name, uint32_t offset) { return Need(name, offset); };
  }

  absl::StatusOr<GraphModule> Run() {
    script::ParseResult parsed = script::Parse(text_, file_, /*keep_others=*/true);
    diagnostics_ = std::move(parsed.diagnostics);
    if (!diagnostics_.empty()) return Error();
    for (const PrimFunc& program : parsed.module.functions()) builder_.SetProgram(program);
    for (const PyStmt& definition : parsed.others) Collect(definition, parsed.module);
    for (const PyStmt& definition : parsed.others) {
      if (!diagnostics_.empty() || !Need(definition.text, definition.offset)) return Error();
    }
    // In the order of the text.
    GraphModule module;
    Attrs attrs;
    for (const auto& [name, annotation] : parsed.module.attrs()) {
      AttrValue value;
      if (!ToAttr(annotation, &value)) {
        return absl::InvalidArgumentError(absl::StrCat(std::string(file_), ": attribute ", name,
                                                       " of the module is not a number, a string or a list of them"));
      }
      attrs.emplace(name, std::move(value));
    }
    module.set_attrs(std::move(attrs));
    for (const PrimFunc& program : parsed.module.functions()) module.Set(program);
    for (const PyStmt& definition : parsed.others) module.Set(builder_.module().FindFunction(definition.text));
    return module;
  }

 private:
  void Fail(uint32_t offset, std::string message) {
    diagnostics_.push_back(script::MakeDiagnostic(text_, file_, offset, std::move(message)));
  }

  absl::Status Error() const {
    return absl::InvalidArgumentError(absl::StrJoin(
        diagnostics_, "\n", [](std::string* out, const Diagnostic& d) { absl::StrAppend(out, d.ToString()); }));
  }

  void Collect(const PyStmt& definition, const Module& programs) {
    bool is_graph = false;
    for (const PyExprPtr& decorator : definition.decorators) {
      const PyExpr& e = decorator->kind == PyExpr::Kind::kCall ? *decorator->items[0] : *decorator;
      is_graph |= DottedName(e) == "R.function";
    }
    if (!is_graph) return Fail(definition.offset, "expected @T.prim_func or @R.function before a function");
    if (programs.Find(definition.text) || !definitions_.emplace(definition.text, &definition).second) {
      Fail(definition.offset, absl::StrCat("function '", definition.text, "' is already defined"));
    }
  }

  // Callees are read before their callers.
  bool Need(const std::string& name, uint32_t offset) {
    if (builder_.module().Contains(name)) return true;
    const auto it = definitions_.find(name);
    if (it == definitions_.end()) return FailAt(offset, absl::StrCat("there is no function '", name, "'"));
    if (!pending_.insert(name).second) return FailAt(offset, absl::StrCat("function '", name, "' calls itself"));
    if (pending_.size() > kMaxCallDepth) return FailAt(offset, "functions call each other too many levels deep");
    GraphReader reader(context_);
    const bool read = reader.Read(*it->second);
    if (!read && reader.error()) diagnostics_.push_back(*reader.error());
    pending_.erase(name);
    return read;
  }
  bool FailAt(uint32_t offset, std::string message) {
    Fail(offset, std::move(message));
    return false;
  }

  static constexpr size_t kMaxCallDepth = 100;
  const std::string_view text_, file_;
  BlockBuilder builder_;
  GraphContext context_;
  std::map<std::string, const PyStmt*> definitions_;
  std::set<std::string> pending_;  // that are being read
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

absl::StatusOr<GraphModule> ParseGraphModule(std::string_view text, std::string_view file, const OpTable& ops,
                                             const std::vector<Constant>& constants) {
  return ModuleParser(text, file, ops, constants).Run();
}

}  // namespace tilewright::graph
