#include "base/clocks/history.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace tilewright::clocks {
namespace {

Record RecordOf(const Access& access) {
  const Operation& operation = access.operation;
  const uint32_t packed = operation.kind | (operation.atomic ? 64u : 0u) | (operation.asynchronous ? 128u : 0u);
  return {access.epoch.agent, std::min(access.epoch.time, kMostTime), packed};
}

// Whether `access` comes after `record`, or needs not to. Two copies of one engine are not ordered: only the issuer's
// knowledge counts.
bool Ordered(const Record& record, const Access& access) {
  if (record.time == 0) return true;
  if (record.what().atomic && access.operation.atomic) return true;
  return access.issuer.Knows(record.epoch());
}

}  // namespace

History::History(const History& other) : write_(other.write_), num_reads_(other.num_reads_), written_(other.written_) {
  std::copy(other.reads_, other.reads_ + kInlineReads, reads_);
  if (other.more_ != nullptr) more_ = std::make_unique<MoreReads>(*other.more_);
}

History& History::operator=(const History& other) {
  if (this != &other) *this = History(other);
  return *this;
}

Finding History::CheckWrite(const Access& access, Conflict race) const {
  if (!Ordered(write_, access)) return {race, write_};
  const bool crosses = access.operation.asynchronous && !write_.what().asynchronous;
  if (write_.time != 0 && crosses && !access.issuer.KnowsFenced(write_.epoch())) return {Conflict::kUnfenced, write_};
  return {};
}

Finding History::CheckReads(const Access& access) const {
  for (int i = 0; i < num_reads_; ++i) {
    if (!Ordered(reads_[i], access)) return {Conflict::kWriteAfterRead, reads_[i]};
  }
  if (more_ != nullptr) {
    for (const auto* reads : {&more_->own, &more_->others}) {
      for (const Record& read : *reads) {
        if (!Ordered(read, access)) return {Conflict::kWriteAfterRead, read};
      }
    }
  }
  return {};
}

void History::AddRead(const Access& access) {
  const Record record = RecordOf(access);
  for (int i = 0; i < num_reads_; ++i) {
    // A read by the issuer itself replaces reads that it knows: a write that comes after this read comes after those.
    // An engine's read does not: to have waited for it says nothing of what its issuer knew.
    const bool by_issuer = access.epoch.agent == access.issuer.self() && !access.operation.atomic;
    if (reads_[i].agent == record.agent || (by_issuer && access.issuer.Knows(reads_[i].epoch()))) {
      reads_[i] = record;
      return;
    }
  }
  if (num_reads_ < kInlineReads) {
    reads_[num_reads_++] = record;
    return;
  }
  if (more_ == nullptr) more_ = std::make_unique<MoreReads>(GroupOf(record.agent));
  if (GroupOf(record.agent) == more_->group) {
    const uint32_t index = IndexOf(record.agent);
    if (index >= more_->own.size()) more_->own.resize(index + 1);
    more_->own[index] = record;
    return;
  }
  for (Record& other : more_->others) {
    if (other.agent == record.agent) {
      other = record;
      return;
    }
  }
  more_->others.push_back(record);
}

Finding History::Read(const Access& access) {
  Finding finding = CheckWrite(access, Conflict::kReadAfterWrite);
  if (!written_) {
    finding = {Conflict::kUnwritten, {}};
    written_ = true;  // reported once
  }
  AddRead(access);
  return finding;
}

Finding History::Write(const Access& access) {
  Finding finding = CheckWrite(access, Conflict::kWriteAfterWrite);
  // A race with a read says more than a missing fence.
  if (finding.conflict == Conflict::kNone || finding.conflict == Conflict::kUnfenced) {
    if (const Finding reads = CheckReads(access)) finding = reads;
  }
  write_ = RecordOf(access);
  num_reads_ = 0;
  more_.reset();
  written_ = true;
  return finding;
}

}  // namespace tilewright::clocks
