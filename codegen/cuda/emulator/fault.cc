#include "codegen/cuda/emulator/fault.h"

#include <string>
#include <string_view>

namespace tilewright::emulator {
namespace {

std::string Text(const Dim& block) {
  return "(" + std::to_string(block.x) + ", " + std::to_string(block.y) + ", " + std::to_string(block.z) + ")";
}

}  // namespace

std::string_view ToString(FaultKind kind) {
  switch (kind) {
    case FaultKind::kRace:
      return "race";
    case FaultKind::kUnfenced:
      return "missing proxy fence";
    case FaultKind::kUnwritten:
      return "read of unwritten memory";
    case FaultKind::kOutOfBounds:
      return "out of bounds";
    case FaultKind::kMisaligned:
      return "misaligned";
    case FaultKind::kBarrier:
      return "barrier";
    case FaultKind::kMbarrier:
      return "mbarrier";
    case FaultKind::kDivergence:
      return "divergence";
    case FaultKind::kDescriptor:
      return "wgmma descriptor";
    case FaultKind::kTensorMap:
      return "tensor map";
    case FaultKind::kRegisters:
      return "registers";
    case FaultKind::kUnfinished:
      return "unfinished asynchronous work";
    case FaultKind::kArguments:
      return "arguments";
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kBudget:
      return "budget";
    case FaultKind::kTrap:
      return "trap";
    case FaultKind::kLaunch:
      return "launch";
  }
  return "fault";
}

std::string ToString(const Fault& fault) {
  const auto at = [](const Party& party) { return party.where.empty() ? "" : " at " + party.where; };
  std::string text = fault.kernel + ": " + std::string(ToString(fault.kind)) + ": ";
  if (!fault.self.who.empty()) {
    text += fault.self.what + " by " + fault.self.who + " of block " + Text(fault.self.block) + at(fault.self);
    if (!fault.place.empty()) text += (fault.self.where.empty() ? " at " : ", ") + fault.place;
    if (!fault.message.empty()) text += ": ";
  }
  text += fault.message;
  if (!fault.other.who.empty()) {
    text += "; the other access: " + fault.other.what + " by " + fault.other.who;
    if (fault.other.of_block) text += " of block " + Text(fault.other.block);
    text += at(fault.other);
  }
  if (fault.count > 1) text += " (" + std::to_string(fault.count) + " alike)";
  return text;
}

}  // namespace tilewright::emulator
