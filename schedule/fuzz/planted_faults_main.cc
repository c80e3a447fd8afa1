// planted_faults [--count=N] [--seed=S] [--seconds=T]: see planted_faults.h. Exits with 1 when verify misses a fault.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "schedule/fuzz/planted_faults.h"

int main(int argc, char** argv) {
  tilewright::fuzz::PlantedOptions options{.count = 10000};
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i], value = arg.substr(arg.find('=') + 1);
    if (arg.starts_with("--count=")) {
      options.count = std::strtoll(value.data(), nullptr, 10);
    } else if (arg.starts_with("--seed=")) {
      options.seed = std::strtoull(value.data(), nullptr, 10);
    } else if (arg.starts_with("--seconds=")) {
      options.seconds = std::strtod(value.data(), nullptr);
    } else {
      std::fprintf(stderr, "usage: planted_faults [--count=N] [--seed=S] [--seconds=T]\n");
      return 2;
    }
  }
  tilewright::fuzz::PlantedFaults faults(options);
  faults.Run();
  std::fputs(faults.Report().c_str(), stdout);
  for (const auto& miss : faults.missed()) {
    std::printf("\nmissed, seed %llu, %s: %s\n%s", static_cast<unsigned long long>(miss.seed), miss.fault.c_str(),
                miss.wrong.c_str(), miss.program.c_str());
  }
  return faults.missed().empty() ? 0 : 1;
}
