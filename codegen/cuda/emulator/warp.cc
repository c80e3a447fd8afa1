// Exchange between the lanes of a warp.
#include <algorithm>
#include <cstdint>
#include <string>

#include "codegen/cuda/emulator/machine.h"

namespace tw::emu {
namespace {

using tilewright::emulator::FaultKind;
using tilewright::emulator::Machine;
using tilewright::emulator::Meeting;
using tilewright::emulator::Thread;

// Numbers of instructions of warps, for Machine::MeetWarp. Matrix instructions begin at 64.
constexpr int kBarrier = 1, kBallot = 2, kElect = 3, kReduce = 8, kShuffle = 32;

// A lane that is not in its own mask makes the instruction undefined.
bool CheckMask(Machine& machine, uint32_t mask) {
  if ((mask >> machine.self().lane & 1) != 0) return true;
  machine.Report(FaultKind::kArguments, "", "the lane is not in its mask");
  return false;
}

struct ShuffleArgument {
  uint64_t value, result;
  int source;
};

int SourceLane(ShuffleKind kind, int lane, int argument, int width) {
  const int first = lane & ~(width - 1), last = first + width - 1;
  switch (kind) {
    case kIndex:
      return first + (argument & (width - 1));
    case kUp:
      return lane - argument < first ? lane : lane - argument;
    case kDown:
      return lane + argument > last ? lane : lane + argument;
    case kXor:
      return (lane ^ argument) > last ? lane : lane ^ argument;
  }
  return lane;
}

uint32_t Combine(ReduceKind kind, uint32_t a, uint32_t b) {
  const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
  switch (kind) {
    case kReduceAdd:
      return a + b;
    case kReduceMin:
      return std::min(a, b);
    case kReduceMax:
      return std::max(a, b);
    case kReduceMinSigned:
      return static_cast<uint32_t>(std::min(sa, sb));
    case kReduceMaxSigned:
      return static_cast<uint32_t>(std::max(sa, sb));
    case kReduceAnd:
      return a & b;
    case kReduceOr:
      return a | b;
    case kReduceXor:
      return a ^ b;
  }
  return a;
}

}  // namespace

void WarpBarrier(uint32_t mask) {
  Machine& machine = Machine::Current();
  machine.Begin("__syncwarp");
  if (!CheckMask(machine, mask)) return;
  Thread& self = machine.self();
  machine.MeetWarp(mask, kBarrier, "__syncwarp", &self, [&](Meeting& meeting) {
    tilewright::clocks::Published published;
    const auto for_each = [&](const auto& visit) {
      for (int lane = 0; lane < 32; ++lane) {
        if (meeting.mask >> lane & 1) visit(static_cast<Thread*>(meeting.arguments[lane]));
      }
    };
    for_each([&](Thread* thread) { thread->clock.Release(published); });
    const tilewright::clocks::Knowledge all = published.Take();
    for_each([&](Thread* thread) { thread->clock.Acquire(all); });
    ++machine.counters().barriers;
  });
}

uint64_t Shuffle(ShuffleKind kind, uint32_t mask, uint64_t value, uint32_t bytes, int argument, int width) {
  Machine& machine = Machine::Current();
  machine.Begin("shfl.sync");
  if (!CheckMask(machine, mask)) return value;
  if (width <= 0 || width > 32 || (width & (width - 1)) != 0 || (bytes != 4 && bytes != 8)) {
    machine.Report(FaultKind::kArguments, "",
                   "shfl.sync of " + std::to_string(bytes) + " bytes, width " + std::to_string(width));
    return value;
  }
  ShuffleArgument own = {value, 0, SourceLane(kind, machine.self().lane, argument, width)};
  machine.MeetWarp(mask, kShuffle + kind, "shfl.sync", &own, [&](Meeting& meeting) {
    ++machine.counters().shuffles;
    for (int lane = 0; lane < 32; ++lane) {
      if ((meeting.mask >> lane & 1) == 0) continue;
      auto& to = *static_cast<ShuffleArgument*>(meeting.arguments[lane]);
      if ((meeting.mask >> to.source & 1) == 0) {
        machine.Report(
            FaultKind::kArguments, "",
            "lane " + std::to_string(lane) + " reads lane " + std::to_string(to.source) + ", which does not take part");
        to.result = to.value;
        continue;
      }
      to.result = static_cast<ShuffleArgument*>(meeting.arguments[to.source])->value;
    }
  });
  return own.result;
}

uint32_t Ballot(uint32_t mask, bool predicate) {
  Machine& machine = Machine::Current();
  machine.Begin("vote.sync");
  if (!CheckMask(machine, mask)) return 0;
  struct {
    bool predicate;
    uint32_t result;
  } own = {predicate, 0};
  using Own = decltype(own);
  machine.MeetWarp(mask, kBallot, "vote.sync", &own, [&](Meeting& meeting) {
    ++machine.counters().shuffles;
    uint32_t result = 0;
    for (int lane = 0; lane < 32; ++lane) {
      if (meeting.mask >> lane & 1)
        result |= static_cast<uint32_t>(static_cast<Own*>(meeting.arguments[lane])->predicate) << lane;
    }
    for (int lane = 0; lane < 32; ++lane) {
      if (meeting.mask >> lane & 1) static_cast<Own*>(meeting.arguments[lane])->result = result;
    }
  });
  return own.result;
}

uint32_t Reduce(ReduceKind kind, uint32_t mask, uint32_t value) {
  Machine& machine = Machine::Current();
  machine.Begin("redux.sync");
  if (!CheckMask(machine, mask)) return value;
  uint32_t own = value;
  machine.MeetWarp(mask, kReduce + kind, "redux.sync", &own, [&](Meeting& meeting) {
    ++machine.counters().shuffles;
    uint32_t result = 0;
    bool first = true;
    for (int lane = 0; lane < 32; ++lane) {
      if ((meeting.mask >> lane & 1) == 0) continue;
      const uint32_t v = *static_cast<uint32_t*>(meeting.arguments[lane]);
      result = first ? v : Combine(kind, result, v);
      first = false;
    }
    for (int lane = 0; lane < 32; ++lane) {
      if (meeting.mask >> lane & 1) *static_cast<uint32_t*>(meeting.arguments[lane]) = result;
    }
  });
  return own;
}

bool Elect() {
  Machine& machine = Machine::Current();
  machine.Begin("elect.sync");
  bool own = false;
  machine.MeetWarp(0xffffffffu, kElect, "elect.sync", &own, [&](Meeting& meeting) {
    // Which lane is not defined, but the same each time.
    int lane = static_cast<int>(machine.options().seed % 32);
    while ((meeting.mask >> lane & 1) == 0) lane = (lane + 1) % 32;
    *static_cast<bool*>(meeting.arguments[lane]) = true;
  });
  return own;
}

}  // namespace tw::emu
