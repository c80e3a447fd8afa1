#include "autoschedule/measure/compile_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol/add_one_testing.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "autoschedule/measure/reference/reference.h"
#include "base/temporary_folder.h"
#include "codegen/runtime/loaded_module.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

class CompileWorkerTest : public ::testing::Test {
 protected:
  std::string PathOf(const std::string& name) const { return (folder_.path() / name).string(); }
  CompileRequest RequestFor(const std::string& program, bool reference = false) const {
    CompileRequest request = add_one::CompileRequestFor(program, folder_.path().string(), reference);
    request.library = PathOf("candidate.so");
    return request;
  }
  static WorkerAnswer Answer(const CompileRequest& request) {
    const auto answer = ReadWorkerAnswer(AnswerCompileRequest(ToLine(request)));
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : WorkerAnswer();
  }

  const TemporaryFolder folder_;
};

TEST_F(CompileWorkerTest, ALibraryHasTheFunction) {
  const CompileRequest request = RequestFor(add_one::Text(4));
  const WorkerAnswer answer = Answer(request);
  EXPECT_TRUE(answer.ok) << answer.error;
  EXPECT_EQ(answer.code_bytes, static_cast<int64_t>(std::filesystem::file_size(request.library)));
  EXPECT_GT(answer.seconds, 0);
  std::string error;
  const auto library = runtime::LoadedModule::Open(request.library, &error);
  ASSERT_TRUE(library) << error;
  EXPECT_NE(library->Find("main"), nullptr);
}

TEST_F(CompileWorkerTest, WhatIsNotARequestIsAnsweredByAnError) {
  const auto answer = ReadWorkerAnswer(AnswerCompileRequest("{"));
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->ok);
  EXPECT_EQ(answer->reason, kReasonCompile);
  EXPECT_NE(answer->error, "");
}

TEST_F(CompileWorkerTest, AnotherProgramThanTheOneAskedForIsNotCompiled) {
  CompileRequest request = RequestFor(add_one::Text(4));
  ++request.hash;
  const WorkerAnswer answer = Answer(request);
  EXPECT_EQ(answer.reason, kReasonCompile);
  EXPECT_EQ(answer.error, "the program's text does not read back as the program");
  EXPECT_FALSE(std::filesystem::exists(request.library));
  request.program = "def main(";
  EXPECT_THAT(Answer(request).error, HasSubstr("candidate:1"));
}

// A CPU has no threads to bind loops to.
TEST_F(CompileWorkerTest, WhatCodeGenerationRefusesIsAnError) {
  const WorkerAnswer answer = Answer(RequestFor(add_one::TextByThreads(4)));
  EXPECT_EQ(answer.reason, kReasonCompile);
  EXPECT_THAT(answer.error, HasSubstr("threadIdx.x"));
}

TEST_F(CompileWorkerTest, ALibraryThatCannotBeWrittenIsAnError) {
  CompileRequest request = RequestFor(add_one::Text(4));
  request.library = PathOf("no/such/folder/candidate.so");
  EXPECT_EQ(Answer(request).error, absl::StrCat(request.library, " cannot be written"));
}

TEST_F(CompileWorkerTest, AReferenceIsWrittenIntoTheFolder) {
  CompileRequest request = RequestFor(add_one::Text(4), /*reference=*/true);
  request.tensors = {add_one::TensorA(4), add_one::TensorB(4)};
  request.seed = 7;
  const WorkerAnswer answer = Answer(request);
  EXPECT_TRUE(answer.ok) << answer.error;
  EXPECT_EQ(answer.error, "");
  const auto reference = ReadReference(request.tensors[1], request.folder, 1);
  ASSERT_TRUE(reference.ok()) << reference.status();
  const NDArray a = SeededTensor(request.tensors[0], request.seed, 0);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(reference->value.Get(i), a.Get(i) + 1, 1e-6);
}

TEST_F(CompileWorkerTest, AReferenceNeedsTheProgramsParameters) {
  CompileRequest request = RequestFor(add_one::Text(4), /*reference=*/true);
  request.tensors = {add_one::TensorA(4)};
  EXPECT_EQ(Answer(request).error, "the program has no function with these parameters");
}

}  // namespace
}  // namespace tilewright
