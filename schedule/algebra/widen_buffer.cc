#include "schedule/algebra/widen_buffer.h"

#include "base/status_macros.h"
#include "schedule/program/change_storage.h"

namespace tilewright {
namespace {

constexpr const char* kName = "widen_buffer";

// The type that `dtype` names, which holds all numbers that the buffer can hold.
Outcome<DataType> Wider(uint32_t block, const Buffer& buffer, std::string_view dtype) {
  const DataType narrow = buffer->dtype;
  if (!narrow.is_int() && !narrow.is_uint()) return WiderFloat(kName, block, buffer, dtype);
  const std::optional<DataType> wide = DataType::Parse(dtype);
  const bool holds = wide && wide->is_scalar() && wide->bits() > narrow.bits() &&
                     (wide->is_int() || (wide->is_uint() && narrow.is_uint()));
  if (holds) return *wide;
  return Refusal{kName,
                 "{text0}, which {block0} writes, does not hold integers of fewer bits, all of which \"{text1}\" holds",
                 {block},
                 {},
                 {buffer->name, std::string(dtype)}};
}

}  // namespace

Outcome<Function> WidenBuffer(const Function& function, uint32_t block, int write_index, std::string_view dtype) {
  TW_ASSIGN_OR_RETURN(const Buffer buffer, WrittenBuffer(kName, function, block, write_index));
  TW_ASSIGN_OR_RETURN(const DataType wide, Wider(block, buffer, dtype));
  return ChangeStorage(kName, function, block, buffer,
                       {.dtype = wide,
                        .store = [&](const Expr& value) { return CastTo(wide, value); },
                        .load = [](const Expr& element, DataType wanted) { return CastTo(wanted, element); }});
}

}  // namespace tilewright
