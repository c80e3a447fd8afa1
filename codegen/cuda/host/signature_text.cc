#include "codegen/cuda/host/signature_text.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/abi/c_symbol.h"
#include "ir/script/printer.h"

namespace tilewright::cuda {
namespace {

// Names that the text has another use for.
constexpr std::string_view kTaken[] = {
    "run",      "values",      "workspace", "constants",  "in",        "call",      "args",          "num_args",
    "params",   "staged",      "kernels",   "images",     "library",   "Int",       "Select",        "FloorDiv",
    "FloorMod", "Min",         "Max",       "WrapTo",     "Execution", "Arguments", "Parameter",     "Library",
    "Kernel",   "Image",       "Machine",   "Refusal",    "Dims",      "Text",      "Kept",          "Divides",
    "BytesOf",  "StrideOf",    "FirstOf",   "refusal",    "RoundUpTo", "Holds",     "TensorMapSpec", "EncodedTensorMap",
    "sizes",    "temporaries", "Unsigned",  "WidenFloat",
};

std::string NameOf(const Param& param) { return param.buffer ? param.buffer->name : param.var.name(); }
DataType TypeOf(const Param& param) { return param.buffer ? param.buffer->dtype : param.var.dtype(); }

}  // namespace

absl::StatusOr<SignatureText> SignatureText::Make(const std::string& function, const std::string& base,
                                                  const std::vector<Param>& params, const std::vector<bool>& written) {
  SignatureText result;
  result.function_ = function;
  result.base_ = base;
  result.params_ = params;
  for (const std::string_view name : kTaken) result.names_.Make(name);
  TW_RETURN_IF_ERROR(result.CheckTypes());
  result.FindVariables();
  TW_ASSIGN_OR_RETURN(const std::string check, result.CheckText());
  result.text_ = absl::StrCat("// ", result.Comment(), "\n", result.StructText(), result.ParametersText(written),
                              result.ReadText(), check);
  return result;
}

absl::Status SignatureText::CheckTypes() const {
  for (const Param& param : params_) {
    const DataType type = TypeOf(param);
    if (!type.is_handle() && (!type.is_integer() || type.bits() % 8 == 0)) continue;
    return absl::UnimplementedError(
        absl::StrCat("function ", function_, ": parameter ", NameOf(param), " has type ", type.ToString()));
  }
  return absl::OkStatus();
}

void SignatureText::Bind(const Expr& e, Bound::From from, size_t param, size_t dimension) {
  const auto* var = dyn_cast<VarNode>(e);
  if (var == nullptr || variables_.contains(var)) return;
  const std::string name = names_.Make(var->name);
  variables_[var] = name;
  bound_.push_back({var, name, from, param, dimension});
}

void SignatureText::FindVariables() {
  for (size_t i = 0; i < params_.size(); ++i) {
    const Buffer& buffer = params_[i].buffer;
    if (!buffer) {
      Bind(params_[i].var, Bound::kScalar, i, 0);
      fields_.push_back(variables_.at(params_[i].var.get()));
      continue;
    }
    fields_.push_back(names_.Make(buffer->name));
    for (size_t d = 0; d < buffer->ndim(); ++d) Bind(buffer->shape[d], Bound::kExtent, i, d);
    for (size_t d = 0; d < buffer->strides.size(); ++d) Bind(buffer->strides[d], Bound::kStride, i, d);
    if (buffer->elem_offset) Bind(buffer->elem_offset, Bound::kZero, i, 0);
  }
}

std::string SignatureText::Unpacked(const std::string& reference) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < params_.size(); ++i) {
    if (params_[i].buffer) names.push_back(fields_[i]);
  }
  for (const Bound& bound : bound_) names.push_back(bound.name);
  return names.empty() ? "" : absl::StrCat("  auto", reference, " [", absl::StrJoin(names, ", "), "] = values;\n");
}

std::string SignatureText::StructText() const {
  std::string text = absl::StrCat("struct ", base_, "_Values {\n");
  for (size_t i = 0; i < params_.size(); ++i) {
    if (params_[i].buffer) absl::StrAppend(&text, "  char* ", fields_[i], ";\n");
  }
  for (const Bound& bound : bound_) absl::StrAppend(&text, "  Int ", bound.name, ";\n");
  return text + "};\n";
}

std::string SignatureText::ParametersText(const std::vector<bool>& written) const {
  std::vector<std::string> rows;
  for (size_t i = 0; i < params_.size(); ++i) {
    const Buffer& buffer = params_[i].buffer;
    const DataType dtype = TypeOf(params_[i]);
    const TwDataType type = AbiType(dtype);
    rows.push_back(absl::Substitute("    {$0, {$1, $2, $3}, $4", Quoted(NameOf(params_[i])), type.code, type.bits,
                                    type.lanes, Quoted(dtype.ToString())));
    if (buffer) {
      absl::StrAppend(&rows.back(), ", ", buffer->ndim(), ", true, ", written[i] ? "true" : "false", ", ",
                      std::max(buffer->alignment, 1));
    }
    rows.back() += "},\n";
  }
  // C++ has no arrays of no elements.
  if (rows.empty()) rows.push_back("    {},\n");
  return absl::StrCat("const Parameter ", base_, "_parameters[] = {\n", absl::StrJoin(rows, ""), "};\n");
}

