// From words to what a command is called with, by the table of flags.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/command_line/command.h"
#include "tools/command_line/flag_table.h"

namespace tilewright {

class CommandLineParser {
 public:
  // Fills `args`, which must outlive the parser.
  CommandLineParser(const Command& command, CommandArguments* args) : command_(command), args_(*args) {}

  // `words` begin with the command's name. Nothing when the command shall run; an exit status when help was printed, or
  // something was refused, which is reported.
  std::optional<int> Parse(const std::vector<std::string>& words);

 private:
  std::optional<int> ReadWords(const std::vector<std::string>& words);
  // The flag at words[*i]; moves to the last word that is part of it.
  std::optional<int> ReadFlag(const std::vector<std::string>& words, size_t* i);
  std::optional<int> CheckOperands() const;
  // What FILE is; an error where the command does not take that.
  std::optional<int> CheckKinds();
  // Whether the kind of FILE, the action and the other flags leave each flag a meaning.
  std::optional<int> CheckFlags(std::optional<FileKind> kind) const;
  std::optional<std::string> WhyUnused(const FlagRow& row, std::optional<FileKind> kind) const;
  std::string Unknown(const std::string& name) const;
  int Refuse(const std::string& message) const { return UsageError(args_, command_.name, message); }

  const Command& command_;
  CommandArguments& args_;
};

}  // namespace tilewright
