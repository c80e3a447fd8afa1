#include "schedule/algebra/widen_buffer.h"

#include "base/status_macros.h"
#include "schedule/program/change_storage.h"

namespace tilewright {
namespace {

constexpr const char* kName = "widen_buffer";

}  // namespace

Outcome<Function> WidenBuffer(const Function& function, uint32_t block, int write_index, std::string_view dtype) {
  TW_ASSIGN_OR_RETURN(const Buffer buffer, WrittenBuffer(kName, function, block, write_index));
  TW_ASSIGN_OR_RETURN(const DataType wide, WiderFloat(kName, block, buffer, dtype));
  return ChangeStorage(kName, function, block, buffer,
                       {.dtype = wide,
                        .store = [&](const Expr& value) { return CastTo(wide, value); },
                        .load = [](const Expr& element, DataType wanted) { return CastTo(wanted, element); }});
}

}  // namespace tilewright
