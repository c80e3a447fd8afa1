// command_line_fuzz: random command lines (command_lines.h), in this process.
//
//   bazel run -c opt //tools/fuzz:command_line_fuzz -- --count=5000
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "tools/fuzz/command_lines.h"

ABSL_FLAG(uint64_t, seed, 1, "of the first command line");
ABSL_FLAG(int64_t, count, 5000, "of command lines");
ABSL_FLAG(bool, verbose, false, "prints each command line before it runs");

int main(int argc, char** argv) {
  using namespace tilewright;
  absl::ParseCommandLine(argc, argv);
  setenv("TILEWRIGHT_KERNEL_CACHE", "off", 1);
  const std::string folder = (std::filesystem::temp_directory_path() / "tilewright_command_lines").string();
  const CommandLineFiles files(folder);
  std::filesystem::current_path(folder);  // values that are not paths may become files
  const uint64_t first = absl::GetFlag(FLAGS_seed);
  size_t faults = 0;
  for (int64_t i = 0; i < absl::GetFlag(FLAGS_count); ++i) {
    const uint64_t seed = first + static_cast<uint64_t>(i);
    if (absl::GetFlag(FLAGS_verbose)) {
      std::cerr << seed << ":";
      for (const std::string& word : DrawCommandLine(files, seed)) std::cerr << " " << word;
      std::cerr << std::endl;
    }
    for (const std::string& fault : FindFaults(files, seed, 1)) {
      std::cout << fault << std::endl;
      ++faults;
    }
  }
  std::cout << absl::GetFlag(FLAGS_count) << " command lines, " << faults << " faults\n";
  return faults == 0 ? 0 : 1;
}
