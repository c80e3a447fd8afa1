#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "codegen/foreign/ptx/instruction.h"
#include "codegen/foreign/ptx/program.h"

namespace tilewright::foreign::ptx {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n\r") - begin + 1);
}

const std::vector<Row>& Rows() {
  static const auto* const rows = [] {
    auto* all = new std::vector<Row>;
    for (const auto& part : {ArithmeticRows(), MemoryRows(), WarpRows(), CopyRows(), WgmmaRows()}) {
      all->insert(all->end(), part.begin(), part.end());
    }
    return all;
  }();
  return *rows;
}

// The row with the longest prefix.
const Row* FindRow(const std::string& name) {
  const Row* best = nullptr;
  for (const Row& row : Rows()) {
    const bool begins =
        name.starts_with(row.prefix) && (name.size() == row.prefix.size() || name[row.prefix.size()] == '.' ||
                                         name.substr(row.prefix.size()).starts_with("::"));
    if (begins && (best == nullptr || row.prefix.size() > best->prefix.size())) best = &row;
  }
  return best;
}

std::string WithoutComments(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") {
      while (i < text.size() && text[i] != '\n') ++i;
      result += ' ';
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 1;
      result += ' ';
    } else {
      result += text[i];
    }
  }
  return result;
}

// "a, {b, c}, [d]" at the commas outside of brackets.
std::vector<std::string> SplitOperands(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back(Trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!Trimmed(part).empty()) parts.emplace_back(Trimmed(part));
  return parts;
}

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

}  // namespace

class Parser {
 public:
  Parser(std::string text, size_t operands) : text_(std::move(text)), program_(std::make_unique<Program>()) {
    program_->operands_ = operands;
  }

  absl::StatusOr<std::unique_ptr<Program>> Parse();

 private:
  absl::Status Statement(std::string statement);
  absl::Status Declaration(std::string_view statement);
  absl::Status ReadInstruction(std::string_view statement);
  absl::Status Finish(Instruction& instruction);
  absl::StatusOr<Operand> ReadOperand(std::string_view text);
  absl::StatusOr<Operand> ReadParts(std::string_view text, Operand::Kind kind);
  absl::StatusOr<Operand> ReadNumber(std::string_view text);
  absl::Status Link();

  std::string text_;
  std::unique_ptr<Program> program_;
  std::map<std::string, int, std::less<>> registers_;
  std::map<std::string, int, std::less<>> labels_;
};

// Statements end at ';', labels at ':', and blocks are braces that begin where a statement would.
absl::StatusOr<std::unique_ptr<Program>> Parser::Parse() {
  std::string statement;
  for (size_t i = 0; i < text_.size(); ++i) {
    const char c = text_[i];
    const bool empty = Trimmed(statement).empty();
    if ((c == '{' || c == '}') && empty) {
      statement.clear();
    } else if (c == ';') {
      TW_RETURN_IF_ERROR(Statement(std::exchange(statement, {})));
    } else if (c == ':' && i + 1 < text_.size() && text_[i + 1] == ':') {
      statement += "::";
      ++i;
    } else if (c == ':') {
      labels_[std::string(Trimmed(statement))] = static_cast<int>(program_->instructions_.size());
      statement.clear();
    } else {
      statement += c;
    }
  }
  TW_RETURN_IF_ERROR(Statement(std::move(statement)));
  TW_RETURN_IF_ERROR(Link());
  program_->locals_ = registers_.size();
  return std::move(program_);
}

absl::Status Parser::Statement(std::string statement) {
  const std::string_view text = Trimmed(statement);
  if (text.empty()) return absl::OkStatus();
  if (text[0] == '.') return Declaration(text);
  return ReadInstruction(text);
}

