#include "tools/command_line/parse.h"

#include <algorithm>
#include <ostream>

#include "base/nearest_names.h"
#include "tools/command_line/flag_value.h"
#include "tools/command_line/help.h"
#include "tools/command_line/input_text.h"

namespace tilewright {

std::string EngineOf(const CommandArguments& args, std::optional<FileKind> kind) {
  if (const auto named = args.Get("--engine")) return *named;
  const auto target = args.Get("--target");
  constexpr std::string_view kEngine = "--engine=";
  for (const FlagRow& row : FlagRows()) {
    const bool given = !target && row.command == args.command() && args.Has(row.flag);
    if (given && row.rules.implies && row.rules.needs.starts_with(kEngine)) {
      return std::string(row.rules.needs.substr(kEngine.size()));
    }
  }
  return EngineFor(target, kind);
}

std::optional<int> CommandLineParser::Parse(const std::vector<std::string>& words) {
  args_.command_ = command_.name;
  if (const auto status = ReadWords(words)) return status;
  if (const auto status = CheckOperands()) return status;
  return command_.takes != 0 ? CheckKinds() : CheckFlags(std::nullopt);
}

std::optional<int> CommandLineParser::ReadWords(const std::vector<std::string>& words) {
  bool only_operands = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (only_operands || word.size() < 2 || word[0] != '-') {
      args_.operands_.push_back(word);
    } else if (word == "--") {
      only_operands = true;
    } else if (word == "--help" || word == "-h") {
      PrintHelp(command_, args_.out());
      return kDone;
    } else if (const auto status = ReadFlag(words, &i)) {
      return status;
    }
  }
  return std::nullopt;
}

std::optional<int> CommandLineParser::ReadFlag(const std::vector<std::string>& words, size_t* i) {
  const std::string& word = words[*i];
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const FlagRow* row = FindFlag(command_.name, name);
  if (row == nullptr) return Refuse(Unknown(name));
  std::string value;
  if (equals != word.npos) {
    value = word.substr(equals + 1);
    if (row->form == ValueForm::kSwitch) return Refuse(name + " takes no value");
  } else if (row->form != ValueForm::kSwitch) {
    if (*i + 1 >= words.size()) return Refuse(name + " needs a value");
    value = words[++*i];
  }
  if (!row->rules.repeated && args_.Has(name)) return Refuse(name + " is given twice");
  if (const auto wrong = WrongValue(*row, value)) return Refuse(*wrong);
  const bool is_dim =
      row->form == ValueForm::kDim || row->form == ValueForm::kDims || row->form == ValueForm::kDimSizes;
  if (const auto dim = ReadDim(value); dim && is_dim) {
    for (const std::string& other : args_.GetAll(name)) {
      if (ReadDim(other)->first == dim->first) return Refuse(name + " gives " + dim->first + " twice");
    }
  }
  args_.flags_.emplace_back(name, std::move(value));
  return std::nullopt;
}

std::string CommandLineParser::Unknown(const std::string& name) const {
  std::vector<std::string> own, elsewhere;
  for (const FlagRow& row : FlagRows()) {
    if (row.command == command_.name) own.emplace_back(row.flag);
    if (row.flag == name) elsewhere.emplace_back(row.command);
  }
  std::string text = "unknown flag " + name;
  if (elsewhere.empty()) return text + DidYouMean(name, own);
  for (size_t i = 0; i < elsewhere.size(); ++i) text += (i == 0 ? ", which is one of " : ", ") + elsewhere[i];
  return text + ", not of " + std::string(command_.name);
}

std::optional<int> CommandLineParser::CheckOperands() const {
  const std::vector<std::string> names = WordsOf(command_.operands, ' ');
  const auto required =
      static_cast<size_t>(std::ranges::count_if(names, [](const std::string& name) { return name[0] != '['; }));
  const std::vector<std::string>& operands = args_.operands();
  if (operands.size() < required) return Refuse(names[operands.size()] + " is missing");
  if (operands.size() > names.size()) return Refuse("unexpected operand " + operands[names.size()]);
  return std::nullopt;
}

std::optional<int> CommandLineParser::CheckKinds() {
  for (size_t i = args_.operands().size(); i-- > 0;) {
    const std::string& path = args_.operands()[i];
    std::optional<FileKind> kind;
    if (IsModelPath(path)) {
      kind = FileKind::kModel;
    } else if (const std::optional<std::string> text = ReadSource(args_, path)) {
      kind = KindOf(path, *text);
    } else {
      return kRefused;
    }
    args_.kind_ = *kind;
    if (const auto status = CheckFlags(kind)) return status;
    if (kind == FileKind::kModel && !MayBeModel(args_, path)) return kRefused;
    if ((command_.takes & Bit(*kind)) != 0) continue;
    args_.err() << path << ": error: this is " << NameOf(*kind) << ", and " << command_.name << " takes "
                << NamesOf(command_.takes) << "\n";
    return kRefused;
  }
  return std::nullopt;
}

std::optional<int> CommandLineParser::CheckFlags(std::optional<FileKind> kind) const {
  for (const auto& [name, value] : args_.flags_) {
    const FlagRow& row = *FindFlag(command_.name, name);
    if (const auto why = WhyUnused(row, kind)) return Refuse(*why);
  }
  return std::nullopt;
}

std::optional<std::string> CommandLineParser::WhyUnused(const FlagRow& row, std::optional<FileKind> kind) const {
  const std::string name(row.flag), command(command_.name);
  if (kind && (row.kinds & Bit(*kind)) == 0) {
    return name + " of " + command + " is for " + NamesOf(row.kinds) + ", and FILE is " + std::string(NameOf(*kind));
  }
  if (!row.rules.actions.empty()) {
    const std::vector<std::string> actions = WordsOf(row.rules.actions, ' ');
    const std::string& action = args_.operands()[0];
    if (std::ranges::find(actions, action) == actions.end()) {
      return name + " of " + command + " is for " + std::string(row.rules.actions) + ", not for " + action;
    }
  }
  for (const std::string& other : WordsOf(row.rules.excludes, ' ')) {
    if (args_.Has(other)) return name + " and " + other + " exclude each other";
  }
  if (row.rules.needs.empty()) return std::nullopt;
  const std::string needed(row.rules.needs.substr(0, row.rules.needs.find('=')));
  if (needed == row.rules.needs) {
    return args_.Has(needed) ? std::nullopt : std::optional(name + " has no effect without " + needed);
  }
  // Kinds without that flag have what it would say.
  if (kind && (FindFlag(command, needed)->kinds & Bit(*kind)) == 0) return std::nullopt;
  const std::vector<std::string> values = WordsOf(row.rules.needs.substr(needed.size() + 1), '|');
  const std::string value = EngineOf(args_, kind);
  if (std::ranges::find(values, value) != values.end()) return std::nullopt;
  return name + " of " + command + " has no effect with " + needed + "=" + value + ", only with " +
         std::string(row.rules.needs);
}

}  // namespace tilewright
