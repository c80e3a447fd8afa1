// The table of flags: which ones each command takes, with which kinds of FILE, and what their values are.
//
// Parsing, refusals, `--help`, `help COMMAND` and completion are made from it. A flag that a command takes for a kind
// of FILE changes what the command does there; everywhere else it is refused by name. To add a flag, add its row here
// and read it in the command.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line/file_kind.h"

namespace tilewright {

// What the value of a flag is.
enum class ValueForm {
  kSwitch,     // none
  kText,       // anything but nothing
  kFile,       // the path of a file that is read
  kFolder,     // the path of a folder that is read
  kOut,        // the path of a file that is written
  kOutFolder,  // the path of a folder that files are written to, made where there is none
  kChoice,     // one of the words of `value`, "interp|llvm"
  kPositive,   // a number above 0
  kCount,      // a whole number above 0
  kNatural,    // a whole number from 0 on
  kLevel,      // 0 to 3
  kTarget,     // a target's name, or the path of its description
  kDim,        // NAME=N
  kDims,       // NAME=N,N,..., sizes above 0
  kDimSizes,   // NAME=N, a value, or NAME=N,N,..., sizes above 0
};

// What else there is to a flag; most have nothing.
struct FlagRules {
  bool repeated = false;
  std::string_view actions = "";  // of `db`: the actions that take it, "best export"
  // What else has to be given: "--against", or "--engine=llvm|cuda" (one of these values, the default one included).
  std::string_view needs = "";
  // What it needs is taken where neither that flag nor --target says otherwise.
  bool implies = false;
  // Flags that it cannot stand beside: "--db --as-is".
  std::string_view excludes = "";
  // The switch that makes a folder of what is written (kOut).
  std::string_view folder_with = "";
};

struct FlagRow {
  std::string_view command;
  std::string_view flag;   // "--format" or "-o"
  std::string_view value;  // as help shows it: "PATH"; empty for a switch
  ValueForm form = ValueForm::kSwitch;
  Kinds kinds = 0;  // with which kinds of FILE; 0 for commands that take none
  std::string_view help;
  FlagRules rules = {};
};

std::span<const FlagRow> FlagRows();
// The flags of one command, in the order in which help prints them.
std::vector<FlagRow> FlagsOf(std::string_view command);
// Null where the command does not have it.
const FlagRow* FindFlag(std::string_view command, std::string_view flag);

// The words of a text: "a b" and ' ' give "a", "b".
std::vector<std::string> WordsOf(std::string_view text, char separator);

}  // namespace tilewright
