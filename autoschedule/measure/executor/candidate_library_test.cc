#include "autoschedule/measure/executor/candidate_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "autoschedule/measure/protocol/add_one_testing.h"
#include "base/temporary_folder.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CandidateLibraryTest : public ::testing::Test {
 protected:
  CandidateLibraryTest() {
    const auto library = Compile(ParseOrDie(add_one::Text(4)), HostTarget(), {.format = "so"});
    EXPECT_TRUE(library.ok()) << library.status();
    EXPECT_TRUE(folder_.Write("candidate.so", library->bytes));
    EXPECT_TRUE(folder_.Write("text.so", "this is not a library"));
  }
  std::string PathOf(const char* name) const { return (folder_.path() / name).string(); }

  const TemporaryFolder folder_;
};

TEST_F(CandidateLibraryTest, FunctionsOfThisProcessRun) {
  const auto library = CandidateLibrary::Open({}, {}, PathOf("candidate.so"));
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->elsewhere(), nullptr);
  EXPECT_EQ(library->WorkspaceBytes("main"), 0);
  EXPECT_EQ(library->Find("other"), nullptr);
  const TwFunction main = library->Find("main");
  ASSERT_NE(main, nullptr);
  auto a = runtime::Tensor::Allocate(AbiType(DataType::Float(32)), {4}),
       b = runtime::Tensor::Allocate(AbiType(DataType::Float(32)), {4});
  ASSERT_TRUE(a && b);
  std::ranges::copy(std::array<float, 4>{1, 2, 3, 4}, static_cast<float*>(a->abi()->data));
  TwTensor* args[] = {a->abi(), b->abi()};
  const TwCall call = {};
  EXPECT_EQ(main(&call, args, 2), kTwOk);
  EXPECT_THAT(std::span(static_cast<const float*>(b->abi()->data), 4), ElementsAre(2, 3, 4, 5));
}

TEST_F(CandidateLibraryTest, WhatIsNotALibraryIsRefused) {
  for (const char* name : {"text.so", "no_such.so"}) {
    const auto library = CandidateLibrary::Open({}, {}, PathOf(name));
    EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(std::string(library.status().message()), HasSubstr(name));
  }
}

TEST_F(CandidateLibraryTest, AWorkerElsewhereIsSentFilesThatCanBeRead) {
  const auto missing = CandidateLibrary::Open({"/no/such/worker"}, {PathOf("no_such.so")}, PathOf("candidate.so"));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("cannot read " + PathOf("no_such.so")));
  const auto worker = CandidateLibrary::Open({"/no/such/worker"}, {}, PathOf("candidate.so"));
  EXPECT_FALSE(worker.ok());
}

}  // namespace
}  // namespace tilewright
