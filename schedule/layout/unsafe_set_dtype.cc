#include "schedule/layout/unsafe_set_dtype.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "schedule/program/change_storage.h"

namespace tilewright {
namespace {

constexpr const char* kName = "unsafe_set_dtype";

}  // namespace

Outcome<Function> UnsafeSetDtype(const Function& function, uint32_t block_id, int write_index, std::string_view text) {
  TW_ASSIGN_OR_RETURN(Buffer buffer, WrittenBuffer(kName, function, block_id, write_index));
  const std::optional<DataType> dtype = DataType::Parse(text);
  if (!dtype || !dtype->is_scalar() || !(dtype->is_integer() || dtype->is_float() || dtype->is_bool())) {
    return Refusal{kName, "\"{text0}\" is not a type of numbers", {block_id}, {}, {std::string(text)}};
  }
  const DataType from = buffer->dtype;
  if (from == *dtype) return function;
  return ChangeStorage(
      kName, function, block_id, buffer,
      {.dtype = *dtype,
       .store = [&](const Expr& value) { return Expr(new CastNode(*dtype, value)); },
       .load = [&](const Expr& element, DataType wanted) { return CastTo(wanted, CastTo(from, element)); }});
}

}  // namespace tilewright
