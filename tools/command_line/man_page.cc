#include "tools/command_line/man_page.h"

#include <ostream>
#include <string>

#include "tools/command_line/flag_table.h"

namespace tilewright {
namespace {

// Text that man shows as it is: backslashes and hyphens have other meanings, and so has a dot that begins a line.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

// A term and what it means.
void Entry(std::ostream& out, std::string_view bold, std::string_view rest, const std::string& text) {
  out << ".TP\n\\fB" << Escaped(bold) << "\\fR" << (rest.empty() ? "" : "\\fI" + Escaped(rest) + "\\fR") << "\n"
      << Escaped(text) << "\n";
}

void PrintFlag(const FlagRow& row, const Command& command, std::ostream& out) {
  const std::string separator = row.flag.starts_with("--") ? "=" : " ";
  std::string text(row.help);
  if (!row.rules.actions.empty()) text += " (of " + std::string(row.rules.actions) + ")";
  if (row.rules.actions.empty() && row.kinds != command.takes) text += " (of " + NamesOf(row.kinds) + ")";
  if (row.rules.repeated) text += " (may be repeated)";
  Entry(out, row.flag, row.value.empty() ? "" : separator + std::string(row.value), text);
}

void PrintCommand(const Command& command, std::ostream& out) {
  out << ".SS \"" << Escaped(command.name);
  if (!command.operands.empty()) out << " " << Escaped(command.operands);
  out << "\"\n" << Escaped(std::string(command.summary) + ".") << "\n";
  if (!command.details.empty()) out << ".PP\n" << Escaped(command.details) << "\n";
  if (command.takes != 0) out << ".PP\n" << Escaped("FILE is " + NamesOf(command.takes) + ".") << "\n";
  for (const FlagRow& row : FlagsOf(command.name)) PrintFlag(row, command, out);
}

}  // namespace

void PrintManPage(const std::vector<Command>& commands, std::string_view version, std::ostream& out) {
  out << ".TH TILEWRIGHT 1 \"\" \"tilewright " << Escaped(version) << "\" \"User Commands\"\n"
      << ".SH NAME\ntilewright \\- tensor programs: checked, scheduled, tuned, compiled\n"
      << ".SH SYNOPSIS\n\\fBtilewright\\fR \\fICOMMAND\\fR ...\n"
      << ".SH DESCRIPTION\n"
      << Escaped(
             "FILE may be - for standard input. Results go to standard output, progress and diagnostics to "
             "standard error.")
      << "\n.SH COMMANDS\n";
  for (const Command& command : commands) PrintCommand(command, out);
  out << ".SS \"help [COMMAND]\"\nsays more about a command.\n"
      << ".SS \"completion SHELL\"\n"
      << "prints a script that completes commands and flags: bash, zsh or fish.\n"
      << ".SH EXIT STATUS\n";
  Entry(out, "0", "", "done");
  Entry(out, "1", "", "the input was refused; a diagnostic is on standard error");
  Entry(out, "2", "", "wrong usage");
  out << ".SH ENVIRONMENT\n";
  Entry(out, "TILEWRIGHT_KERNEL_CACHE", "",
        "folder of compiled kernels, ~/.cache/tilewright/kernels by default; off: none are kept");
  Entry(out, "TILEWRIGHT_PERF_MAP", "", "1: compiled code is listed in /tmp/perf-PID.map, where perf finds its names");
  Entry(out, "TILEWRIGHT_WORKERS", "", "folder of the worker programs, that of tilewright by default");
}

}  // namespace tilewright
