#include "ir/script/parser.h"

#include <algorithm>
#include <functional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/functor.h"
#include "ir/script/intrin_file.h"
#include "ir/script/printer.h"
#include "ir/script/python/parser.h"
#include "ir/script/reader.h"

namespace tilewright {
namespace script {
namespace {

using Kind = PyExpr::Kind;
using StmtKind = PyStmt::Kind;

// "T.prim_func" for the decorator @T.prim_func or @T.prim_func(...).
std::string DottedName(const PyExpr& e) {
  if (e.kind == Kind::kName) return e.text;
  if (e.kind == Kind::kAttribute) return absl::StrCat(DottedName(*e.items[0]), ".", e.text);
  if (e.kind == Kind::kCall) return DottedName(*e.items[0]);
  return "";
}

bool HasDecorator(const PyStmt& s, std::string_view name) {
  for (const PyExprPtr& decorator : s.decorators) {
    const std::string dotted = DottedName(*decorator);
    if (dotted == name || absl::EndsWith(dotted, absl::StrCat(".", absl::string_view(name.data(), name.size())))) {
      return true;
    }
  }
  return false;
}

// Expressions in fewer levels than this print to text that the parser's limits are far from.
constexpr int kDeepLevels = 40;

class DepthCounter : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr& e) override {
    if (!e) return;
    most = std::max(most, ++levels_);
    Visitor::Visit(e);
    --levels_;
  }
  int most = 0;

 private:
  int levels_ = 0;
};

// Whether what the function prints is too deep to be read again: (a * -1) has brackets that -a has not.
bool IsTooDeep(const Function& function) {
  DepthCounter depth;
  depth.Visit(function->body);
  return depth.most >= kDeepLevels && ParsePython(Print(function), "").error;
}

class ModuleReader {
 public:
  ModuleReader(std::string_view text, std::string_view file, bool keep_others) : keep_others_(keep_others) {
    context_.text = text;
    context_.file = file;
  }

  const std::vector<IntrinRegistration>& registrations() const { return registrations_; }

  ParseResult Run() {
    const PythonTree tree = ParsePythonFile(context_.text, context_.file);
    if (tree.error) {
      result_.diagnostics.push_back(*tree.error);
      return std::move(result_);
    }
    for (const PyStmt& s : tree.statements) ReadTopLevel(s, /*in_class=*/false);
    const bool nothing = result_.module.functions().empty() && result_.others.empty();
    if (result_.diagnostics.empty() && nothing && !has_module_) {
      FailWithoutProgram();
    }
    return std::move(result_);
  }

 private:
  void Fail(uint32_t offset, std::string message) {
    result_.diagnostics.push_back(MakeDiagnostic(context_.text, context_.file, offset, std::move(message)));
  }

  void ReadTopLevel(const PyStmt& s, bool in_class) {
    switch (s.kind) {
      case StmtKind::kImport:
        return ReadImport(s);
      case StmtKind::kPass:
        return;
      case StmtKind::kFunction:
        return ReadFunction(s);
      case StmtKind::kClass:
        if (in_class || !HasDecorator(s, "ir_module")) return PassOver(s);
        has_module_ = true;
        for (const PyStmt& member : s.body) ReadTopLevel(member, /*in_class=*/true);
        return;
      case StmtKind::kAssign:
        return ReadConstants(s);
      case StmtKind::kAnnotate:
        if (s.value) ReadConstants(s);
        return;
      case StmtKind::kExpr:
        return ReadModuleAttrs(s, in_class);
      default:
        return PassOver(s);
    }
  }

  // Files hold other Python beside programs: it is passed over, and the names that it gives values to are unknown.
  void PassOver(const PyStmt& s) {
    for (const PyExprPtr& decorator : s.decorators) {
      const bool program = HasDecorator(s, "prim_func") || HasDecorator(s, "ir_module");
      if (program && s.problem) return result_.diagnostics.push_back(*s.problem);
      const size_t dot = DottedName(*decorator).find('.');
      const bool dialect =
          dot != std::string::npos && context_.dialect_names.contains(DottedName(*decorator).substr(0, dot));
      if (dialect && !HasDecorator(s, "macro")) {
        return Fail(s.offset, absl::StrCat("@", DottedName(*decorator), " is not known; expected @T.prim_func"));
      }
    }
    ForgetNames(s);
    if (!first_other_) first_other_ = &s;
  }

