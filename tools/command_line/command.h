// Commands of the tilewright program: `tilewright NAME OPERANDS FLAGS`.
//
// A command is data (what it is called, takes and does) and a function; its flags are rows of the table of flags
// (flag_table.h). Parsing of arguments, `--help`, and refusal of what a command does not use are the same for all.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/command_line/file_kind.h"

namespace tilewright {

inline constexpr std::string_view kVersion = "0.1.0";

// Exit statuses.
inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;  // the input was refused; a diagnostic is on standard error
inline constexpr int kUsage = 2;

// What a command was called with.
class CommandArguments {
 public:
  CommandArguments(std::istream& in, std::ostream& out, std::ostream& err) : in_(&in), out_(&out), err_(&err) {}

  std::string_view command() const { return command_; }
  const std::vector<std::string>& operands() const { return operands_; }
  bool Has(std::string_view flag) const { return Get(flag).has_value(); }
  // The value of a flag; of one given several times the last.
  std::optional<std::string> Get(std::string_view flag) const;
  std::vector<std::string> GetAll(std::string_view flag) const;
  // What the first operand is, for commands that take kinds of FILE.
  FileKind kind() const { return kind_; }

  // All of standard input, which is read once.
  std::string Input() const;
  // Texts of files that were read, by path: a pipe is read once. Null where that one was not.
  const std::string* FindText(const std::string& path) const;
  std::string KeepText(const std::string& path, std::string text) const;

  std::ostream& out() const { return *out_; }  // results
  std::ostream& err() const { return *err_; }  // progress and diagnostics

 private:
  friend class CommandLineParser;
  std::string_view command_;
  std::vector<std::string> operands_;
  std::vector<std::pair<std::string, std::string>> flags_;
  FileKind kind_ = FileKind::kProgram;
  mutable std::map<std::string, std::string> texts_;
  std::istream* in_;
  std::ostream* out_;
  std::ostream* err_;
};

struct Command {
  std::string_view name;
  std::string_view operands;  // "FILE", "A B": one word each; in brackets what may be left out
  std::string_view summary;   // one line
  std::string_view details;   // more for --help; may be empty
  Kinds takes = 0;            // kinds of FILE, for each operand; 0: the command looks at its operands itself
  int (*run)(const CommandArguments& args);  // returns the exit status
};

// The engine of a call of `run`: that of --engine, of --target, or the one that a flag implies.
std::string EngineOf(const CommandArguments& args, std::optional<FileKind> kind);

// Runs the command that `args` (without the program's name) calls.
int RunCommandLine(const std::vector<std::string>& args, const std::vector<Command>& commands, std::istream& in,
                   std::ostream& out, std::ostream& err);

// Reports wrong usage that only the command itself can see; returns kUsage.
int UsageError(const CommandArguments& args, std::string_view command, std::string_view message);

}  // namespace tilewright
