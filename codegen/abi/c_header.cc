#include "codegen/abi/c_header.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/abi/function_abi.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// "int64_t NAME_workspace_bytes(int64_t batch, int64_t length);"
std::string WorkspaceFunction(const std::string& name, absl::Span<const Var> extents) {
  std::string text;
  if (!extents.empty()) {
    text =
        "// Of these extents, which are the variables above; less than 0 (-kTwErrorShape) where the function refuses "
        "them.\n";
  }
  absl::StrAppend(&text, "int64_t ", name, "_workspace_bytes(");
  const char* separator = "";
  for (const Var& extent : extents) {
    absl::StrAppend(&text, separator, "int64_t ", CSymbol(extent.name()));
    separator = ", ";
  }
  return absl::StrCat(text, extents.empty() ? "void" : "", ");\n");
}

}  // namespace

std::string ParameterList(const Function& function, bool variables) {
  std::string text = "(";
  const char* separator = "";
  for (const Param& param : function->params) {
    absl::StrAppend(&text, separator, param.buffer ? param.buffer->name : param.var.name(), ": ",
                    (param.buffer ? param.buffer->dtype : param.var.dtype()).ToString());
    separator = ", ";
    if (!param.buffer) continue;
    absl::StrAppend(&text, "[");
    for (size_t d = 0; d < param.buffer->ndim(); ++d) {
      const Expr& shape = param.buffer->shape[d];
      const std::optional<int64_t> extent = AsInt(shape);
      absl::StrAppend(&text, d > 0 ? ", " : "", extent ? absl::StrCat(*extent) : variables ? PrintExtent(shape) : "*");
    }
    absl::StrAppend(&text, "]");
  }
  return text + ")";
}

std::string EmitHeader(const Module& module, absl::Span<const Var> extents) {
  // The one header of an installation, or the one of the tree that it is made from.
  std::string text =
      absl::Substitute(R"(// Made by tilewright; how the functions are called: tilewright_abi.h of an installation, or
// codegen/abi/function_abi.h of the sources.
#pragma once

#if __has_include("tilewright_abi.h")
#include "tilewright_abi.h"
#else
#include "codegen/abi/function_abi.h"
#endif
#if TW_ABI_VERSION != $0
#error "this library has version $0 of the C interface of Tilewright's libraries, and the header found has another"
#endif

#ifdef __cplusplus
extern "C" {
#endif
)",
                       TW_ABI_VERSION);
  for (const Function& function : module.functions()) {
    absl::StrAppend(&text, "\n// ", ParameterList(function, !extents.empty()), "\nint ", CSymbol(function->name),
                    "(const TwCall* call, TwTensor* const* args, int32_t num_args);\n");
    absl::StrAppend(&text, WorkspaceFunction(function->name, extents));
  }
  return text + R"(
#ifdef __cplusplus
}
#endif
)";
}

}  // namespace tilewright
