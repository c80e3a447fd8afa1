// Any schedule text: it is applied or refused with a message, and what was applied is text that gives the same program.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "intrin/registry.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/recorder/schedule.h"
#include "schedule/script/schedule_script.h"
#include "schedule/script/trace_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilewright;
  static const Module* const module = new Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 80), "float32"), C: T.Buffer((64, 80), "float32")):
    for i, j, k in T.grid(64, 80, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)"));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Schedule schedule(*module, {.intrins = &intrins});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::optional<ScheduleScriptError> error = ApplyScheduleScript(text, "fuzz.py", &schedule);
  if (error) {
    TW_CHECK(!error->diagnostic.ToString().empty());
    return 0;
  }
  Schedule again(*module, {.intrins = &intrins});
  const std::string recorded = ToText(schedule.trace());
  const std::optional<ScheduleScriptError> refused = ApplyScheduleScript(recorded, "trace.py", &again);
  TW_CHECK(!refused) << refused->diagnostic.ToString();
  TW_CHECK(StructuralEqual(schedule.module(), again.module())) << recorded;
  return 0;
}
