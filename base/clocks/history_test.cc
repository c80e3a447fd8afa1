#include "base/clocks/history.h"

#include <cstdint>
#include <random>
#include <vector>

#include "base/clocks/clocks.h"
#include "gtest/gtest.h"

namespace tilewright::clocks {
namespace {

constexpr Operation kStore = {.kind = 1}, kLoad = {.kind = 2}, kAdd = {.kind = 3, .atomic = true},
                    kCopy = {.kind = 4, .asynchronous = true};

class HistoryTest : public ::testing::Test {
 protected:
  Access By(Clock& clock, Operation operation) { return {clock, clock.Now(), operation}; }
  void Barrier(Clock& from, Clock& to) {
    Published object;
    from.Release(object);
    to.Acquire(object.knowledge());
  }

  Domain domain_;
  Clock a_{&domain_, MakeAgent(0, 0)}, b_{&domain_, MakeAgent(0, 1)}, c_{&domain_, MakeAgent(1, 0)};
  History cell_;
};

TEST_F(HistoryTest, ReadsOfTheUnwritten) {
  EXPECT_EQ(cell_.Read(By(a_, kLoad)).conflict, Conflict::kUnwritten);
  EXPECT_EQ(cell_.Read(By(a_, kLoad)).conflict, Conflict::kNone);  // reported once
}

TEST_F(HistoryTest, UnorderedAccessesAreRaces) {
  EXPECT_FALSE(cell_.Write(By(a_, kStore)));
  const Finding read = cell_.Read(By(b_, kLoad));
  EXPECT_EQ(read.conflict, Conflict::kReadAfterWrite);
  EXPECT_EQ(read.other.agent, a_.self());
  EXPECT_EQ(read.other.what().kind, kStore.kind);
  EXPECT_EQ(cell_.Write(By(c_, kStore)).conflict, Conflict::kWriteAfterWrite);
}

TEST_F(HistoryTest, OrderedAccessesAreNot) {
  EXPECT_FALSE(cell_.Write(By(a_, kStore)));
  Barrier(a_, b_);
  EXPECT_FALSE(cell_.Read(By(b_, kLoad)));
  Barrier(b_, c_);
  EXPECT_FALSE(cell_.Write(By(c_, kStore)));
}

TEST_F(HistoryTest, EachOfManyReadsIsRemembered) {
  cell_.SetWritten();
  std::vector<Clock> readers;
  for (uint32_t i = 0; i < 20; ++i) readers.emplace_back(&domain_, MakeAgent(i % 3, 10 + i));
  for (Clock& reader : readers) EXPECT_FALSE(cell_.Read(By(reader, kLoad)));
  for (size_t missing = 0; missing < readers.size(); ++missing) {
    History cell = cell_;
    Clock writer(&domain_, MakeAgent(7, 0));
    for (size_t i = 0; i < readers.size(); ++i) {
      if (i != missing) Barrier(readers[i], writer);
    }
    const Finding finding = cell.Write(By(writer, kStore));
    EXPECT_EQ(finding.conflict, Conflict::kWriteAfterRead);
    EXPECT_EQ(finding.other.agent, readers[missing].self());
  }
}

TEST_F(HistoryTest, AtomicsConflictWithOthersOnly) {
  EXPECT_FALSE(cell_.Write(By(a_, kAdd)));
  EXPECT_FALSE(cell_.Write(By(b_, kAdd)));
  EXPECT_EQ(cell_.Read(By(c_, kLoad)).conflict, Conflict::kReadAfterWrite);
}

TEST_F(HistoryTest, AsynchronousAccessesNeedAFence) {
  EXPECT_FALSE(cell_.Write(By(a_, kStore)));
  Barrier(a_, b_);
  History unfenced = cell_;
  EXPECT_EQ(unfenced.Read(By(b_, kCopy)).conflict, Conflict::kUnfenced);
  b_.Fence();
  EXPECT_FALSE(cell_.Read(By(b_, kCopy)));
}

TEST_F(HistoryTest, CopiesOfOneEngineAreNotOrdered) {
  const Agent engine = MakeAgent(0, 5);
  EXPECT_FALSE(cell_.Write({a_, {engine, 1}, kCopy}));
  EXPECT_EQ(cell_.Write({a_, {engine, 2}, kCopy}).conflict, Conflict::kWriteAfterWrite);
  a_.Learn({engine, 2});
  EXPECT_FALSE(cell_.Write({a_, {engine, 3}, kCopy}));
}

// Against the definition: an access conflicts if some earlier conflicting access of the whole past is not known.
TEST_F(HistoryTest, FindsEveryRaceOfRandomPrograms) {
  struct Past {
    Epoch epoch;
    bool write;
  };
  std::mt19937 random(3);
  int racy = 0;
  for (int program = 0; program < 2000; ++program) {
    Domain domain;
    std::vector<Clock> clocks;
    for (uint32_t i = 0; i < 6; ++i) clocks.emplace_back(&domain, MakeAgent(i / 4, i));
    History cell;
    cell.SetWritten();
    std::vector<Past> past;
    for (int step = 0; step < 40; ++step) {
      Clock& clock = clocks[random() % clocks.size()];
      if (random() % 2 == 0) {
        Barrier(clocks[random() % clocks.size()], clock);
        continue;
      }
      const bool write = random() % 3 == 0;
      bool race = false;
      for (const Past& p : past) race |= (p.write || write) && !clock.Knows(p.epoch);
      const Access access = {clock, clock.Now(), write ? kStore : kLoad};
      const Finding finding = write ? cell.Write(access) : cell.Read(access);
      ASSERT_EQ(static_cast<bool>(finding), race) << program << " " << step;
      past.push_back({clock.Now(), write});
      if (race) {
        ++racy;
        break;  // only the first race of a program is exact
      }
    }
  }
  EXPECT_GT(racy, 100);
}

}  // namespace
}  // namespace tilewright::clocks
