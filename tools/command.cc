#include "tools/command.h"

#include <algorithm>
#include <ostream>
#include <sstream>

namespace tilewright {
namespace {

std::vector<std::string> OperandNames(const Command& command) {
  std::istringstream words{std::string(command.operands)};
  std::vector<std::string> names;
  for (std::string word; words >> word;) names.push_back(word);
  return names;
}

void PrintHelp(const Command& command, std::ostream& out) {
  out << "tilewright " << command.name;
  if (!command.operands.empty()) out << " " << command.operands;
  out << (command.flags.empty() ? "" : " [flags]") << "\n  " << command.summary << "\n";
  if (!command.details.empty()) out << "\n" << command.details << "\n";
  if (!command.flags.empty()) out << "\nflags:\n";
  for (const Flag& flag : command.flags) {
    std::string left(flag.name);
    if (!flag.value.empty()) left += (flag.name.substr(0, 2) == "--" ? "=" : " ") + std::string(flag.value);
    if (left.size() < 24) left.resize(24, ' ');
    out << "  " << left << " " << flag.help << (flag.repeated ? " (may be repeated)" : "") << "\n";
  }
}

void PrintCommands(const std::vector<Command>& commands, std::ostream& out) {
  out << "tilewright COMMAND ...\n\ncommands:\n";
  for (const Command& command : commands) {
    std::string left = std::string(command.name) + " " + std::string(command.operands);
    if (left.size() < 24) left.resize(24, ' ');
    out << "  " << left << " " << command.summary << "\n";
  }
  out << "\n`tilewright COMMAND --help` says more. FILE may be - for standard input.\n"
      << "Exit status: 0 done, 1 the input was refused, 2 wrong usage.\n";
}

}  // namespace

std::optional<std::string> CommandArguments::Get(std::string_view flag) const {
  std::vector<std::string> all = GetAll(flag);
  if (all.empty()) return std::nullopt;
  return all.back();
}

std::vector<std::string> CommandArguments::GetAll(std::string_view flag) const {
  std::vector<std::string> values;
  for (const auto& [name, value] : flags_) {
    if (name == flag) values.push_back(value);
  }
  return values;
}

int UsageError(const CommandArguments& args, std::string_view command, std::string_view message) {
  args.err() << "tilewright " << command << ": " << message << "; see tilewright " << command << " --help\n";
  return kUsage;
}

int RunCommandLine(const std::vector<std::string>& args, const std::vector<Command>& commands, std::istream& in,
                   std::ostream& out, std::ostream& err) {
  if (args.empty()) {
    PrintCommands(commands, err);
    return kUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintCommands(commands, out);
    return kDone;
  }
  auto command = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == args[0]; });
  if (command == commands.end()) {
    err << "tilewright: unknown command '" << args[0] << "'; see tilewright --help\n";
    return kUsage;
  }
  CommandArguments parsed(in, out, err);
  bool only_operands = false;
  for (size_t i = 1; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (only_operands || arg.size() < 2 || arg[0] != '-') {
      parsed.operands_.push_back(arg);
      continue;
    }
    if (arg == "--") {
      only_operands = true;
      continue;
    }
    if (arg == "--help" || arg == "-h") {
      PrintHelp(*command, out);
      return kDone;
    }
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    auto flag =
        std::find_if(command->flags.begin(), command->flags.end(), [&](const Flag& f) { return f.name == name; });
    if (flag == command->flags.end()) return UsageError(parsed, command->name, "unknown flag " + name);
    std::string value;
    if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
      if (flag->value.empty()) return UsageError(parsed, command->name, name + " takes no value");
    } else if (!flag->value.empty()) {
      if (i + 1 >= args.size()) return UsageError(parsed, command->name, name + " needs a value");
      value = args[++i];
    }
    if (!flag->repeated && parsed.Has(name)) return UsageError(parsed, command->name, name + " is given twice");
    parsed.flags_.emplace_back(name, std::move(value));
  }
  const std::vector<std::string> names = OperandNames(*command);
  const auto required = static_cast<size_t>(
      std::count_if(names.begin(), names.end(), [](const std::string& name) { return name[0] != '['; }));
  if (parsed.operands_.size() < required) {
    return UsageError(parsed, command->name, names[parsed.operands_.size()] + " is missing");
  }
  if (parsed.operands_.size() > names.size()) {
    return UsageError(parsed, command->name, "unexpected operand " + parsed.operands_[names.size()]);
  }
  const int status = command->run(parsed);
  if (out.flush() || status != kDone) return status;
  err << "tilewright " << command->name << ": error: standard output cannot be written\n";
  return kRefused;
}

}  // namespace tilewright
