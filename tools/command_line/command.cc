#include "tools/command_line/command.h"

#include <algorithm>
#include <istream>
#include <iterator>
#include <ostream>

#include "base/nearest_names.h"
#include "tools/command_line/help.h"
#include "tools/command_line/man_page.h"
#include "tools/command_line/parse.h"
#include "tools/command_line/result_places.h"

namespace tilewright {
namespace {

// What is said of a command that there is not.
int UnknownCommand(const std::string& name, const std::vector<Command>& commands, std::ostream& err) {
  std::vector<std::string> names = {"help", "completion", "--version", "--help"};
  for (const Command& command : commands) names.emplace_back(command.name);
  std::string nearest = DidYouMean(name, names);
  if (name == "version" || name == "-v" || name == "-V") nearest = "; did you mean --version?";
  err << "tilewright: unknown command '" << name << "'" << nearest << (nearest.empty() ? "; see" : " See")
      << " tilewright --help\n";
  return kUsage;
}

const Command* Find(const std::string& name, const std::vector<Command>& commands) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

// `help [COMMAND]`, `completion SHELL`, `--version`: what is said of the commands. Nothing for a command's own name.
std::optional<int> RunGeneral(const std::vector<std::string>& args, const std::vector<Command>& commands,
                              std::ostream& out, std::ostream& err) {
  const std::string& first = args[0];
  const bool help = first == "--help" || first == "-h" || first == "help";
  if (!help && first != "--version" && first != "completion") return std::nullopt;
  const size_t most = first == "help" || first == "completion" ? 2 : 1;
  if (args.size() > most) {
    err << "tilewright " << first << ": unexpected operand " << args[most] << "; see tilewright --help\n";
    return kUsage;
  }
  if (first == "--version") {
    out << "tilewright " << kVersion << "\n";
  } else if (first == "completion") {
    const std::vector<std::string> shells = Shells();
    if (args.size() < 2 || std::ranges::find(shells, args[1]) == shells.end()) {
      err << "tilewright completion: SHELL is bash, zsh or fish"
          << (args.size() < 2 ? "" : ", not " + args[1] + DidYouMean(args[1], shells)) << "\n";
      return kUsage;
    }
    out << Completion(args[1], commands);
  } else if (args.size() < 2) {
    PrintCommands(commands, out);
  } else if (args[1] == "--man") {
    PrintManPage(commands, kVersion, out);
  } else if (const Command* command = Find(args[1], commands)) {
    PrintHelp(*command, out);
  } else {
    return UnknownCommand(args[1], commands, err);
  }
  return kDone;
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

std::string CommandArguments::Input() const {
  return std::string(std::istreambuf_iterator<char>(*in_), std::istreambuf_iterator<char>());
}

const std::string* CommandArguments::FindText(const std::string& path) const {
  const auto known = texts_.find(path);
  return known == texts_.end() ? nullptr : &known->second;
}

std::string CommandArguments::KeepText(const std::string& path, std::string text) const {
  return texts_.insert_or_assign(path, std::move(text)).first->second;
}

int UsageError(const CommandArguments& args, std::string_view command, std::string_view message) {
  args.err() << "tilewright " << command << ": " << message << (message.ends_with('?') ? " See" : "; see")
             << " tilewright " << command << " --help\n";
  return kUsage;
}

int RunCommandLine(const std::vector<std::string>& args, const std::vector<Command>& commands, std::istream& in,
                   std::ostream& out, std::ostream& err) {
  if (args.empty()) {
    PrintCommands(commands, err);
    return kUsage;
  }
  if (const std::optional<int> status = RunGeneral(args, commands, out, err)) return *status;
  const Command* command = Find(args[0], commands);
  if (command == nullptr) return UnknownCommand(args[0], commands, err);
  CommandArguments parsed(in, out, err);
  if (const std::optional<int> status = CommandLineParser(*command, &parsed).Parse(args)) return *status;
  if (const std::optional<std::string> place = UnwritablePlace(parsed)) {
    err << *place << "\n";
    return kRefused;
  }
  const int status = command->run(parsed);
  if (out.flush() || status != kDone) return status;
  err << "tilewright " << command->name << ": error: standard output cannot be written\n";
  return kRefused;
}

}  // namespace tilewright
