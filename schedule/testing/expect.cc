#include "schedule/testing/expect.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright::testing {
namespace {

void Replace(std::string* text, const std::string& place, const std::string& value) {
  for (size_t at = text->find(place); at != std::string::npos; at = text->find(place, at + value.size())) {
    text->replace(at, place.size(), value);
  }
}

}  // namespace

void ExpectProgram(const Function& actual, std::string_view text) {
  Mismatch mismatch;
  if (StructuralEqual(actual, ParseFunctionOrDie(text), &mismatch)) return;
  ADD_FAILURE() << mismatch.path << ": " << mismatch.reason << "\n" << Print(actual);
}

std::string WithoutIndent(std::string_view text) {
  while (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const std::string margin(std::min(text.find_first_not_of(' '), text.size()), ' ');
  std::string result;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.substr(0, margin.size()) == margin) line.remove_prefix(margin.size());
    result.append(line).push_back('\n');
  }
  return result;
}

void ExpectContains(const Function& actual, std::string_view part) {
  const std::string program = Print(actual), wanted = WithoutIndent(part);
  for (size_t margin = 0; margin <= 64; margin += 4) {
    std::string indented;
    for (size_t begin = 0; begin < wanted.size(); begin = wanted.find('\n', begin) + 1) {
      indented += std::string(margin, ' ') + wanted.substr(begin, wanted.find('\n', begin) + 1 - begin);
    }
    if (program.find("\n" + indented) != std::string::npos) return;
  }
  ADD_FAILURE() << "these lines are missing:\n" << wanted << "in\n" << program;
}

std::string ReasonText(const Refusal& refusal, const Function& function) {
  std::string text = refusal.reason;
  for (size_t i = 0; i < refusal.objects.size(); ++i) {
    const std::string number = std::to_string(i) + "}";
    if (const ForNode* loop = FindLoop(function, refusal.objects[i]))
      Replace(&text, "{loop" + number, loop->var.name());
    if (const BlockRealizeNode* block = FindBlock(function, refusal.objects[i])) {
      Replace(&text, "{block" + number, block->block->name);
    }
  }
  for (size_t i = 0; i < refusal.exprs.size(); ++i) {
    Replace(&text, "{expr" + std::to_string(i) + "}", Print(refusal.exprs[i]));
  }
  for (size_t i = 0; i < refusal.texts.size(); ++i) {
    Replace(&text, "{text" + std::to_string(i) + "}", refusal.texts[i]);
  }
  for (size_t i = 0; i < refusal.numbers.size(); ++i) {
    Replace(&text, "{num" + std::to_string(i) + "}", std::to_string(refusal.numbers[i]));
  }
  return text;
}

}  // namespace tilewright::testing
