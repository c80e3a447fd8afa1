// Command lines, drawn: right ones, and ones with flags, values, files and names that cannot be right.
//
//   const CommandLineFiles files(folder);
//   const std::vector<std::string> words = DrawCommandLine(files, seed);
//   if (auto fault = JudgeCommandLine(words)) std::cerr << *fault;
//
// A command line ends with status 2 and a sentence that names the command and a word of the line, with status 1 and a
// diagnostic, or with status 0 and the effect of each of its flags.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/command_line/file_kind.h"

namespace tilewright {

// One small file of each kind in a folder, and arrays for them.
struct CommandLineFiles {
  explicit CommandLineFiles(const std::string& folder);
  std::string folder;
  std::map<FileKind, std::string> of_kind;
  std::string inputs, misnamed_inputs;  // folders of X.npy and of Z.npy
};

std::vector<std::string> DrawCommandLine(const CommandLineFiles& files, uint64_t seed);

// What is wrong with what the command line did; nothing where all is well.
std::optional<std::string> JudgeCommandLine(const std::vector<std::string>& words);

// The same for `count` seeds; each fault with the seed and the words, at most `most`.
std::vector<std::string> FindFaults(const CommandLineFiles& files, uint64_t first_seed, int64_t count,
                                    size_t most = 10);

}  // namespace tilewright