// ".reg .b32 a, b;", ".reg .f32 r<4>;"
absl::Status Parser::Declaration(std::string_view statement) {
  if (!statement.starts_with(".reg")) {
    return absl::UnimplementedError(
        absl::StrCat("inline PTX: the declaration \"", std::string(statement), "\" is not known"));
  }
  const size_t type = statement.find('.', 1);
  const size_t space = statement.find_first_of(" \t\n", type);
  if (type == std::string_view::npos || space == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("inline PTX: the declaration \"", std::string(statement), "\" has no names"));
  }
  for (const std::string& name : SplitOperands(statement.substr(space))) {
    const size_t bracket = name.find('<');
    int count = 1;
    if (bracket != std::string::npos) count = std::atoi(name.c_str() + bracket + 1);
    for (int i = 0; i < count; ++i) {
      if (registers_.size() >= Frame::kMostLocals) {
        return absl::UnimplementedError("inline PTX: more registers than 96 in one statement");
      }
      const std::string full = bracket == std::string::npos ? name : absl::StrCat(name.substr(0, bracket), i);
      registers_.try_emplace(full, static_cast<int>(program_->operands_ + registers_.size()));
    }
  }
  return absl::OkStatus();
}

absl::Status Parser::ReadInstruction(std::string_view statement) {
  Instruction instruction;
  if (statement[0] == '@') {
    size_t end = 1;
    instruction.guard_negated = statement.size() > 1 && statement[1] == '!';
    if (instruction.guard_negated) ++end;
    const size_t begin = end;
    while (end < statement.size() && IsWord(statement[end])) ++end;
    TW_ASSIGN_OR_RETURN(const Operand guard, ReadOperand(statement.substr(begin, end - begin)));
    instruction.guard = guard.index;
    statement = Trimmed(statement.substr(end));
  }
  size_t end = 0;
  while (end < statement.size() && !std::isspace(static_cast<unsigned char>(statement[end]))) ++end;
  instruction.name = std::string(statement.substr(0, end));
  instruction.words = absl::StrSplit(instruction.name, '.');
  const std::string_view rest = Trimmed(statement.substr(end));
  if (instruction.words[0] == "bra") {
    instruction.label = std::string(rest);
    program_->instructions_.push_back(std::move(instruction));
    return absl::OkStatus();
  }
  for (const std::string& part : SplitOperands(rest)) {
    TW_ASSIGN_OR_RETURN(Operand operand, ReadOperand(part));
    instruction.operands.push_back(std::move(operand));
  }
  return Finish(instruction);
}

