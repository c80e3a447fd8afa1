// Any text: the parser answers without crashing, and what it accepts prints to a text that reads back to an equal
// program.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "ir/script/json.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "ir/well_formed.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilewright;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const script::ParseResult result = script::Parse(text);
  for (const script::Diagnostic& diagnostic : result.diagnostics) TW_CHECK(!diagnostic.ToString().empty());
  if (!result.diagnostics.empty()) return 0;
  const std::string printed = Print(result.module);
  TW_CHECK(!ToJson(result.module).empty());
  for (const Function& function : result.module.functions()) {
    if (!FindViolations(function).empty()) return 0;  // nothing is promised about what such a program prints
  }
  absl::StatusOr<Module> again = ParseModule(printed);
  TW_CHECK(again.ok()) << std::string(again.status().message()) << "\n" << printed;
  Mismatch mismatch;
  TW_CHECK(StructuralEqual(result.module, *again, &mismatch)) << mismatch.path << ": " << mismatch.reason << "\n"
                                                              << printed;
  TW_CHECK(StructuralHash(result.module) == StructuralHash(*again)) << printed;
  TW_CHECK(Print(*again) == printed) << "\n" << printed << "\n" << Print(*again);
  return 0;
}
