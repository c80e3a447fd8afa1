#include "ir/script/parser.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/script/python_parser.h"
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

  ParseResult Run() {
    PythonTree tree = ParsePython(context_.text, context_.file);
    if (tree.error) {
      result_.diagnostics.push_back(std::move(*tree.error));
      return std::move(result_);
    }
    for (const PyStmt& s : tree.statements) ReadTopLevel(s, /*in_class=*/false);
    const bool nothing = result_.module.functions().empty() && result_.others.empty();
    if (result_.diagnostics.empty() && nothing && !has_module_) {
      Fail(0, "expected a function: @T.prim_func and def NAME(...)");
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
        if (in_class || !HasDecorator(s, "ir_module")) {
          return Fail(s.offset, "expected @I.ir_module before a class of functions");
        }
        has_module_ = true;
        for (const PyStmt& member : s.body) ReadTopLevel(member, /*in_class=*/true);
        return;
      case StmtKind::kAssign:
        return ReadConstant(s);
      case StmtKind::kExpr:
        return ReadModuleAttrs(s);
      default:
        return Fail(s.offset, "expected a function (@T.prim_func), a module (@I.ir_module), an import or NAME = value");
    }
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
    if (!HasDecorator(s, "prim_func")) return Fail(s.offset, "expected @T.prim_func before a function");
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
  void ReadConstant(const PyStmt& s) {
    if (s.target->kind != Kind::kName) return Fail(s.offset, "expected NAME = value");
    if (s.value->kind == Kind::kCall && DottedName(*s.value) == "TypeVar") {
      context_.type_vars.insert(s.target->text);
      return;
    }
    FunctionReader reader(context_);
    Value value;
    if (!reader.ReadConstant(*s.value, &value)) {
      result_.diagnostics.push_back(*reader.error());
    } else {
      context_.constants.insert_or_assign(s.target->text, std::move(value));
    }
  }

  // I.module_attrs({...}); a docstring; I.module_global_infos({...}), which has no meaning here.
  void ReadModuleAttrs(const PyStmt& s) {
    const PyExpr& e = *s.value;
    if (e.kind == Kind::kString) return;
    const std::string name = DottedName(e);
    if (e.kind != Kind::kCall || e.items.size() != 2 || !absl::EndsWith(name, ".module_attrs")) {
      return Fail(s.offset, "expected I.module_attrs({...})");
    }
    FunctionReader reader(context_);
    Annotations attrs;
    if (!reader.ReadAnnotations(*e.items[1], &attrs)) {
      result_.diagnostics.push_back(*reader.error());
    } else {
      result_.module.set_attrs(std::move(attrs));
    }
  }

  const bool keep_others_;
  ModuleContext context_;
  bool has_module_ = false;  // which may be empty
  ParseResult result_;
};

}  // namespace

ParseResult Parse(std::string_view text, std::string_view file_name, bool keep_others) {
  return ModuleReader(text, file_name, keep_others).Run();
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