  void ForgetNames(const PyStmt& s) {
    const auto forget = [&](const std::string& name) {
      context_.constants.erase(name);
      context_.other_names.try_emplace(name, s.offset);
    };
    const std::function<void(const PyExpr&)> forget_target = [&](const PyExpr& target) {
      if (target.kind == Kind::kName) forget(target.text);
      const bool list = target.kind == Kind::kTuple || target.kind == Kind::kList || target.kind == Kind::kStarred;
      for (size_t i = 0; list && i < target.items.size(); ++i) forget_target(*target.items[i]);
    };
    for (const PyExprPtr& target : s.more_targets) forget_target(*target);
    if (s.target) forget_target(*s.target);
    if (s.kind == StmtKind::kFunction || s.kind == StmtKind::kClass) return forget(s.text);
    if (s.kind == StmtKind::kOther) std::ranges::for_each(s.aliases, forget);
    for (const auto* body : {&s.body, &s.else_body}) {
      for (const PyStmt& inner : *body) ForgetNames(inner);
    }
  }

  // Why a text without a program has none.
  void FailWithoutProgram() {
    if (first_other_ == nullptr) return Fail(0, "expected a function: @T.prim_func and def NAME(...)");
    const PyStmt& s = *first_other_;
    if (s.problem) return result_.diagnostics.push_back(*s.problem);
    if (s.kind == StmtKind::kFunction) return Fail(s.offset, "expected @T.prim_func before a function");
    if (s.kind == StmtKind::kClass) return Fail(s.offset, "expected @I.ir_module before a class of functions");
    Fail(s.offset,
         "a program file holds functions (@T.prim_func), modules (@I.ir_module) and NAME = number; this is other "
         "Python, "
         "and there is no function");
  }

  // from tvm.script import tir as T: another name for the dialect.
  void ReadImport(const PyStmt& s) {
    for (size_t i = 0; i < s.names.size(); ++i) {
      const std::string& name = s.names[i];
      const bool dialect = name == "tir" || name == "tirx" || absl::EndsWith(name, ".tir") ||
                           absl::EndsWith(name, ".tirx") || absl::EndsWith(name, "script.tirx");
      if (!dialect) continue;
      if (!s.aliases[i].empty()) {
        context_.dialect_names.insert(s.aliases[i]);
      } else if (name == "tir" || name == "tirx") {
        context_.dialect_names.insert(name);
      }
    }
  }

  void ReadFunction(const PyStmt& s) {
    if (keep_others_ && !s.decorators.empty() && !HasDecorator(s, "prim_func")) return result_.others.push_back(s);
    if (!HasDecorator(s, "prim_func")) return PassOver(s);
    if (result_.module.Find(s.text)) return Fail(s.offset, absl::StrCat("function '", s.text, "' is already defined"));
    FunctionReader reader(context_);
    Function function = reader.Read(s);
    if (reader.error()) {
      result_.diagnostics.push_back(*reader.error());
    } else if (IsTooDeep(function)) {
      Fail(s.offset, absl::StrCat("an expression of function '", s.text, "' nests too deep to be printed"));
    } else {
      result_.module.Set(std::move(function));
    }
  }