absl::Status Parser::Finish(Instruction& instruction) {
  for (const std::string& word : instruction.words) {
    const Type type = TypeOf(word);
    if (type.kind == Type::Kind::kNone) continue;
    instruction.source_type = instruction.type.kind == Type::Kind::kNone ? type : instruction.type;
    instruction.type = type;
  }
  const Row* row = FindRow(instruction.name);
  if (row == nullptr) {
    return absl::UnimplementedError(absl::StrCat("inline PTX: the instruction ", instruction.name, " is not known"));
  }
  if (instruction.operands.size() < row->least || instruction.operands.size() > row->most) {
    return absl::InvalidArgumentError(absl::StrCat("inline PTX: ", instruction.name, " with ",
                                                   instruction.operands.size(), " operands is not known"));
  }
  instruction.action = row->action;
  if (row->check != nullptr) {
    const std::string reason = row->check(instruction);
    if (!reason.empty()) return absl::UnimplementedError(absl::StrCat("inline PTX: ", instruction.name, ": ", reason));
  }
  program_->instructions_.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::StatusOr<Operand> Parser::ReadParts(std::string_view text, Operand::Kind kind) {
  Operand operand;
  operand.kind = kind;
  for (const std::string& part : SplitOperands(text)) {
    TW_ASSIGN_OR_RETURN(Operand inner, ReadOperand(part));
    operand.parts.push_back(std::move(inner));
  }
  if (operand.parts.empty()) return absl::InvalidArgumentError("inline PTX: an operand is empty");
  return operand;
}

absl::StatusOr<Operand> Parser::ReadOperand(std::string_view text) {
  text = Trimmed(text);
  Operand operand;
  if (text == "_") return operand;
  if (text.starts_with('[') && text.ends_with(']')) {
    std::string inner(text.substr(1, text.size() - 2));
    // The offset of an address, behind its first part.
    const size_t comma = inner.find(',');
    const size_t plus = inner.find_first_of("+-", 1);
    int64_t offset = 0;
    if (plus != std::string::npos && plus < comma) {
      TW_ASSIGN_OR_RETURN(const Operand number,
                          ReadNumber(Trimmed(std::string_view(inner).substr(plus + 1, comma - plus - 1))));
      offset = static_cast<int64_t>(number.kind == Operand::Kind::kRegister ? 0 : number.value);
      if (number.kind == Operand::Kind::kRegister)
        return absl::UnimplementedError("inline PTX: an offset in a register");
      if (inner[plus] == '-') offset = -offset;
      inner.erase(plus, std::min(comma, inner.size()) - plus);
    }
    TW_ASSIGN_OR_RETURN(Operand address, ReadParts(inner, Operand::Kind::kAddress));
    address.offset = offset;
    return address;
  }
  if (text.starts_with('{') && text.ends_with('}'))
    return ReadParts(text.substr(1, text.size() - 2), Operand::Kind::kVector);
  const size_t bar = text.find('|');
  if (bar != std::string_view::npos) {
    return ReadParts(absl::StrCat(std::string(text.substr(0, bar)), ",", std::string(text.substr(bar + 1))),
                     Operand::Kind::kPair);
  }
  if (text.starts_with('!')) {
    TW_ASSIGN_OR_RETURN(operand, ReadOperand(text.substr(1)));
    operand.negated = !operand.negated;
    return operand;
  }
  const auto declared = registers_.find(text);
  if (declared != registers_.end()) {
    operand.kind = Operand::Kind::kRegister;
    operand.index = declared->second;
    return operand;
  }
  return ReadNumber(text);
}

// $0, %laneid, 16, -1, 0x1f, 1.5, 0f3F800000
absl::StatusOr<Operand> Parser::ReadNumber(std::string_view text) {
  Operand operand;
  const auto refuse = [&] {
    return absl::UnimplementedError(absl::StrCat("inline PTX: the operand \"", std::string(text), "\" is not known"));
  };
  if (text.starts_with('$')) {
    std::string_view digits = text.substr(1);
    if (digits.starts_with('{')) digits = digits.substr(1, digits.find_first_of(":}") - 1);
    size_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size() || index >= program_->operands_) return refuse();
    operand.kind = Operand::Kind::kRegister;
    operand.index = static_cast<int>(index);
    return operand;
  }
  if (text.starts_with('%')) {
    const int special = SpecialRegister(text.substr(1));
    if (special < 0) return refuse();
    operand.kind = Operand::Kind::kSpecial;
    operand.value = static_cast<uint64_t>(special);
    return operand;
  }
  const std::string number(text);
  if (number.size() == 10 && (number.starts_with("0f") || number.starts_with("0F"))) {
    operand.kind = Operand::Kind::kFloat;
    operand.number = static_cast<double>(FromBits<float>(std::strtoull(number.c_str() + 2, nullptr, 16)));
    return operand;
  }
  if (number.size() == 18 && (number.starts_with("0d") || number.starts_with("0D"))) {
    operand.kind = Operand::Kind::kFloat;
    operand.number = FromBits<double>(std::strtoull(number.c_str() + 2, nullptr, 16));
    return operand;
  }
  if (number.empty() || !(std::isdigit(static_cast<unsigned char>(number[0])) || number[0] == '-')) return refuse();
  char* end = nullptr;
  if (number.find('.') != std::string::npos) {
    operand.kind = Operand::Kind::kFloat;
    operand.number = std::strtod(number.c_str(), &end);
  } else {
    operand.kind = Operand::Kind::kInteger;
    operand.value = number[0] == '-' ? static_cast<uint64_t>(std::strtoll(number.c_str(), &end, 0))
                                     : std::strtoull(number.c_str(), &end, 0);
    if (*end == 'U') ++end;
  }
  if (*end != '\0') return refuse();
  return operand;
}

absl::Status Parser::Link() {
  for (Instruction& instruction : program_->instructions_) {
    if (instruction.label.empty()) continue;
    const auto at = labels_.find(instruction.label);
    if (at == labels_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("inline PTX: there is no label ", instruction.label));
    }
    instruction.target = at->second;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Program>> Parse(std::string_view text, size_t operands) {
  // A number that is different in each copy of the statement; labels are the statement's own here.
  const std::string plain = absl::StrReplaceAll(WithoutComments(text), {{"${:uid}", "0"}, {"$$", "$"}, {"\t", " "}});
  return Parser(plain, operands).Parse();
}

std::vector<std::string> KnownInstructions() {
  std::vector<std::string> names;
  for (const Row& row : Rows()) names.emplace_back(row.prefix);
  return names;
}

}  // namespace tilewright::foreign::ptx
