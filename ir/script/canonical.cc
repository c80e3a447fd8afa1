#include "ir/script/canonical.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright {

std::string Canonical(std::string_view text) {
  Module module = ParseOrDie(text);
  const std::string printed = Print(module);
  absl::StatusOr<Module> again = ParseModule(printed);
  EXPECT_TRUE(again.ok()) << again.status().message() << "\n" << printed;
  if (!again.ok()) return printed;
  Mismatch mismatch;
  EXPECT_TRUE(StructuralEqual(module, *again, &mismatch)) << mismatch.path << ": " << mismatch.reason << "\n"
                                                          << printed;
  EXPECT_EQ(StructuralHash(module), StructuralHash(*again)) << printed;
  EXPECT_EQ(Print(*again), printed);
  return printed;
}

}  // namespace tilewright
