#include "codegen/sized_sequence.h"

namespace tilewright {
namespace {

SizedSequence::Argument Sized(const CallSequence::Argument& argument) {
  SizedSequence::Argument sized{.memory = argument.memory, .at = Const(DataType::Int(64), argument.at)};
  for (const int64_t extent : argument.shape) sized.shape.push_back(Const(DataType::Int(64), extent));
  return sized;
}

}  // namespace

SizedSequence Sized(const CallSequence& sequence) {
  const auto number = [](int64_t value) { return Const(DataType::Int(64), value); };
  SizedSequence sized{.name = sequence.name,
                      .params = sequence.params,
                      .num_inputs = sequence.num_inputs,
                      .workspace_bytes = number(sequence.workspace_bytes),
                      .constants_file = sequence.constants_file,
                      .constants_bytes = sequence.constants_bytes};
  for (const CallSequence::Call& call : sequence.calls) {
    SizedSequence::Call result{.function = call.function, .workspace_bytes = call.workspace_bytes};
    for (const CallSequence::Argument& argument : call.arguments) result.arguments.push_back(Sized(argument));
    if (call.workspace_offset >= 0) result.workspace_offset = number(call.workspace_offset);
    sized.calls.push_back(std::move(result));
  }
  for (const CallSequence::Copy& copy : sequence.copies) {
    sized.copies.push_back({Sized(copy.from), copy.to, number(copy.bytes)});
  }
  return sized;
}

}  // namespace tilewright
