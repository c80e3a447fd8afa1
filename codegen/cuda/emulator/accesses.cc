// Accesses of shared and global memory, as the machine checks them: bounds, order, and what is reported.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/clocks/clocks.h"
#include "base/clocks/history.h"
#include "codegen/cuda/emulator/machine.h"

namespace tilewright::emulator {
namespace {

struct OperationFacts {
  const char* name;
  bool atomic, asynchronous;
};
// By Op. An mbarrier orders its own uses, so these conflict with its initialization only. What a grid in front writes
// needs no fence of the proxy.
constexpr OperationFacts kOperations[] = {
    {"load", false, false},       {"store", false, false},        {"atomic", true, false},
    {"ldmatrix", false, false},   {"stmatrix", false, false},     {"wmma load", false, false},
    {"wmma store", false, false}, {"cp.async", false, false},     {"bulk load", false, true},
    {"bulk store", false, true},  {"bulk reduce", true, true},    {"bulk copy", false, true},
    {"st.async", false, false},   {"wgmma", false, true},         {"mbarrier.init", false, false},
    {"mbarrier", true, false},    {"volatile load", true, false}, {"volatile store", true, false},
    {"access", false, true},
};

}  // namespace

clocks::Access Machine::AccessOf(const Issue& issue) {
  const OperationFacts& facts = kOperations[static_cast<int>(issue.op)];
  const clocks::Operation operation = {static_cast<uint8_t>(issue.op), facts.atomic, facts.asynchronous};
  return {issue.issuer, issue.epoch, operation};
}

void Machine::Watch(const Issue& issue, const void* array, uint32_t block, uint64_t byte, uint32_t bytes) {
  for (WatchedAccess& watched : *options_.watched) {
    if (watched.agent == issue.epoch.agent && watched.time == issue.epoch.time &&
        watched.operation == static_cast<uint8_t>(issue.op) && watched.array == array && watched.block == block &&
        watched.byte >= byte && watched.byte < byte + bytes) {
      watched.place = running_->place;
    }
  }
}

void Machine::ReportFinding(const clocks::Finding& finding, const Issue& issue, std::string place, const Where& where) {
  Party other;
  if (finding.other.time != 0) {
    other = PartyOf(finding.other.agent);
    other.what = kOperations[finding.other.what().kind].name;
  }
  const size_t faults = result_.faults.size();
  // The access may be an engine's: name it as such.
  const char* doing = std::exchange(running_->doing, kOperations[static_cast<int>(issue.op)].name);
  switch (finding.conflict) {
    case clocks::Conflict::kUnwritten:
      Report(FaultKind::kUnwritten, std::move(place), "nothing was written there before");
      break;
    case clocks::Conflict::kUnfenced:
      Report(FaultKind::kUnfenced, std::move(place), "no fence.proxy.async stands between the store and it",
             std::move(other));
      break;
    case clocks::Conflict::kReadAfterWrite:
      Report(FaultKind::kRace, std::move(place), "a read that is not ordered after a write", std::move(other));
      break;
    case clocks::Conflict::kWriteAfterRead:
      Report(FaultKind::kRace, std::move(place), "a write that is not ordered after a read", std::move(other));
      break;
    case clocks::Conflict::kWriteAfterWrite:
      Report(FaultKind::kRace, std::move(place), "a write that is not ordered after a write", std::move(other));
      break;
    case clocks::Conflict::kNone:
      break;
  }
  running_->doing = doing;
  if (finding.other.time == 0 || result_.faults.empty() || options_.places.now == nullptr) return;
  Fault& last = result_.faults.back();
  if (result_.faults.size() == faults || options_.watched == nullptr) return;
  last.watched = static_cast<int>(options_.watched->size());
  options_.watched->push_back({finding.other.agent, finding.other.time, static_cast<uint8_t>(finding.other.what().kind),
                               where.array, where.block, where.byte});
}

Block* Machine::BlockOf(uint32_t address) {
  const uint32_t rank = address >> 24;
  auto& blocks = running_->block->cluster->blocks;
  if (rank < blocks.size()) return blocks[rank].get();
  Report(FaultKind::kOutOfBounds, "", "the address is in no block of the cluster");
  return nullptr;
}

bool Machine::CheckAligned(uint64_t address, uint32_t bytes, const std::string& place) {
  if (address % bytes == 0) return true;
  Report(FaultKind::kMisaligned, place, "an access of " + std::to_string(bytes) + " bytes");
  return false;
}

std::string Machine::SharedPlace(uint32_t byte) const {
  const int64_t at = static_cast<int64_t>(byte) - kSharedBase;
  for (const SharedVariable& variable : options_.variables) {
    if (at < variable.begin || at >= int64_t{variable.begin} + variable.bytes) continue;
    return variable.name + " byte " + std::to_string(at - variable.begin);
  }
  return "shared byte " + std::to_string(at);
}

bool Machine::IsInVariable(uint32_t byte, uint32_t bytes) const {
  const uint32_t at = byte - kSharedBase;
  for (const SharedVariable& variable : options_.variables) {
    if (at >= variable.begin && at + bytes <= variable.begin + variable.bytes) return true;
  }
  return options_.variables.empty();
}

bool Machine::CheckShared(Block& block, uint32_t byte, uint32_t bytes, const Issue& issue) {
  if (byte < kSharedBase || byte + bytes > block.shared.size()) {
    Report(FaultKind::kOutOfBounds, SharedPlace(byte),
           std::to_string(bytes) + " bytes outside of the " + std::to_string(block.shared.size() - kSharedBase) +
               " bytes of shared memory");
    return false;
  }
  if (!IsInVariable(byte, bytes)) {
    Report(FaultKind::kOutOfBounds, SharedPlace(byte),
           std::to_string(bytes) + " bytes outside of every variable in shared memory");
    return false;
  }
  if (block.alive == 0) {
    Report(FaultKind::kOutOfBounds, SharedPlace(byte), "the block whose shared memory it is has ended");
    return false;
  }
  if (!options_.check) return true;
  if (&block != running_->block && issue.epoch.agent == issue.issuer.self()) {
    block.accesses_of_others[issue.epoch.agent] = issue.epoch.time;
  }
  const bool of_mbarrier = issue.op == Op::kMbarrierInit || issue.op == Op::kMbarrierUse;
  if (!of_mbarrier && !block.mbarriers.empty()) {
    for (uint32_t at = byte / 8; at <= (byte + bytes - 1) / 8; ++at) {
      if (!block.is_mbarrier[at]) continue;
      Report(FaultKind::kMbarrier, SharedPlace(byte), "an ordinary access of the bytes of an mbarrier");
      return false;
    }
  }
  clocks::Finding finding;
  size_t at = byte;
  counters().checks += block.shadow.Access(byte, bytes, issue.write, AccessOf(issue), finding, at);
  if (options_.watched != nullptr) Watch(issue, nullptr, block.serial, byte, bytes);
  if (finding) {
    ReportFinding(finding, issue, SharedPlace(static_cast<uint32_t>(at)), {nullptr, block.serial, at});
  }
  return true;
}

bool Machine::CheckGlobal(GlobalMemory::Array* array, const void* at, uint32_t bytes, const Issue& issue) {
  const auto* address = static_cast<const std::byte*>(at);
  if (array == nullptr) {
    Report(FaultKind::kOutOfBounds, "a pointer", "it points into no array of the kernel");
    return false;
  }
  const auto offset = reinterpret_cast<intptr_t>(address) - reinterpret_cast<intptr_t>(array->begin);
  if (offset < 0 || static_cast<size_t>(offset) + bytes > array->bytes) {
    Report(FaultKind::kOutOfBounds, array->name + " byte " + std::to_string(offset),
           std::to_string(bytes) + " bytes outside of the " + std::to_string(array->bytes) + " of " + array->name);
    return false;
  }
  if (issue.write && array->use == GlobalMemory::kInput) {
    Report(FaultKind::kOutOfBounds, array->name + " byte " + std::to_string(offset), "a write of an input");
    return false;
  }
  if (options_.chain != nullptr) touched_.Add(at, bytes, issue.write);
  if (array->shadow == nullptr || !options_.check) return true;
  clocks::Finding finding;
  size_t where = 0;
  counters().checks +=
      array->shadow->Access(static_cast<size_t>(offset), bytes, issue.write, AccessOf(issue), finding, where);
  if (options_.watched != nullptr) Watch(issue, array, 0, static_cast<uint64_t>(offset), bytes);
  if (finding) ReportFinding(finding, issue, array->name + " byte " + std::to_string(where), {array, 0, where});
  return true;
}

}  // namespace tilewright::emulator
