// A buffer holds its elements in another form: shared by the primitives that change the type of what is stored.
//
//   B[vi] = e                 B[vi] = store(e)
//   C[vi] = f(B[vi])    ->    C[vi] = f(load(B[vi]))
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct StorageForm {
  DataType dtype;  // of the elements as they are stored
  std::function<Expr(const Expr& value)> store;
  // `wanted`: the buffer's type, or what the element is converted to where it is used.
  std::function<Expr(const Expr& element, DataType wanted)> load;
};

// The buffer that the block's write region `write_index` is in.
Outcome<Buffer> WrittenBuffer(const char* primitive, const Function& function, uint32_t block, int write_index);

// The type that `dtype` names: float32 or float64, wider than the floating-point numbers in the buffer, which `block`
// writes.
Outcome<DataType> WiderFloat(const char* primitive, uint32_t block, const Buffer& buffer, std::string_view dtype);

// Parts of the buffer that blocks match change with it. Refused where no block allocates the buffer, which `block`
// writes, a part is matched as another type, a block takes the address of one of them, or vectors are accessed.
Outcome<Function> ChangeStorage(const char* primitive, const Function& function, uint32_t block, const Buffer& buffer,
                                const StorageForm& form);

}  // namespace tilewright
