#include "graph/ir/printer.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "ir/script/expr_printer.h"
#include "ir/script/names.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

constexpr int64_t kInlineElements = 64;

// The shortest text that reads back, through a double, to the same float.
std::string Float32Text(float value) {
  char buffer[32];
  const std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  double back = 0;
  std::from_chars(text.data(), text.data() + text.size(), back);
  if (!std::isfinite(value) || static_cast<float>(back) != value) return FloatText(value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// Whether text keeps all bits of the elements: of the NaNs only the one that NDArray::Set writes has a text.
bool TextKeepsBits(const NDArray& array) {
  if (!array.dtype().is_float()) return true;
  const NDArray copy(array.dtype(), array.shape());
  for (int64_t i = 0; i < array.size(); ++i) copy.Set(i, std::isnan(array.Get(i)) ? std::nan("") : array.Get(i));
  return BitEqual(array, copy);
}

std::string ElementText(const NDArray& array, int64_t position) {
  if (array.dtype().is_float()) {
    const double value = array.Get(position);
    return array.dtype() == DataType::Float(32) ? Float32Text(static_cast<float>(value)) : FloatText(value);
  }
  const int64_t value = array.GetInt(position);
  if (array.dtype().is_bool()) return value != 0 ? "True" : "False";
  return array.dtype().is_uint() ? absl::StrCat(static_cast<uint64_t>(value)) : absl::StrCat(value);
}

// Nested lists of the elements from `position` on.
std::string ListText(const NDArray& array, size_t dim, int64_t& position) {
  if (dim == array.shape().size()) return ElementText(array, position++);
  std::string text = "[";
  for (int64_t i = 0; i < array.shape()[dim]; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", ListText(array, dim + 1, position));
  }
  return text + "]";
}

std::string AttrsText(const Attrs& attrs) {
  return absl::StrJoin(attrs, ", ", [](std::string* text, const auto& attr) {
    absl::StrAppend(text, "\"", attr.first, "\": ", ToString(attr.second));
  });
}

class FunctionPrinter {
 public:
  FunctionPrinter(const Function& function, GraphText* out) : function_(function), out_(out) {}

  void Run() {
    for (const char* word : {"R", "cls", "Module", "metadata"}) names_.Take(word);
    CollectSymbols();
    std::vector<std::string> params;
    for (const Var& param : function_->params) {
      params.push_back(absl::StrCat(Define(param), ": ", TypeText(param->type, /*quoted=*/true)));
    }
    Line(function_->is_private ? "@R.function(private=True)" : "@R.function");
    Line(absl::StrCat("def ", function_->name, "(", absl::StrJoin(params, ", "), ") -> ",
                      TypeText(function_->result_type, /*quoted=*/true), ":"));
    ++level_;
    if (!function_->attrs.empty()) Line(absl::StrCat("R.func_attr({", AttrsText(function_->attrs), "})"));
    for (const Symbol& symbol : symbols_) Line(absl::StrCat(SymbolText(symbol), " = T.int64()"));
    if (uses_module_) Line("cls = Module");
    PrintSeq(*function_->body);
    Line(absl::StrCat("return ", Atom(function_->body->result)));
  }

 private:
  void Line(const std::string& text) {
    absl::StrAppend(&out_->text, std::string(static_cast<size_t>(4 * level_), ' '), text, "\n");
  }

  // Symbols in order of occurrence, and whether functions of the module are called.
  void CollectSymbols() {
    for (const Var& param : function_->params) Collect(FreeSymbols(param->type));
    CollectIn(*function_->body);
    Collect(FreeSymbols(function_->result_type));
  }
  void Collect(const std::vector<Symbol>& symbols) {
    for (const Symbol& symbol : symbols) {
      if (!seen_.insert(symbol.get()).second) continue;
      symbols_.push_back(symbol);
      names_.Define(symbol.get(), symbol.name());
    }
  }
  void CollectIn(const SeqNode& seq) {
    Collect(FreeSymbols(seq.guards));
    for (const BindingBlock& block : seq.blocks) {
      for (const Binding& binding : block.bindings) {
        // Known values are inferred again when the text is read; extents may mention no other symbols than these.
        CollectInValue(binding.value);
        CollectInType(binding.var->type);
      }
    }
    CollectInValue(seq.result);
  }
  void CollectInType(const Type& type) {
    if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
      if (tensor->shape) Collect(FreeSymbols(*tensor->shape));
    } else if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
      for (const Type& field : tuple->fields) CollectInType(field);
    } else {
      Collect(FreeSymbols(type));
    }
  }
  void CollectInValues(const std::vector<Value>& values) {
    for (const Value& value : values) CollectInValue(value);
  }
  void CollectInValue(const Value& value) {
    if (!value) return;
    if (const auto* shape = dyn_cast<ShapeExprNode>(value)) return Collect(FreeSymbols(shape->values));
    if (const auto* tuple = dyn_cast<TupleNode>(value)) return CollectInValues(tuple->fields);
    if (const auto* call = dyn_cast<CallNode>(value)) {
      for (const auto& [name, attr] : call->attrs) uses_module_ |= KindOf(attr) == AttrKind::kFunction;
      return CollectInValues(call->args);
    }
    if (const auto* tir = dyn_cast<CallTirNode>(value)) {
      uses_module_ = true;
      Collect(FreeSymbols(tir->symbols));
      CollectInType(tir->out);
      return CollectInValues(tir->args);
    }
    if (const auto* function = dyn_cast<CallFunctionNode>(value)) {
      uses_module_ = true;
      return CollectInValues(function->args);
    }
    if (const auto* match = dyn_cast<MatchCastNode>(value)) {
      CollectInType(match->type);
      return CollectInValue(match->value);
    }
    if (const auto* branch = dyn_cast<IfNode>(value)) {
      CollectIn(*branch->then_branch);
      return CollectIn(*branch->else_branch);
    }
  }

  std::string SymbolText(const Symbol& symbol) { return names_.TextOf(symbol.get()); }
  std::string ExprText(const Expr& e) { return script::ExprPrinter(names_, DataType::Int(64)).Text(e); }
  // Symbols are not defined yet in a signature: extents are strings there.
  std::string ExtentText(const Expr& e, bool quoted) {
    return quoted && !AsInt(e) ? script::Quote(ExprText(e)) : ExprText(e);
  }
  std::string ExtentsText(const std::vector<Expr>& extents, bool quoted) {
    return absl::StrJoin(extents, ", ", [&](std::string* text, const Expr& e) { *text += ExtentText(e, quoted); });
  }

  std::string TypeText(const Type& type, bool quoted = false) {
    if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
      const std::string dtype = absl::StrCat("dtype=\"", tensor->dtype.ToString(), "\"");
      if (!tensor->shape) return absl::StrCat("R.Tensor(", dtype, ")");
      const char* comma = tensor->shape->size() == 1 ? "," : "";
      return absl::StrCat("R.Tensor((", ExtentsText(*tensor->shape, quoted), comma, "), ", dtype, ")");
    }
    if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
      const auto append = [&](std::string* text, const Type& field) { *text += TypeText(field, quoted); };
      return absl::StrCat("R.Tuple(", absl::StrJoin(tuple->fields, ", ", append), ")");
    }
    return absl::StrCat("R.Shape([", ExtentsText(cast<ShapeTypeNode>(type)->values, quoted), "])");
  }

  std::string Define(const Var& var) { return texts_[var.get()] = names_.Take(var->name); }

  std::string Atom(const Value& value) {
    if (!value) return "None";
    if (const auto* var = dyn_cast<VarNode>(value)) {
      const auto it = texts_.find(var);
      return it == texts_.end() ? Define(Var(var)) : it->second;
    }
    if (const auto* constant = dyn_cast<ConstantNode>(value)) return ConstantText(Constant(constant));
    if (const auto* shape = dyn_cast<ShapeExprNode>(value)) {
      return absl::StrCat("R.shape([", ExtentsText(shape->values, /*quoted=*/false), "])");
    }
    const auto* tuple = dyn_cast<TupleNode>(value);
    TW_CHECK(tuple != nullptr) << "an argument that is not an atom";
    return TupleText(tuple->fields);
  }

  std::string TupleText(const std::vector<Value>& fields) {
    return absl::StrCat("(", AtomsText(fields), fields.size() == 1 ? ",)" : ")");
  }
  std::string AtomsText(const std::vector<Value>& values) {
    return absl::StrJoin(values, ", ", [&](std::string* text, const Value& value) { *text += Atom(value); });
  }

  std::string ConstantText(const Constant& constant) {
    int64_t elements = 1;
    for (int64_t extent : constant->shape) elements *= extent;
    // A list without elements does not say its shape.
    const bool has_shape = elements > 0 || constant->shape.size() == 1;
    if (elements <= kInlineElements && has_shape) {
      const NDArray array = constant->ToNDArray();
      int64_t position = 0;
      if (TextKeepsBits(array)) {
        return absl::StrCat("R.const(", ListText(array, 0, position), ", \"", constant->dtype.ToString(), "\")");
      }
    }
    const auto [it, added] = constants_.try_emplace(constant.get(), out_->constants.size());
    if (added) out_->constants.push_back(constant);
    return absl::StrCat("metadata[\"relax.expr.Constant\"][", it->second, "]");
  }

  std::string CallText(const CallNode& call) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (call.op->is_variadic() && i + 1 == call.op->params.size()) {
        parts.push_back(TupleText({call.args.begin() + static_cast<std::ptrdiff_t>(i), call.args.end()}));
        break;
      }
      parts.push_back(Atom(call.args[i]));
    }
    for (const auto& [name, value] : call.attrs) parts.push_back(absl::StrCat(name, "=", ToString(value)));
    return absl::StrCat("R.", call.op->name, "(", absl::StrJoin(parts, ", "), ")");
  }

  std::string CallTirText(const CallTirNode& call) {
    std::string out = TypeText(call.out);
    if (const auto* tuple = dyn_cast<TupleTypeNode>(call.out)) {
      const auto append = [&](std::string* text, const Type& field) { *text += TypeText(field); };
      out = absl::StrCat("[", absl::StrJoin(tuple->fields, ", ", append), "]");
    }
    std::string text = absl::StrCat("R.call_tir(cls.", call.function, ", ", TupleText(call.args), ", out_sinfo=", out);
    if (!call.symbols.empty()) {
      absl::StrAppend(&text, ", tir_vars=R.shape([", ExtentsText(call.symbols, /*quoted=*/false), "])");
    }
    return text + ")";
  }

  std::string ValueText(const Value& value) {
    switch (AsGraphKind(value->kind())) {
      case GraphKind::kTupleGetItem: {
        const auto* item = cast<TupleGetItemNode>(value);
        return absl::StrCat(Atom(item->tuple), "[", item->index, "]");
      }
      case GraphKind::kCall:
        return CallText(*cast<CallNode>(value));
      case GraphKind::kCallTir:
        return CallTirText(*cast<CallTirNode>(value));
      case GraphKind::kCallFunction: {
        const auto* call = cast<CallFunctionNode>(value);
        return absl::StrCat("cls.", call->function, "(", AtomsText(call->args), ")");
      }
      case GraphKind::kMatchCast: {
        const auto* match = cast<MatchCastNode>(value);
        return absl::StrCat("R.match_cast(", Atom(match->value), ", ", TypeText(match->type), ")");
      }
      default:
        return Atom(value);
    }
  }

  void PrintSeq(const SeqNode& seq) {
    for (const Expr& guard : seq.guards) Line(absl::StrCat("assert ", ExprText(guard)));
    for (const BindingBlock& block : seq.blocks) {
      if (block.dataflow) {
        Line("with R.dataflow():");
        ++level_;
      }
      for (const Binding& binding : block.bindings) PrintBinding(binding);
      if (!block.dataflow) continue;
      const std::vector<Value> outputs(block.outputs.begin(), block.outputs.end());
      Line(absl::StrCat("R.output(", AtomsText(outputs), ")"));
      --level_;
    }
  }

  void PrintBinding(const Binding& binding) {
    if (const auto* branch = dyn_cast<IfNode>(binding.value)) return PrintIf(binding.var, *branch);
    const std::string value = ValueText(binding.value);
    const std::string name = Define(binding.var);
    Line(absl::StrCat(name, ": ", TypeText(binding.var->type), " = ", value));
  }

  // Both branches end by giving the variable its value.
  void PrintIf(const Var& var, const IfNode& branch) {
    const std::string name = Define(var);
    const auto print_branch = [&](const SeqNode& seq) {
      ++level_;
      PrintSeq(seq);
      Line(absl::StrCat(name, ": ", TypeText(var->type), " = ", Atom(seq.result)));
      --level_;
    };
    Line(absl::StrCat("if ", Atom(branch.condition), ":"));
    print_branch(*branch.then_branch);
    Line("else:");
    print_branch(*branch.else_branch);
  }

  const Function& function_;
  GraphText* out_;
  int level_ = 0;
  bool uses_module_ = false;
  script::Names names_;
  std::vector<Symbol> symbols_;
  std::unordered_set<const SymbolNode*> seen_;
  std::unordered_map<const VarNode*, std::string> texts_;
  std::unordered_map<const ConstantNode*, size_t> constants_;
};

void AppendIndented(std::string& out, const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(absl::StripTrailingAsciiWhitespace(text), '\n')) {
    if (!line.empty()) absl::StrAppend(&out, "    ", line);
    out += "\n";
  }
}

}  // namespace

GraphText Print(const Function& function) {
  GraphText out;
  FunctionPrinter(function, &out).Run();
  return out;
}

GraphText Print(const GraphModule& module) {
  GraphText out;
  std::string text =
      "# from tvm.script import ir as I\n# from tvm.script import tir as T\n"
      "# from tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n";
  if (!module.attrs().empty()) absl::StrAppend(&text, "    I.module_attrs({", AttrsText(module.attrs()), "})\n\n");
  bool first = true;
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.program) continue;
    if (!first) text += "\n";
    first = false;
    const std::string program = tilewright::Print(entry.program);
    AppendIndented(text, program.substr(program.find("@T.prim_func")));  // without its imports
  }
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    if (!first) text += "\n";
    first = false;
    out.text.clear();
    FunctionPrinter(entry.function, &out).Run();
    AppendIndented(text, out.text);
  }
  if (first) text += "    pass\n";
  out.text = std::move(text);
  return out;
}

}  // namespace tilewright::graph
