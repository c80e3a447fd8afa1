#include "schedule/fuzz/replay.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "intrin/registry.h"
#include "ir/script/parser.h"
#include "ir/structural.h"
#include "schedule/fuzz/families.h"
#include "schedule/fuzz/moves.h"
#include "schedule/script/schedule_script.h"

namespace tilewright::fuzz {
namespace {

bool Rounds(const Function& program) {
  for (const Family& family : Families()) {
    for (const Function& known : family.programs) {
      if (StructuralEqual(known, program)) return family.rounds;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Judgement> Replay(std::string_view program, std::string_view schedule) {
  TW_ASSIGN_OR_RETURN(const Module before, ParseModule(program));
  IntrinRegistry intrins;
  const absl::Status loaded = intrins.LoadScript(kFuzzIntrinsics, "fuzz intrinsics");
  TW_CHECK(loaded.ok()) << loaded.ToString();
  Schedule after(before, {.intrins = &intrins});
  if (const auto error = ApplyScheduleScript(schedule, "schedule", &after)) {
    const std::string text = error->diagnostic.ToString();
    return error->refusal ? absl::FailedPreconditionError(text) : absl::InvalidArgumentError(text);
  }
  const Oracle oracle(before.Main(), Rounds(before.Main()));
  Judgement worse;
  for (const uint64_t inputs : {0, 1}) {
    Judgement judgement = oracle.Judge(after.module(), inputs);
    if (inputs == 0 || (worse.right && !judgement.right)) worse = std::move(judgement);
  }
  return worse;
}

}  // namespace tilewright::fuzz
