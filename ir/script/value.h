// What an expression of a script stands for while it is read: more than the IR knows, since scripts compute with Python
// numbers, lists and names before an expression of the program comes out.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright::script {

struct Value;

struct None {};
// A Python integer. 128 bits hold every 64-bit literal, signed or not, and their sums.
using Integer = __int128;
struct List {
  std::vector<Value> items;
};
// T.env_thread("threadIdx.x"): becomes a loop variable when it is launched.
struct EnvThread {
  std::string tag;
};

// x: T.int32 that is assigned again, T.local_scalar(T.int32): a variable of the program, kept in a buffer of one
// element.
struct Cell {
  Buffer buffer;
};

struct Value {
  std::variant<None, bool, Integer, double, std::string, Expr, Buffer, List, EnvThread, Cell> data;

  template <class T>
  const T* As() const {
    return std::get_if<T>(&data);
  }
};

}  // namespace tilewright::script
