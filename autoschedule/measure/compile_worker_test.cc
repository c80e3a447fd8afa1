#include "autoschedule/measure/compile_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "autoschedule/measure/reference/reference.h"
#include "base/temporary_folder.h"
#include "codegen/runtime/loaded_module.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr char kAddOne[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + T.float32(1)
)";

// A CPU has no threads to bind loops to.
constexpr char kOfThreads[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + T.float32(1)
)";

class CompileWorkerTest : public ::testing::Test {
 protected:
  std::string PathOf(const std::string& name) const { return (folder_.path() / name).string(); }
  CompileRequest RequestFor(const std::string& program, const Target& target = HostTarget()) const {
    CompileRequest request;
    request.program = program;
    request.hash = StructuralHash(ParseOrDie(program));
    request.target = target;
    request.library = PathOf("candidate.so");
    request.folder = folder_.path().string();
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
  const CompileRequest request = RequestFor(kAddOne);
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
  CompileRequest request = RequestFor(kAddOne);
  ++request.hash;
  const WorkerAnswer answer = Answer(request);
  EXPECT_EQ(answer.reason, kReasonCompile);
  EXPECT_EQ(answer.error, "the program's text does not read back as the program");
  EXPECT_FALSE(std::filesystem::exists(request.library));
  request.program = "def main(";
  EXPECT_THAT(Answer(request).error, HasSubstr("candidate:1"));
}

TEST_F(CompileWorkerTest, WhatCodeGenerationRefusesIsAnError) {
  const WorkerAnswer answer = Answer(RequestFor(kOfThreads));
  EXPECT_EQ(answer.reason, kReasonCompile);
  EXPECT_THAT(answer.error, HasSubstr("threadIdx.x"));
}

TEST_F(CompileWorkerTest, ALibraryThatCannotBeWrittenIsAnError) {
  CompileRequest request = RequestFor(kAddOne);
  request.library = PathOf("no/such/folder/candidate.so");
  EXPECT_EQ(Answer(request).error, absl::StrCat(request.library, " cannot be written"));
}

TEST_F(CompileWorkerTest, AReferenceIsWrittenIntoTheFolder) {
  CompileRequest request = RequestFor(kAddOne);
  request.reference = true;
  request.tensors = {{.name = "A", .dtype = DataType::Float(32), .shape = {4}},
                     {.name = "B", .dtype = DataType::Float(32), .shape = {4}, .written = true}};
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
  CompileRequest request = RequestFor(kAddOne);
  request.reference = true;
  request.tensors = {{.name = "A", .dtype = DataType::Float(32), .shape = {4}}};
  EXPECT_EQ(Answer(request).error, "the program has no function with these parameters");
}

}  // namespace
}  // namespace tilewright
