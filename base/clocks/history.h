// The history of one memory cell: the last write and the reads since, enough to tell whether a further access is
// ordered after all that it conflicts with (the FastTrack algorithm, Flanagan and Freund 2009, with agents in place of
// threads).
//
//   History cell;
//   cell.Write({clock, clock.Now(), kStore});          // nothing conflicts
//   cell.Read({other_clock, other_clock.Now(), kLoad})  // kRace unless the clocks have met
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clocks/clocks.h"

namespace tilewright::clocks {

// What an access does: a number of the user's own, below 64, and how it counts.
struct Operation {
  uint8_t kind : 6 = 0;
  bool atomic : 1 = false;        // conflicts with no other atomic access
  bool asynchronous : 1 = false;  // sees stores of ordinary accesses only once they are fenced
};

struct Access {
  const Clock& issuer;  // whose knowledge orders the access
  Epoch epoch;          // under which it is remembered: the issuer's, or that of an agent that works for it
  Operation operation;
};

// An access as it is remembered. Times fit in 24 bits: kMostTime.
struct Record {
  Agent agent = 0;
  uint32_t time : 24 = 0;  // 0: none
  uint32_t operation : 8 = 0;

  Epoch epoch() const { return {agent, time}; }
  Operation what() const {
    return {static_cast<uint8_t>(operation & 63), (operation & 64) != 0, (operation & 128) != 0};
  }
};
inline constexpr uint32_t kMostTime = (1u << 24) - 1;

enum class Conflict : uint8_t {
  kNone,
  kUnwritten,       // read of what was never written
  kReadAfterWrite,  // races: not ordered after the earlier access
  kWriteAfterRead,
  kWriteAfterWrite,
  kUnfenced,  // ordered, but an asynchronous access of a store that was not fenced
};

// What is wrong with an access, and the earlier access that it conflicts with.
struct Finding {
  Conflict conflict = Conflict::kNone;
  Record other;
  explicit operator bool() const { return conflict != Conflict::kNone; }
};

class History {
 public:
  History() = default;
  History(const History& other);
  History& operator=(const History& other);
  History(History&&) = default;
  History& operator=(History&&) = default;

  Finding Read(const Access& access);
  Finding Write(const Access& access);

  bool written() const { return written_; }
  // The cell holds a value that no access of the program wrote (an input).
  void SetWritten() { written_ = true; }

 private:
  struct MoreReads {
    explicit MoreReads(uint32_t group_of_first) : group(group_of_first) {}
    uint32_t group;  // whose reads are in `own`, by index
    std::vector<Record> own, others;
  };

  Finding CheckWrite(const Access& access, Conflict race) const;
  Finding CheckReads(const Access& access) const;
  void AddRead(const Access& access);

  static constexpr int kInlineReads = 2;
  Record write_, reads_[kInlineReads];
  uint8_t num_reads_ = 0;
  bool written_ = false;
  std::unique_ptr<MoreReads> more_;
};

}  // namespace tilewright::clocks
