// Grids of a stream: which accesses of this one may come before the grid in front has ended.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/clocks/clocks.h"
#include "codegen/cuda/emulator/machine.h"

namespace tilewright::emulator {
namespace {

// The time at which the grid in front has touched all that it touches.
constexpr uint32_t kTime = 1;

}  // namespace

// Histories begin with what the grid in front does, which a thread knows once it has waited.
void Machine::BeginInChain() {
  has_front_ = options_.chain != nullptr && options_.dependent && !options_.chain->last.empty();
  if (!has_front_ || !options_.check) return;
  const Footprint& front = options_.chain->touched;
  clocks::Clock clock(&domain_, kGridInFront);
  for (const auto& array : memory_.arrays()) {
    const auto record = [&](bool write) {
      front.ForEach(array->begin, array->bytes, write, [&](const std::byte* first, size_t bytes) {
        if (array->shadow == nullptr) array->shadow = std::make_unique<Shadow>(array->bytes, /*written=*/true);
        clocks::Finding none;
        size_t at = 0;
        array->shadow->Access(static_cast<size_t>(first - array->begin), bytes, write,
                              AccessOf({clock, {kGridInFront, kTime}, Op::kGridInFront, write}), none, at);
      });
    };
    record(/*write=*/true);
    // Reads conflict with writes alone.
    if (array->use != GlobalMemory::kInput) record(/*write=*/false);
  }
}

void Machine::WaitForGridInFront() {
  Begin("griddepcontrol.wait");
  waited_ = true;
  if (has_front_) running_->clock.Learn({kGridInFront, kTime});
}

void Machine::LaunchDependents() {
  Begin("griddepcontrol.launch_dependents");
  early_ = early_ || (has_front_ && !running_->clock.Knows({kGridInFront, kTime}));
}

void Machine::EndInChain() {
  if (options_.chain == nullptr) return;
  // Who waits for this grid would not have waited for the one in front.
  if (has_front_ && !waited_ && !aborted_) {
    Report(FaultKind::kUnfinished, "",
           "no thread waits for " + options_.chain->last + ", the grid in front, so that later grids do not either");
  }
  // The next grid may begin while both run.
  if (early_) touched_.Add(options_.chain->touched);
  *options_.chain = {options_.kernel, std::move(touched_)};
}

}  // namespace tilewright::emulator

namespace tw::emu {

void WaitForGridInFront() { tilewright::emulator::Machine::Current().WaitForGridInFront(); }
void LaunchDependents() { tilewright::emulator::Machine::Current().LaunchDependents(); }

}  // namespace tw::emu
