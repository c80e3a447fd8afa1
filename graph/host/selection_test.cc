// Selections against ones that are written for reading: sorts by element and place, searches of all that came before.
#include "graph/host/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "codegen/runtime/thread_pool.h"
#include "graph/host/array.h"

namespace tilewright::graph {
namespace {

// Few different numbers, so that many are equal, with NaN and both zeros.
NDArray Numbers(DataType type, std::vector<int64_t> shape, uint64_t seed) {
  NDArray x(type, std::move(shape));
  FillUniform(x, seed, -9, 9);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double rounded = std::nearbyint(x.Get(i));
    const double zero = i % 2 == 0 ? 0.0 : -0.0;
    x.Set(i, rounded == 0 ? zero : rounded == 7 && type.is_float() ? std::nan("") : rounded);
  }
  return x;
}

// Whether the element at `a` is above the one at `b`.
bool Above(const NDArray& x, int64_t a, int64_t b) {
  const double u = x.Get(a), v = x.Get(b);
  return std::isnan(u) ? !std::isnan(v) : u > v;
}

TEST(HostSelection, TopKIsASortByElementAndPlace) {
  const DataType types[] = {DataType::Float(32), DataType::Float(64), DataType::Float(16), DataType::BFloat16(),
                            DataType::Int(64),   DataType::UInt(8),   DataType::UInt(16)};
  uint64_t seed = 1;
  for (const DataType type : types) {
    for (const int64_t extent : {1, 7, 16, 100, 1000}) {
      for (const int64_t k : {int64_t{0}, int64_t{1}, extent / 10, extent / 2, extent}) {
        for (const bool largest : {false, true}) {
          const NDArray x = Numbers(type, {2, extent, 3}, seed++);
          NDArray count(DataType::Int(64), {1});
          count.SetInt(0, k);
          const auto result = RunTopK({{"axis", int64_t{1}}, {"largest", largest}}, {x, count});
          ASSERT_TRUE(result.ok());
          for (int64_t line = 0; line < 6; ++line) {
            const int64_t o = line / 3, i = line % 3;
            const auto at = [&](int64_t p, int64_t of) { return (o * of + p) * 3 + i; };
            std::vector<int64_t> order(static_cast<size_t>(extent));
            std::iota(order.begin(), order.end(), 0);
            std::ranges::sort(order, [&](int64_t a, int64_t b) {
              const bool first = Above(x, at(a, extent), at(b, extent)), last = Above(x, at(b, extent), at(a, extent));
              return first || last ? first == largest : a < b;
            });
            for (int64_t r = 0; r < k; ++r) {
              const int64_t position = order[static_cast<size_t>(r)];
              ASSERT_EQ((*result)[1].GetInt(at(r, k)), position) << type.ToString() << " " << extent << " " << k;
              const double value = x.Get(at(position, extent)), got = (*result)[0].Get(at(r, k));
              ASSERT_TRUE(got == value || (std::isnan(got) && std::isnan(value)));
            }
          }
        }
      }
    }
  }
}

TEST(HostSelection, UniqueIsASearchOfWhatCameBefore) {
  for (const bool sorted : {false, true}) {
    for (const int64_t inner : {1, 2}) {
      const NDArray x = Numbers(DataType::Float(32), {60, inner}, 5);
      const auto result = RunUnique({{"axis", int64_t{0}}, {"sorted", sorted}}, {x});
      ASSERT_TRUE(result.ok());
      const Arrays& found = *result;
      const auto same = [&](int64_t a, int64_t b) {
        for (int64_t i = 0; i < inner; ++i) {
          if (Above(x, a * inner + i, b * inner + i) || Above(x, b * inner + i, a * inner + i)) return false;
        }
        return true;
      };
      const int64_t count = found[1].size();
      EXPECT_GT(count, 1);
      for (int64_t g = 0; g < count; ++g) {
        const int64_t first = found[1].GetInt(g);
        int64_t times = 0;
        for (int64_t s = 0; s < 60; ++s) {
          EXPECT_EQ(found[2].GetInt(s) == g, same(s, first));
          times += same(s, first);
          if (same(s, first)) EXPECT_GE(s, first);
        }
        EXPECT_EQ(found[3].GetInt(g), times);
        if (g == 0) continue;
        const int64_t before = found[1].GetInt(g - 1);
        const bool by_value = inner > 1 || Above(x, first, before);
        EXPECT_TRUE(sorted ? by_value : first > before);
      }
    }
  }
}

// More numbers than a table begins with.
TEST(HostSelection, UniqueFindsManyNumbers) {
  constexpr int64_t kCount = 5000, kDifferent = 1999;
  NDArray x(DataType::Int(64), {kCount});
  for (int64_t i = 0; i < kCount; ++i) x.SetInt(i, (i % kDifferent * 7919 % kDifferent) * (int64_t{1} << 40) - 5);
  for (const bool sorted : {false, true}) {
    const auto result = RunUnique({{"axis", int64_t{0}}, {"sorted", sorted}}, {x});
    ASSERT_TRUE(result.ok());
    const Arrays& found = *result;
    ASSERT_EQ(found[0].size(), kDifferent);
    for (int64_t g = 1; g < kDifferent; ++g) {
      const auto& numbers = sorted ? found[0] : found[1];
      ASSERT_LT(numbers.GetInt(g - 1), numbers.GetInt(g));
    }
    for (int64_t i = 0; i < kCount; ++i) {
      const int64_t g = found[2].GetInt(i);
      ASSERT_EQ(found[0].GetInt(g), x.GetInt(i));
      ASSERT_EQ(found[1].GetInt(g), i % kDifferent);
      ASSERT_EQ(found[3].GetInt(g), (kCount - 1 - i % kDifferent) / kDifferent + 1);
    }
  }
}

TEST(HostSelection, CompressTakesSlicesOfAnySize) {
  for (const int64_t inner : {1, 2, 3, 8}) {
    NDArray x(DataType::Int(16), {2, 5, inner}), marks(DataType::Bool(), {4});
    for (int64_t i = 0; i < x.size(); ++i) x.SetInt(i, i);
    marks.SetInt(1, 1);
    marks.SetInt(3, 1);
    const auto result = RunCompress({{"axis", int64_t{1}}}, {x, marks});
    ASSERT_TRUE(result.ok());
    for (int64_t i = 0; i < 4 * inner; ++i) {
      const int64_t o = i / (2 * inner), slice = i / inner % 2 == 0 ? 1 : 3;
      EXPECT_EQ((*result)[0].GetInt(i), (o * 5 + slice) * inner + i % inner);
    }
  }
}

// Boxes of one size in a row that overlap their neighbours alone, with scores of which many are equal.
TEST(HostSelection, BoxesAreTakenByScoreThenPlace) {
  constexpr int64_t kCount = 40;
  NDArray boxes(DataType::Float(32), {1, kCount, 4}), scores(DataType::Float(32), {1, 1, kCount});
  NDArray most(DataType::Int(64), {}), iou(DataType::Float(32), {}), threshold(DataType::Float(32), {});
  for (int64_t i = 0; i < kCount; ++i) {
    const double left = 0.6 * static_cast<double>(i);
    const double corners[] = {0, left, 1, left + 1};
    for (int64_t d = 0; d < 4; ++d) boxes.Set(i * 4 + d, corners[d]);
    scores.Set(i, static_cast<double>(i * 7 % 5));
  }
  most.SetInt(0, 6);
  iou.Set(0, 0.2);
  threshold.Set(0, 0.5);
  const auto result = RunNonMaxSuppression({{"center", int64_t{0}}}, {boxes, scores, most, iou, threshold});
  ASSERT_TRUE(result.ok());
  std::vector<int64_t> order, kept;
  for (int64_t i = 0; i < kCount; ++i) {
    if (scores.Get(i) > 0.5) order.push_back(i);
  }
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    return scores.Get(a) != scores.Get(b) ? scores.Get(a) > scores.Get(b) : a < b;
  });
  for (int64_t i : order) {
    const bool free = std::ranges::none_of(kept, [&](int64_t k) { return std::abs(k - i) == 1; });
    if (free && kept.size() < 6) kept.push_back(i);
  }
  ASSERT_EQ((*result)[0].shape(), (std::vector<int64_t>{std::ssize(kept), 3}));
  for (int64_t k = 0; k < std::ssize(kept); ++k) {
    EXPECT_EQ((*result)[0].GetInt(k * 3 + 2), kept[static_cast<size_t>(k)]);
  }
}

