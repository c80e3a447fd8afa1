// What the interpreter's tests share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/status_macros.h"
#include "ir/builder.h"
#include "ir/interp/interp.h"

namespace tilewright::interp {

inline constexpr DataType kF32 = DataType::Float(32);
inline constexpr DataType kI32 = DataType::Int(32);

// Compiles and runs once, with every detector unless said.
inline absl::Status RunOnce(const Function& function, std::initializer_list<Argument> arguments,
                            const CompileOptions& options = CompileOptions::AllChecks(), const RunOptions& run = {}) {
  TW_ASSIGN_OR_RETURN(Program program, Compile(function, options));
  return program.Run(arguments, run);
}

// "CODE: message"
inline std::string Text(const absl::Status& status) { return status.ToString(); }

inline Argument Uninitialized(const NDArray& array) {
  Argument argument(array);
  argument.uninitialized = true;
  return argument;
}

// The value of an expression over a parameter-free program that stores it.
inline absl::StatusOr<NDArray> ValueOf(const Expr& value, const CompileOptions& options = CompileOptions::AllChecks()) {
  FunctionBuilder f;
  const int lanes = value.dtype().lanes();
  Buffer out = f.Input("out", {lanes}, value.dtype().element());
  f.Store(out, value, {lanes == 1 ? Expr(0) : Ramp(0, 1, lanes)});
  NDArray array(value.dtype().element(), {lanes});
  TW_RETURN_IF_ERROR(RunOnce(f.Build(), {array}, options));
  return array;
}

}  // namespace tilewright::interp
