#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"

ABSL_FLAG(int, lanes, 4, "A flag that only this test reads.");

namespace tilewright {
namespace {

int64_t Product(absl::Span<const int64_t> extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

TEST(AbslTest, LinksContainersStringsAndStatus) {
  absl::flat_hash_map<std::string, absl::InlinedVector<int64_t, 4>> shapes;
  shapes["A"] = {2, 3, 4};
  EXPECT_EQ(Product(shapes["A"]), 24);
  EXPECT_EQ(absl::HashOf(1, 2), absl::HashOf(1, 2));
  const absl::StatusOr<int> refused = absl::InvalidArgumentError(absl::StrCat("extent ", 0));
  EXPECT_THAT(refused.status().ToString(), testing::HasSubstr("extent 0"));
  EXPECT_EQ(absl::StrFormat("%d", 7), "7");
}

TEST(AbslTest, ParsesFlags) {
  char program[] = "program";
  char flag[] = "--lanes=8";
  char* arguments[] = {program, flag};
  absl::ParseCommandLine(2, arguments);
  EXPECT_EQ(absl::GetFlag(FLAGS_lanes), 8);
}

}  // namespace
}  // namespace tilewright
