// The main() of a fuzz target that is run as a test: feeds each file named on the command line to the fuzz function,
// and the empty input first. A failure is whatever ends the process: TW_CHECK, a signal, a sanitizer.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void Replay(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  Replay("");
  for (int i = 1; i < argc; ++i) {
    // Named before it runs: the last line of a failing test's log is the input that failed.
    std::fprintf(stderr, "%s\n", argv[i]);
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read the file\n");
      return 1;
    }
    Replay(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return 0;
}
