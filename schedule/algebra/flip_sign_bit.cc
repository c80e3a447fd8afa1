#include "schedule/algebra/flip_sign_bit.h"

#include <string>

#include "base/status_macros.h"
#include "ir/builtin.h"
#include "schedule/program/change_storage.h"

namespace tilewright {
namespace {

constexpr const char* kName = "flip_sign_bit";

}  // namespace

Outcome<Function> FlipSignBit(const Function& function, uint32_t block, int write_index) {
  TW_ASSIGN_OR_RETURN(Buffer buffer, WrittenBuffer(kName, function, block, write_index));
  const DataType type = buffer->dtype;
  if (type.with_lanes(1) != type || type.bits() != 8 || !(type.is_int() || type.is_uint())) {
    return Refusal{kName, "{text0} holds {text1}, no bytes", {block}, {}, {buffer->name, type.ToString()}};
  }
  const DataType stored = type.is_int() ? DataType::UInt(8) : DataType::Int(8);
  // What flipping makes of zero.
  const int64_t added = WithSignBitFlipped(0, 8, stored.is_int());
  const auto flipped = [&](const Expr& e) { return Call(stored, std::string(kFlipSignBit), {e}); };
  return ChangeStorage(kName, function, block, buffer,
                       {.dtype = stored,
                        .store = [&](const Expr& value) { return flipped(Call(stored, "reinterpret", {value})); },
                        .load =
                            [&](const Expr& element, DataType wanted) {
                              if (wanted.is_int() && wanted.bits() > 8)
                                return CastTo(wanted, element) - Const(wanted, added);
                              return CastTo(wanted, Call(type, "reinterpret", {flipped(element)}));
                            }});
}

}  // namespace tilewright
