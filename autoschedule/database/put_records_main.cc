// put_records PATH NAME COUNT: puts records NAME-0, NAME-1, ... and prints the uid of each that was committed.
#include <cstdio>
#include <cstdlib>

#include "autoschedule/database/database.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  auto database = tilewright::Database::Open(argv[1]);
  if (!database.ok()) {
    std::fprintf(stderr, "%s\n", std::string(database.status().message()).c_str());
    return 1;
  }
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    tilewright::TuningRecord record;
    record.uid = std::string(argv[2]) + "-" + std::to_string(i);
    record.workload = 7;
    record.program = "a program";
    record.target = "a target";
    record.trace = std::string(2000, 'x');
    record.seconds = {1.0 + i, 2.0 + i, 3.0 + i};
    if (absl::Status status = database->Put(record); !status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      return 1;
    }
    std::printf("%s\n", record.uid.c_str());
    std::fflush(stdout);
  }
  return 0;
}