  // NAME = value, which functions may use; NAME = TypeVar("NAME"), a size that the buffers of a function define.
  void ReadConstants(const PyStmt& s) {
    bool read = ReadConstant(*s.target, *s.value);
    for (const PyExprPtr& target : s.more_targets) read = read && ReadConstant(*target, *s.value);
    if (!read) PassOver(s);
  }
  // False when the value is other Python.
  bool ReadConstant(const PyExpr& target, const PyExpr& value) {
    if (target.kind == Kind::kTuple && value.kind == Kind::kTuple && target.items.size() == value.items.size()) {
      const absl::flat_hash_map<std::string, Value> before = context_.constants;
      bool read = true;
      absl::flat_hash_map<std::string, Value> after = before;
      for (size_t i = 0; i < target.items.size(); ++i) {
        context_.constants = before;  // all values are computed before any name gets one
        read = target.items[i]->kind == Kind::kName && ReadConstant(*target.items[i], *value.items[i]) && read;
        if (read && context_.constants.contains(target.items[i]->text)) {
          after.insert_or_assign(target.items[i]->text, context_.constants.at(target.items[i]->text));
        }
      }
      context_.constants = read ? std::move(after) : before;
      return read;
    }
    if (target.kind != Kind::kName) return false;
    if (value.kind == Kind::kCall && DottedName(value) == "TypeVar") {
      context_.type_vars.insert(target.text);
      return true;
    }
    FunctionReader reader(context_);
    Value read;
    if (!reader.ReadConstant(value, &read)) return false;
    context_.constants.insert_or_assign(target.text, std::move(read));
    context_.other_names.erase(target.text);
    return true;
  }

  // I.module_attrs({...}); a docstring; I.module_global_infos({...}), which has no meaning here.
  void ReadModuleAttrs(const PyStmt& s, bool in_class) {
    const PyExpr& e = *s.value;
    if (e.kind == Kind::kString) return;
    const std::string name = DottedName(e);
    if (name == "TensorIntrin.register" || absl::EndsWith(name, ".TensorIntrin.register")) return ReadRegistration(s);
    if (!absl::EndsWith(name, ".module_attrs")) return PassOver(s);
    if (!in_class || e.kind != Kind::kCall || e.items.size() != 2)
      return Fail(s.offset, "expected I.module_attrs({...}) in a module");
    FunctionReader reader(context_);
    Annotations attrs;
    if (!reader.ReadAnnotations(*e.items[1], &attrs)) {
      result_.diagnostics.push_back(*reader.error());
    } else {
      result_.module.set_attrs(std::move(attrs));
    }
  }

  // TensorIntrin.register("name", description, implementation)
  void ReadRegistration(const PyStmt& s) {
    const PyExpr& call = *s.value;
    constexpr std::string_view kNames[] = {"name", "desc", "impl"};
    const PyExpr* given[3] = {};
    for (size_t i = 0; i < 3; ++i) {
      if (i + 1 < call.items.size()) given[i] = call.items[i + 1].get();
      for (size_t k = 0; k < call.keywords.size(); ++k) {
        if (call.keywords[k] == kNames[i]) given[i] = call.keyword_values[k].get();
      }
      if (given[i] == nullptr) return PassOver(s);
    }
    FunctionReader reader(context_);
    Value name;
    const bool read = given[1]->kind == Kind::kName && given[2]->kind == Kind::kName &&
                      reader.ReadConstant(*given[0], &name) && name.As<std::string>() != nullptr;
    if (!read) return PassOver(s);
    registrations_.push_back({*name.As<std::string>(), given[1]->text, given[2]->text});
  }

  const bool keep_others_;
  ModuleContext context_;
  bool has_module_ = false;              // which may be empty
  const PyStmt* first_other_ = nullptr;  // a statement that was passed over
  std::vector<IntrinRegistration> registrations_;
  ParseResult result_;
};

}  // namespace

ParseResult Parse(std::string_view text, std::string_view file_name, bool keep_others) {
  return ModuleReader(text, file_name, keep_others).Run();
}

IntrinFile ParseIntrinFile(std::string_view text, std::string_view file_name) {
  ModuleReader reader(text, file_name, /*keep_others=*/false);
  ParseResult programs = reader.Run();
  return {std::move(programs), reader.registrations()};
}

}  // namespace script

absl::StatusOr<Module> ParseModule(std::string_view text, std::string_view file_name) {
  script::ParseResult result = script::Parse(text, file_name);
  if (result.diagnostics.empty()) return std::move(result.module);
  return absl::InvalidArgumentError(absl::StrJoin(
      result.diagnostics, "\n",
      [](std::string* out, const script::Diagnostic& diagnostic) { absl::StrAppend(out, diagnostic.ToString()); }));
}

}  // namespace tilewright
