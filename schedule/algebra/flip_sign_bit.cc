#include "schedule/algebra/flip_sign_bit.h"

#include <string>

#include "ir/builtin.h"
#include "schedule/program/change_storage.h"

namespace tilewright {
namespace {

constexpr const char* kName = "flip_sign_bit";

}  // namespace

Outcome<Function> FlipSignBit(const Function& function, uint32_t block, int write_index) {
  Outcome<Buffer> buffer = WrittenBuffer(kName, function, block, write_index);
  if (!buffer.ok()) return buffer.refusal();
  const DataType type = (*buffer)->dtype;
  if (type != DataType::Int(8)) {
    return Refusal{kName, "{text0} holds {text1}, no signed bytes", {block}, {}, {(*buffer)->name, type.ToString()}};
  }
  const DataType stored = DataType::UInt(8);
  constexpr int64_t kSignBit = 128;
  const auto flipped = [&](const Expr& e) { return Call(stored, std::string(kFlipSignBit), {e}); };
  return ChangeStorage(kName, function, block, *buffer,
                       {.dtype = stored,
                        .store = [&](const Expr& value) { return flipped(Call(stored, "reinterpret", {value})); },
                        .load =
                            [&](const Expr& element, DataType wanted) {
                              if (wanted.is_int() && wanted.bits() > 8)
                                return CastTo(wanted, element) - Const(wanted, kSignBit);
                              return CastTo(wanted, Call(type, "reinterpret", {flipped(element)}));
                            }});
}

}  // namespace tilewright
