// What a tuning database remembers of one candidate: what was scheduled, how, and how long it took.
//
// Terms:
//   workload   a program that nobody scheduled, known by what it computes: the structural hash, constants and extents
//              included, of the program with canonical names (canonical_names.h)
//   target     the processor and its features, as TargetKey writes them: times on another one say nothing
//   scheduled  the program that the trace led to, known in the same way. A trace that now leads to another one is
//              *stale*: its times are about a program that can no longer be made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/database/caches.h"
#include "target/target.h"

namespace tilewright {

// Goes into every record that this version of the compiler makes.
inline constexpr char kTunerVersion[] = "3";

// The values of a symbolic extent for which a record holds, both ends included.
struct DimensionRange {
  std::string name;
  int64_t least = 0, greatest = 0;
};

struct TuningRecord {
  std::string uid;        // names the record in whatever database it is copied to; Put chooses it when empty
  uint64_t workload = 0;  // WorkloadOf the program before scheduling
  std::string program;    // its text, with canonical names
  std::string target;     // TargetKey
  int threads = 1;        // that it could use when it was measured
  std::vector<DimensionRange> dimensions;
  std::string trace;            // of that text: JSON, as schedule/script/trace_text.h writes it
  uint64_t scheduled = 0;       // WorkloadOf the result
  std::string features;         // of it, for cost models: bytes of cost/features.h; empty where they are not known
  std::vector<double> seconds;  // every measured time; empty for a candidate that failed
  Caches caches = Caches::kRotating;
  bool final = false;   // measured at the end of a search, in turn with the other ones that were best
  std::string failure;  // why there are no times: "crash", "timeout", "wrong result", ...; else empty
  std::string message;  // of the failure, for people
  std::string version = kTunerVersion;
  int64_t unix_time = 0;  // Put takes the clock's when 0

  bool failed() const { return !failure.empty(); }
  double MedianSeconds() const;  // infinite for a candidate that failed
};

// "znver4 +avx2,+fma,...".
// `emulated`: projected times are not times of the processor.
std::string TargetKey(const Target& target, bool emulated = false);

// 16 hexadecimal digits, and back; an error for any other text.
std::string HashText(uint64_t hash);
absl::StatusOr<uint64_t> ParseHash(std::string_view text);

// {"n": [1, 128]}, and back; an error for any other text.
std::string DimensionsText(const std::vector<DimensionRange>& ranges);
absl::StatusOr<std::vector<DimensionRange>> ParseDimensions(std::string_view text);

// One line of JSON, and back; an error names the member that is missing or of the wrong type.
std::string ToJson(const TuningRecord& record);
absl::StatusOr<TuningRecord> RecordFromJson(std::string_view line);

}  // namespace tilewright
