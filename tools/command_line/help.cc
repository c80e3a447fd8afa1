#include "tools/command_line/help.h"

#include <ostream>
#include <sstream>

#include "target/target.h"
#include "tools/command_line/flag_table.h"

namespace tilewright {
namespace {

// The least width of a column of names.
constexpr size_t kColumn = 24;

std::string Padded(std::string text) {
  if (text.size() < kColumn) text.resize(kColumn, ' ');
  return text;
}

std::string ShownFlag(const FlagRow& row) {
  std::string text(row.flag);
  if (!row.value.empty()) text += (row.flag.starts_with("--") ? "=" : " ") + std::string(row.value);
  return text;
}

// " (of an ONNX model)" where the command takes other kinds of FILE too.
std::string ForWhom(const FlagRow& row, const Command& command) {
  if (!row.rules.actions.empty()) return " (of " + std::string(row.rules.actions) + ")";
  return row.kinds == command.takes ? "" : " (of " + NamesOf(row.kinds) + ")";
}

// Words that a value may be.
std::vector<std::string> WordsFor(const FlagRow& row) {
  if (row.form == ValueForm::kChoice) return WordsOf(row.value, '|');
  if (row.form == ValueForm::kTarget) return TargetNames();
  if (row.form == ValueForm::kLevel) return {"0", "1", "2", "3"};
  return {};
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string NamesOfCommands(const std::vector<Command>& commands) {
  std::vector<std::string> names = {"help", "completion"};
  for (const Command& command : commands) names.emplace_back(command.name);
  return Joined(names);
}

std::string FlagNames(std::string_view command) {
  std::vector<std::string> names = {"--help"};
  for (const FlagRow& row : FlagsOf(command)) names.emplace_back(row.flag);
  return Joined(names);
}

// For bash, and for zsh, which runs the same functions after bashcompinit.
std::string ForBash(const std::vector<Command>& commands) {
  std::ostringstream out;
  out << "_tilewright() {\n"
      << "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" "
         "command=\"${COMP_WORDS[1]}\"\n"
      << "  local words=\"\"\n"
      << "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      << "    COMPREPLY=($(compgen -W \"" << NamesOfCommands(commands) << " --help --version\" -- \"$word\"))\n"
      << "    return\n  fi\n"
      << "  if [[ \"$word\" == \"=\" ]]; then word=\"\"; elif [[ \"$before\" == \"=\" ]]; then "
      << "before=\"${COMP_WORDS[COMP_CWORD-2]}\"; fi\n"
      << "  case \"$command $before\" in\n";
  for (const FlagRow& row : FlagRows()) {
    const std::vector<std::string> words = WordsFor(row);
    if (words.empty()) continue;
    out << "    \"" << row.command << " " << row.flag << "\") words=\"" << Joined(words) << "\" ;;\n";
  }
  out << "    \"completion completion\") words=\"" << Joined(Shells()) << "\" ;;\n"
      << "    *) if [[ \"$word\" == -* ]]; then case \"$command\" in\n";
  for (const Command& command : commands) {
    out << "      " << command.name << ") words=\"" << FlagNames(command.name) << "\" ;;\n";
  }
  out << "    esac; fi ;;\n  esac\n"
      << "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      << "  [[ -n \"$words\" ]] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
      << "}\ncomplete -o filenames -F _tilewright tilewright\n";
  return out.str();
}

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("\\'") : std::string(1, c);
  return quoted + "'";
}

std::string ForFish(const std::vector<Command>& commands) {
  std::ostringstream out;
  out << "complete -c tilewright -n __fish_use_subcommand -f -a '" << NamesOfCommands(commands) << "'\n";
  for (const Command& command : commands) {
    for (const FlagRow& row : FlagsOf(command.name)) {
      const bool is_long = row.flag.starts_with("--");
      out << "complete -c tilewright -n '__fish_seen_subcommand_from " << command.name << "' "
          << (is_long ? "-l " : "-s ") << row.flag.substr(is_long ? 2 : 1);
      const std::vector<std::string> words = WordsFor(row);
      if (row.form != ValueForm::kSwitch) out << " -r";
      if (!words.empty()) out << " -f -a '" << Joined(words) << "'";
      out << " -d " << Quoted(row.help) << "\n";
    }
  }
  out << "complete -c tilewright -n '__fish_seen_subcommand_from completion' -f -a '" << Joined(Shells()) << "'\n";
  return out.str();
}

}  // namespace

void PrintCommands(const std::vector<Command>& commands, std::ostream& out) {
  out << "tilewright COMMAND ...\n\ncommands:\n";
  for (const Command& command : commands) {
    out << "  " << Padded(std::string(command.name) + " " + std::string(command.operands)) << " " << command.summary
        << "\n";
  }
  out << "  " << Padded("help [COMMAND]") << " says more about a command; --man prints the man page\n"
      << "  " << Padded("completion SHELL") << " prints a script that completes commands and flags: bash, zsh or fish\n"
      << "\n`tilewright COMMAND --help` says more. FILE may be - for standard input.\n"
      << "Exit status: 0 done, 1 the input was refused, 2 wrong usage.\n";
}

void PrintHelp(const Command& command, std::ostream& out) {
  const std::vector<FlagRow> rows = FlagsOf(command.name);
  out << "tilewright " << command.name;
  if (!command.operands.empty()) out << " " << command.operands;
  out << (rows.empty() ? "" : " [flags]") << "\n  " << command.summary << "\n";
  if (!command.details.empty()) out << "\n" << command.details << "\n";
  if (command.takes != 0) out << "\nFILE is " << NamesOf(command.takes) << ".\n";
  if (!rows.empty()) out << "\nflags:\n";
  for (const FlagRow& row : rows) {
    out << "  " << Padded(ShownFlag(row)) << " " << row.help << ForWhom(row, command)
        << (row.rules.repeated ? " (may be repeated)" : "") << "\n";
  }
}

std::vector<std::string> Shells() { return {"bash", "zsh", "fish"}; }

std::string Completion(std::string_view shell, const std::vector<Command>& commands) {
  if (shell == "fish") return ForFish(commands);
  const std::string bash = ForBash(commands);
  return shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" + bash : bash;
}

}  // namespace tilewright
