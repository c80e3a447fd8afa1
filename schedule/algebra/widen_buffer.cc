#include "schedule/algebra/widen_buffer.h"

#include "schedule/program/change_storage.h"

namespace tilewright {
namespace {

constexpr const char* kName = "widen_buffer";

}  // namespace

Outcome<Function> WidenBuffer(const Function& function, uint32_t block, int write_index, std::string_view dtype) {
  const Outcome<Buffer> buffer = WrittenBuffer(kName, function, block, write_index);
  if (!buffer.ok()) return buffer.refusal();
  const Outcome<DataType> wide = WiderFloat(kName, block, *buffer, dtype);
  if (!wide.ok()) return wide.refusal();
  return ChangeStorage(kName, function, block, *buffer,
                       {.dtype = *wide,
                        .store = [&](const Expr& value) { return CastTo(*wide, value); },
                        .load = [](const Expr& element, DataType wanted) { return CastTo(wanted, element); }});
}

}  // namespace tilewright
