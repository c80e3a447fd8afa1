// A C function that carries an object: what TwFunction needs where code is not made for each function.
#pragma once

#include <functional>
#include <memory>

#include "codegen/abi/function_abi.h"

namespace tilewright {

// The function lives as long as the object.
class Closure {
 public:
  using Callable = std::function<int(const TwCall* call, TwTensor* const* args, int32_t num_args)>;
  explicit Closure(Callable callable);
  ~Closure();
  Closure(const Closure&) = delete;
  Closure& operator=(const Closure&) = delete;

  // Null where the system gives no executable memory.
  TwFunction function() const { return reinterpret_cast<TwFunction>(code_); }

 private:
  static int Enter(const TwCall* call, TwTensor* const* args, int32_t num_args, const Closure* self);

  const Callable callable_;
  void* code_ = nullptr;
};

}  // namespace tilewright
