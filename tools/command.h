// Commands of the tilewright program: `tilewright NAME OPERANDS FLAGS`.
//
// A command is data (what it is called, takes and does) and a function. Parsing of its arguments, `--help` and errors
// of usage are the same for all. To add one: write tools/command_NAME.cc with `Command NameCommand()`, declare it in
// tools/commands.h and add it to the table there.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

// Exit statuses.
inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;  // the input was refused; a diagnostic is on standard error
inline constexpr int kUsage = 2;

struct Flag {
  std::string_view name;   // "--format" or "-o"
  std::string_view value;  // what stands after '=' or in the next argument, for help: "PATH"; empty: a switch
  std::string_view help;
  bool repeated = false;
};

// What a command was called with.
class CommandArguments {
 public:
  CommandArguments(std::istream& in, std::ostream& out, std::ostream& err) : in_(&in), out_(&out), err_(&err) {}

  const std::vector<std::string>& operands() const { return operands_; }
  bool Has(std::string_view flag) const { return Get(flag).has_value(); }
  // The value of a flag; of one given several times the last.
  std::optional<std::string> Get(std::string_view flag) const;
  std::vector<std::string> GetAll(std::string_view flag) const;

  std::istream& in() const { return *in_; }
  std::ostream& out() const { return *out_; }  // results
  std::ostream& err() const { return *err_; }  // progress and diagnostics

 private:
  friend int RunCommandLine(const std::vector<std::string>& args, const std::vector<struct Command>& commands,
                            std::istream& in, std::ostream& out, std::ostream& err);
  std::vector<std::string> operands_;
  std::vector<std::pair<std::string, std::string>> flags_;
  std::istream* in_;
  std::ostream* out_;
  std::ostream* err_;
};

struct Command {
  std::string_view name;
  std::string_view operands;  // "FILE", "A B": one word each; in brackets what may be left out
  std::string_view summary;   // one line
  std::string_view details;   // more for --help; may be empty
  std::vector<Flag> flags;
  int (*run)(const CommandArguments& args);  // returns the exit status
};

// Runs the command that `args` (without the program's name) calls.
int RunCommandLine(const std::vector<std::string>& args, const std::vector<Command>& commands, std::istream& in,
                   std::ostream& out, std::ostream& err);

// Reports wrong usage that only the command itself can see; returns kUsage.
int UsageError(const CommandArguments& args, std::string_view command, std::string_view message);

}  // namespace tilewright
