#include "ir/script/parse_or_die.h"

#include "base/check.h"
#include "ir/script/parser.h"

namespace tilewright {

Module ParseOrDie(std::string_view text) {
  absl::StatusOr<Module> module = ParseModule(text);
  TW_CHECK(module.ok()) << "\n" << std::string(module.status().message());
  return *std::move(module);
}

Function ParseFunctionOrDie(std::string_view text) {
  Function function = ParseOrDie(text).Main();
  TW_CHECK(function) << "the text has several functions and none is called main";
  return function;
}

}  // namespace tilewright