TEST(HostSelection, NgramsAreCountedByRow) {
  NDArray x(DataType::Int(64), {2, 5});
  const int64_t words[] = {1, 2, 1, 2, 3, 3, 2, 2, 1, 2};
  for (int64_t i = 0; i < 10; ++i) x.SetInt(i, words[i]);
  const auto run = [&](const char* mode, int64_t skips) {
    const Attrs attrs = {{"counts", IntList{0, 2}},     {"indexes", IntList{0, 2, 1}},
                         {"pool", IntList{1, 3, 1, 2}}, {"weights", FloatList{2, 3, 5}},
                         {"mode", std::string(mode)},   {"least", int64_t{1}},
                         {"most", int64_t{2}},          {"skips", skips}};
    const auto result = PrepareNgrams(attrs)(attrs, {x}, nullptr);
    std::vector<double> values;
    for (int64_t i = 0; result.ok() && i < (*result)[0].size(); ++i) values.push_back((*result)[0].Get(i));
    return values;
  };
  EXPECT_EQ(run("TF", 0), (std::vector<double>{2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(run("IDF", 0), (std::vector<double>{2, 5, 3, 2, 5, 3}));
  EXPECT_EQ(run("TFIDF", 0), (std::vector<double>{4, 10, 3, 2, 5, 3}));
  EXPECT_EQ(run("TF", 3), (std::vector<double>{2, 3, 1, 1, 1, 1}));
}

TEST(HostSelection, TopKIsTheSameWithThreads) {
  runtime::ThreadPool pool({.num_threads = 3});
  const TwParallelHook hook = pool.hook();
  for (const auto& shape : {std::vector<int64_t>{70, 333, 1}, {3, 333, 37}}) {
    const NDArray x = Numbers(DataType::Float(32), shape, 3);
    NDArray count(DataType::Int(64), {1});
    count.SetInt(0, 7);
    const Attrs attrs = {{"axis", int64_t{1}}, {"largest", true}};
    const auto alone = RunTopK(attrs, {x, count}), together = RunTopK(attrs, {x, count}, &hook);
    ASSERT_TRUE(alone.ok() && together.ok());
    EXPECT_TRUE(BitEqual((*alone)[0], (*together)[0]));
    EXPECT_TRUE(BitEqual((*alone)[1], (*together)[1]));
  }
}

TEST(HostSelection, NonzeroIsAScanOfPlaces) {
  for (const DataType type : {DataType::Bool(), DataType::Float(32), DataType::Float(16), DataType::Float(64),
                              DataType::Int(8), DataType::Int(64)}) {
    for (const auto& shape : {std::vector<int64_t>{}, {0}, {13}, {3, 0, 2}, {3, 5, 7}, {2, 1, 3, 1}}) {
      const NDArray x = Numbers(type, shape, 11);
      const auto result = RunNonzero({}, {x});
      ASSERT_TRUE(result.ok());
      const auto rank = std::max<int64_t>(std::ssize(shape), 1), found = (*result)[0].shape()[1];
      int64_t count = 0;
      for (int64_t i = 0; i < x.size(); ++i) {
        if (x.Get(i) == 0) continue;
        ASSERT_LT(count, found);
        int64_t place = 0;
        for (int64_t d = 0; d < rank; ++d) {
          const int64_t extent = shape.empty() ? 1 : shape[static_cast<size_t>(d)];
          place = place * extent + (*result)[0].GetInt(d * found + count);
        }
        EXPECT_EQ(place, i) << type.ToString();
        ++count;
      }
      EXPECT_EQ(found, count);
    }
  }
}

// A pool whose elements lie far apart, and whose tree has too many cells for a table.
TEST(HostSelection, NgramsOfALargePool) {
  constexpr int64_t kWords = 700;
  IntList pool, indexes;
  for (int64_t i = 0; i < kWords; ++i) pool.push_back(i * 1'000'003);
  for (int64_t i = 0; i < kWords; ++i) pool.insert(pool.end(), {i * 1'000'003, (i + 1) % kWords * 1'000'003});
  for (int64_t i = 0; i < 2 * kWords; ++i) indexes.push_back(i);
  const Attrs attrs = {{"counts", IntList{0, kWords}}, {"indexes", indexes},        {"pool", pool},
                       {"weights", FloatList{}},       {"mode", std::string("TF")}, {"least", int64_t{1}},
                       {"most", int64_t{2}},           {"skips", int64_t{0}}};
  NDArray x(DataType::Int(64), {4});
  const int64_t words[] = {5'000'015, 6'000'018, 7, 5'000'015};
  for (int64_t i = 0; i < 4; ++i) x.SetInt(i, words[i]);
  const auto result = PrepareNgrams(attrs)(attrs, {x}, nullptr);
  ASSERT_TRUE(result.ok());
  for (int64_t i = 0; i < 2 * kWords; ++i) {
    EXPECT_EQ((*result)[0].Get(i), i == 5 ? 2 : i == 6 || i == kWords + 5 ? 1 : 0) << i;
  }
}

TEST(HostArray, PartsCoverTheLoop) {
  std::vector<int> times(100, 0);
  ForParts(nullptr, 100, 1 << 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
  });
  EXPECT_TRUE(std::ranges::all_of(times, [](int t) { return t == 1; }));
  EXPECT_EQ(Unwritten(DataType::Float(32), {3, 5}).bytes(), 60);
}

}  // namespace
}  // namespace tilewright::graph
