// Whether a flag's value is of the form that the table says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "target/target.h"
#include "tools/command_line/flag_table.h"

namespace tilewright {

// What is wrong with the value: "--seconds must be a positive number, got 0". Nothing where it is good. Whether files
// exist is for the command to see.
std::optional<std::string> WrongValue(const FlagRow& row, const std::string& value);

// NAME=N or NAME=N,N,... with numbers from 0 on; nothing for another text.
std::optional<std::pair<std::string, std::vector<int64_t>>> ReadDim(const std::string& text);

// The engine that runs code for a target where --engine does not say it. Programs: the interpreter without a target,
// the emulator for GPUs. Models: compiled code, on the GPU itself.
std::string EngineFor(const std::optional<std::string>& target, std::optional<FileKind> kind = FileKind::kProgram);

}  // namespace tilewright
