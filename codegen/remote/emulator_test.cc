#include "codegen/remote/emulator.h"

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace tilewright::remote {
namespace {

// The words after the emulator's name.
std::string WordsFor(const std::string& target, const EmulatorOptions& options) {
  const auto command = EmulatorCommand(*NamedTarget(target), options);
  return command.ok() ? absl::StrJoin(command->begin() + 1, command->end(), " ")
                      : std::string(command.status().message());
}

TEST(Emulator, HidesWhatTheTargetDoesNotHave) {
  const Target target = *NamedTarget("arm-neoverse-n1");
  if (const auto command = EmulatorCommand(target, {}); !command.ok()) GTEST_SKIP() << command.status();
  EXPECT_EQ(WordsFor("arm-neoverse-n1", {.root = "/"}), "-L / -cpu max");
  EXPECT_EQ(WordsFor("arm-neoverse-n1", {.root = "/", .only_target = true}), "-L / -cpu neoverse-n1");
  // Debian's emulator has no such processor.
  const std::string newer = WordsFor("arm-neoverse-v2", {.root = "/", .only_target = true});
  EXPECT_TRUE(newer == "-L / -cpu max,sme=off,sve128=on,sve256=off" || newer == "-L / -cpu neoverse-v2") << newer;
  const std::string other = WordsFor("arm-apple-m1", {.root = "/", .only_target = true});
  EXPECT_EQ(other, "-L / -cpu max,sve=off,sme=off");
}

TEST(Emulator, CountsWhereItIsAskedTo) {
  const Target target = *NamedTarget("arm-neoverse-n1");
  if (const auto command = EmulatorCommand(target, {}); !command.ok()) GTEST_SKIP() << command.status();
  EXPECT_NE(WordsFor("arm-neoverse-n1", {.counter = "fd=3"}).find("libcount_instructions.so,fd=3"), std::string::npos);
  EXPECT_EQ(WordsFor("arm-neoverse-n1", {}).find("-plugin"), std::string::npos);
}

TEST(Emulator, AnArchitectureWithoutOneIsNamed) {
  Target target = *NamedTarget("arm-neoverse-n1");
  target.triple = "nothing-unknown-linux-gnu";
  EXPECT_EQ(ArchitectureOf(target), "nothing");
  EXPECT_NE(EmulatorCommand(target, {}).status().message().find("qemu-nothing, which is not installed"),
            std::string::npos);
}

}  // namespace
}  // namespace tilewright::remote