std::string SignatureText::ReadText() const {
  std::string text = absl::StrCat("void ", base_, "_Read(const Arguments& in, ", base_, "_Values& values) {\n",
                                  bound_.empty() ? "" : Unpacked("&"));
  for (const Bound& bound : bound_) {
    std::string from = "0";
    if (bound.from == Bound::kExtent) from = absl::StrCat("in.Extent(", bound.param, ", ", bound.dimension, ")");
    if (bound.from == Bound::kStride) from = absl::StrCat("in.Stride(", bound.param, ", ", bound.dimension, ")");
    if (bound.from == Bound::kScalar) from = absl::StrCat("in.Scalar(", bound.param, ")");
    absl::StrAppend(&text, "  ", bound.name, " = ", from, ";\n");
  }
  return text + "}\n";
}

absl::StatusOr<std::string> SignatureText::CheckText() const {
  std::string text =
      absl::StrCat("void ", base_, "_Check(Arguments& in, ", base_, "_Values& values) {\n", Unpacked("&"));
  for (size_t i = 0; i < params_.size(); ++i) {
    const Buffer& buffer = params_[i].buffer;
    if (!buffer) continue;
    std::string lists[2];
    for (const auto& [exprs, list] : {std::pair(&buffer->shape, &lists[0]), std::pair(&buffer->strides, &lists[1])}) {
      for (const Expr& e : *exprs) {
        TW_ASSIGN_OR_RETURN(const std::string number, ScalarText(e, variables_));
        absl::StrAppend(list, list->empty() ? "" : ", ", number);
      }
    }
    absl::StrAppend(&text, "  ", fields_[i], " = in.Array(", i, ", {", lists[0], "}, {", lists[1], "});\n");
  }
  return absl::StrCat(text, "  in.RefuseOverlaps();\n}\n");
}

std::string SignatureText::Comment() const {
  std::vector<std::string> params;
  for (const Param& param : params_) {
    params.push_back(absl::StrCat(NameOf(param), ": ", TypeOf(param).ToString()));
    if (!param.buffer) continue;
    const auto print = [](std::string* out, const Expr& extent) {
      const std::optional<int64_t> value = AsInt(extent);
      absl::StrAppend(out, value ? absl::StrCat(*value) : PrintExtent(extent));
    };
    absl::StrAppend(&params.back(), "[", absl::StrJoin(param.buffer->shape, ", ", print), "]");
  }
  return absl::StrCat(function_, "(", absl::StrJoin(params, ", "), ")");
}

std::string SignatureText::ExportedFunction(const std::string& statements, const std::string& workspace_bytes,
                                            const std::string& arguments) const {
  constexpr char kText[] = R"(
namespace {
Graphs $1_graphs;
}
TW_EXPORT int $0(const TwCall* call, TwTensor* const* args, int32_t num_args) {
  Execution run(library, call);
  TwTensor* const* const staged = run.Stage($1_parameters, $2, args, num_args);
  if (!run.ok()) return run.code();
  Arguments in(run.refusal(), $3, $1_parameters, $2, staged, num_args);
  $1_Values values = {};
  if (in.ok()) $1_Read(in, values);
$4  if (in.ok()) $1_Check(in, values);
  char* const workspace = run.Workspace($5);
  const auto start = [&] { $1_Start(run, values, $6workspace); };
  if (run.ok()) run.Repeat($1_graphs, {$7KeyOf(workspace)}, start);
  return run.Finish();
}
)";
  std::string keys;
  for (size_t i = 0; i < params_.size(); ++i) {
    if (params_[i].buffer) absl::StrAppend(&keys, "KeyOf(values.", fields_[i], "), ");
  }
  for (const Bound& bound : bound_) absl::StrAppend(&keys, "KeyOf(values.", bound.name, "), ");
  std::string text = absl::Substitute(kText, CSymbol(function_), base_, params_.size(), Quoted(function_), statements,
                                      workspace_bytes, arguments, keys);
  // A C program's own main wins.
  if (function_ == "main") absl::StrAppend(&text, "asm(\".weak main\\n.set main, tw_main\\n\");\n");
  return text;
}

std::string SignatureText::Exported(int64_t workspace_bytes) const {
  return absl::StrCat(ExportedFunction("", absl::StrCat(workspace_bytes), ""), "TW_EXPORT int64_t ", function_,
                      "_workspace_bytes() { return ", workspace_bytes, "; }\n");
}

}  // namespace tilewright::cuda
