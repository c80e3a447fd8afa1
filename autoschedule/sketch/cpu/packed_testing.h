// What tests of packed products share: programs and schedules of them on the same integers, which leave no room for
// rounding.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autoschedule/program/choices.h"
#include "codegen/testing/equivalence.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"

namespace tilewright::testing {

// Rows of programs whose number is a symbol.
inline constexpr int64_t kSymbolicRows = 5;

// Writes the elements of a parameter.
using FillParameter = std::function<void(const Buffer&, const NDArray&)>;
using ArraysByName = std::map<std::string, NDArray>;

// Interprets a function on parameters that go by their names; those that are missing are made.
inline void InterpretByName(const Function& function, const FillParameter& fill, ArraysByName& arrays) {
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    const Buffer& buffer = param.buffer;
    std::vector<int64_t> shape;
    for (const Expr& extent : buffer->shape) shape.push_back(AsInt(extent).value_or(kSymbolicRows));
    NDArray array(buffer->dtype, std::move(shape));
    fill(buffer, array);
    arguments.push_back(arrays.emplace(buffer->name, std::move(array)).first->second);
  }
  absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->Run(arguments), absl::OkStatus());
}

// What is wrong with the schedule of a program, in the interpreter or as machine code. Empty for nothing.
inline std::string WhatIsWrong(const Function& program, const Module& scheduled, const FillParameter& fill) {
  ArraysByName expected, found;
  InterpretByName(program, fill, expected);
  if (const Function prepack = scheduled.Find("main_prepack")) InterpretByName(prepack, fill, found);
  InterpretByName(scheduled.Find("main"), fill, found);
  if (!BitEqual(expected.at("C"), found.at("C"))) return "C differs";
  return CompareWithInterpreter(scheduled, {.integers = 60, .variables = {kSymbolicRows}});
}

// The label that a choice was made by; empty where it was not made.
inline std::string_view Chosen(const Choices& choices, std::string_view name) {
  for (const Choice& choice : choices.made()) {
    if (choice.name == name) return choice.label();
  }
  return "";
}

}  // namespace tilewright::testing
