#include "codegen/abi/c_header.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "codegen/abi/c_symbol.h"

namespace tilewright {

std::string EmitHeader(const Module& module) {
  std::string text = R"(// Made by tilewright; how the functions are called: codegen/abi/function_abi.h.
#pragma once

#include "codegen/abi/function_abi.h"

#ifdef __cplusplus
extern "C" {
#endif
)";
  for (const Function& function : module.functions()) {
    absl::StrAppend(&text, "\n// (");
    const char* separator = "";
    for (const Param& param : function->params) {
      absl::StrAppend(&text, separator, param.buffer ? param.buffer->name : param.var.name(), ": ",
                      (param.buffer ? param.buffer->dtype : param.var.dtype()).ToString());
      if (param.buffer) {
        absl::StrAppend(&text, "[");
        for (size_t d = 0; d < param.buffer->ndim(); ++d) {
          const std::optional<int64_t> extent = AsInt(param.buffer->shape[d]);
          absl::StrAppend(&text, d > 0 ? ", " : "", extent ? absl::StrCat(*extent) : "*");
        }
        absl::StrAppend(&text, "]");
      }
      separator = ", ";
    }
    absl::StrAppend(&text, ")\nint ", CSymbol(function->name),
                    "(const TwCall* call, TwTensor* const* args, int32_t num_args);\n");
    absl::StrAppend(&text, "int64_t ", function->name, "_workspace_bytes(void);\n");
  }
  return text + R"(
#ifdef __cplusplus
}
#endif
)";
}

}  // namespace tilewright
