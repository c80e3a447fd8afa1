// Every flag with every command and kind of FILE: refused by name, or accepted as the table says; what is refused of
// values, names and files; what is verified before it is compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ir/ndarray.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/flag_table.h"
#include "tools/command_line/parse.h"
#include "tools/commands.h"
#include "tools/fuzz/command_lines.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Result = ToolResult;

const CommandLineFiles& Files() {
  setenv("TILEWRIGHT_KERNEL_CACHE", "off", 1);
  static const auto* const files = new CommandLineFiles(testing::TempDir() + "/flags");
  return *files;
}
const std::string& File(FileKind kind) { return Files().of_kind.at(kind); }

std::string Write(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Whether the words would run the command; what is said where they would not.
std::pair<bool, std::string> Accepted(const Command& command, const std::vector<std::string>& words) {
  std::istringstream in;
  std::ostringstream out, err;
  CommandArguments args(in, out, err);
  const bool accepted = !CommandLineParser(command, &args).Parse(words);
  return {accepted, err.str()};
}

std::string GoodValue(const FlagRow& row) {
  switch (row.form) {
    case ValueForm::kChoice:
      return WordsOf(row.value, '|').back();
    case ValueForm::kTarget:
      return "host";
    case ValueForm::kDim:
    case ValueForm::kDims:
    case ValueForm::kDimSizes:
      return "n=16";
    default:
      return "1";
  }
}

std::string Words(const FlagRow& row) {
  return row.form == ValueForm::kSwitch ? std::string(row.flag) : std::string(row.flag) + "=" + GoodValue(row);
}

// The table has each flag once for a command, and says something of it.
TEST(Flags, TheTableIsSound) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const FlagRow& row : FlagRows()) {
    EXPECT_TRUE(seen.emplace(row.command, row.flag).second) << row.command << " " << row.flag;
    EXPECT_FALSE(row.help.empty()) << row.flag;
    EXPECT_EQ(row.value.empty(), row.form == ValueForm::kSwitch) << row.flag;
    for (const std::string& other : WordsOf(row.rules.excludes, ' '))
      EXPECT_TRUE(FindFlag(row.command, other)) << other;
  }
  for (const Command& command : AllCommands()) {
    for (const FlagRow& row : FlagsOf(command.name)) EXPECT_EQ(row.kinds & ~command.takes, 0u) << row.flag;
  }
}

TEST(Flags, EveryFlagWithEveryCommandAndKind) {
  std::map<std::string, FlagRow> all;
  for (const FlagRow& row : FlagRows()) all.emplace(row.flag, row);
  int accepted_lines = 0;
  for (const Command& command : AllCommands()) {
    if (command.takes == 0) continue;
    for (const FileKind kind : kFileKinds) {
      for (const auto& [flag, any] : all) {
        const FlagRow* row = FindFlag(command.name, flag);
        std::vector<std::string> words = {std::string(command.name)};
        for (const std::string& operand : WordsOf(command.operands, ' ')) {
          if (operand[0] != '[') words.push_back(File(kind));
        }
        words.push_back(Words(row != nullptr ? *row : any));
        if (row != nullptr && !row->rules.needs.empty()) {
          std::string needed(row->rules.needs.substr(0, row->rules.needs.find('|')));
          if (needed.find('=') == std::string::npos) needed += "=1";
          const bool alone = row->kinds == kModels;
          if (((alone ? kModels : kPrograms | kKernels) & row->kinds & Bit(kind)) != 0) words.push_back(needed);
        }
        const auto [accepted, said] = Accepted(command, words);
        SCOPED_TRACE(command.name);
        SCOPED_TRACE(words.back());
        SCOPED_TRACE(NameOf(kind));
        if (row != nullptr && (row->kinds & Bit(kind)) != 0) {
          EXPECT_TRUE(accepted) << said;
          ++accepted_lines;
          continue;
        }
        EXPECT_FALSE(accepted);
        EXPECT_THAT(said, AllOf(HasSubstr(flag), HasSubstr(command.name)));
        if (row != nullptr) EXPECT_THAT(said, HasSubstr(NameOf(kind)));
        EXPECT_EQ(RunTool(words).status, kUsage);
      }
    }
  }
  EXPECT_GT(accepted_lines, 100);
}

// Places below a file, and folders where a file is wanted, are refused before anything is run.
TEST(Flags, WhatCannotBeWrittenIsSaidFirst) {
  const std::string file = Write("a_file", ""), folder = testing::TempDir();
  int tried = 0;
  for (const FlagRow& row : FlagRows()) {
    if (row.form != ValueForm::kOut && row.form != ValueForm::kOutFolder) continue;
    SCOPED_TRACE(row.command);
    SCOPED_TRACE(row.flag);
    std::vector<std::string> words = {std::string(row.command)};
    if (row.command == "db") words.emplace_back("export");
    for (const FileKind kind : kFileKinds) {
      if ((row.kinds & Bit(kind)) == 0) continue;
      words.push_back(File(kind));
      break;
    }
    const auto refuses = [&](const std::string& place, const std::string& why) {
      std::vector<std::string> all = words;
      all.push_back(std::string(row.flag) + "=" + place);
      const Result result = RunTool(all);
      EXPECT_EQ(result.status, kRefused);
      EXPECT_EQ(result.out, "");
      EXPECT_EQ(result.err, place + " cannot be written: " + why + "\n");
    };
    refuses(file + "/x", "Not a directory");
    if (row.form == ValueForm::kOut) refuses(folder, "Is a directory");
    if (row.form == ValueForm::kOutFolder) refuses(file, "Not a directory");
    ++tried;
  }
  EXPECT_GE(tried, 14);
}

// A folder is there only when something is written to it.
TEST(Flags, FoldersOfResultsAreMadeByTheCommand) {
  const std::string top = testing::TempDir() + "/results", deep = top + "/of/a";
  const std::string& program = File(FileKind::kProgram);
  EXPECT_EQ(RunTool({"run", program, "--outputs=" + deep, "--func=nothing"}).status, kUsage);
  EXPECT_FALSE(std::filesystem::exists(top));
  const Result result = RunTool({"run", program, "--dim=n=4", "--outputs", deep});
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_FALSE(std::filesystem::is_empty(deep));
  std::filesystem::remove_all(top);
}

// A kind of FILE that a command does not take is named.
TEST(Flags, EveryCommandWithEveryKind) {
  for (const Command& command : AllCommands()) {
    for (const FileKind kind : kFileKinds) {
      if (command.takes == 0 || (command.takes & Bit(kind)) != 0) continue;
      std::vector<std::string> words = {std::string(command.name), File(kind)};
      if (command.name == "equal") words.push_back(File(kind));
      const Result result = RunTool(words);
      EXPECT_EQ(result.status, kRefused) << command.name;
      EXPECT_THAT(result.err, HasSubstr("this is " + std::string(NameOf(kind)) + ", and " + std::string(command.name)));
    }
  }
}

TEST(Flags, ModelsRefuseWhatTheyDoNotUse) {
  const std::string& model = File(FileKind::kModel);
  const auto refuses = [&](std::vector<std::string> words, const std::string& said) {
    const Result result = RunTool(words);
    EXPECT_EQ(result.status, kUsage) << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr(said));
  };
  refuses({"run", model, "--engine=nonsense"}, "--engine must be one of interp, llvm");
  refuses({"run", model, "--dim=n=4", "--engine=llvm", "--target=cuda-sm80"}, "--engine=llvm does not run models on");
  refuses({"run", model, "--against=/nonexist"}, "--against of run");
  refuses({"run", model, "--compare"}, "--compare of run");
  refuses({"run", model, "--opt-level=9"}, "--opt-level must be a number from 0 to 3, got 9");
  refuses({"run", model, "--dim=bach=4"}, "--dim bach=4: no input of the model has a symbolic dimension bach");
  refuses({"run", model, "--dim=n=4", "--dim=n=5"}, "--dim gives n twice");
  refuses({"run", model, "--dim=n=4", "--disable=FuseKernel"}, "there is no such pass; did you mean FuseKernels?");
  refuses({"run", model, "--dim=n=4", "--disable=FuseKernels", "--opt-level=1"}, "has no effect with --opt-level=1");
  refuses({"run", model, "--dim=n=4", "--precision=integer", "--opt-level=1"}, "has no effect with --opt-level=1");
  refuses({"run", model, "--dim=n=4", "--precision=integer", "--disable=IntegerProducts"},
          "has no effect with --disable=IntegerProducts");
  refuses({"explain", model, "--precision=half"}, "--precision must be one of f32, integer, f16, bf16");
  refuses({"run", model, "--inputs=" + Files().misnamed_inputs}, "Z.npy names no input of the model; did you mean X");
  refuses({"run", model, "--target=nonsense"}, "--target=nonsense: there is no such target");
  refuses({"compile", model, "--script=s.py", "-o", "m.so"}, "--script of compile is for a program, and FILE is");
  refuses({"tune", model, "--html=x"}, "--html of tune is for a program, and FILE is an ONNX model");
}

TEST(Flags, ProgramsRefuseWhatTheyDoNotUse) {
  const std::string& program = File(FileKind::kProgram);
  const auto refuses = [&](std::vector<std::string> words, const std::string& said) {
    const Result result = RunTool(words);
    EXPECT_EQ(result.status, kUsage) << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr(said));
  };
  refuses({"run", program, "--opt-level=1"}, "--opt-level of run is for an ONNX model, and FILE is a program");
  refuses({"run", program, "--disable=x"}, "--disable of run is for an ONNX model");
  refuses({"run", program, "--dim=m=4"}, "--dim m=4: main has no extent or scalar parameter m");
  refuses({"run", program, "--dim=n=16", "--inputs=" + Files().misnamed_inputs}, "Z.npy names no parameter of main");
  refuses({"run", program, "--func=mian"}, "--func=mian: there is no such function; did you mean main?");
  refuses({"run", program, "--target=host", "--engine=interp"}, "--target has no effect");
  refuses({"run", program, "--intrin=" + program}, "--intrin has no effect");
  refuses({"run", program, "--unverified"}, "--unverified of run has no effect with --engine=interp");
  refuses({"run", program, "--compare", "--against=" + program}, "exclude each other");
  refuses({"run", program, "--engine=llvm", "--target=cuda-sm80"}, "--engine=llvm does not run code for");
  refuses({"tune", program, "--dim=m=4"}, "main has no extent or scalar parameter m");
  refuses({"tune", program, "--seconds=0"}, "--seconds must be a positive number, got 0");
  refuses({"tune", program, "--list-candidates", "--html=x"}, "--list-candidates and --html exclude each other");
  refuses({"explain", program, "--plan"}, "--plan of explain is for an ONNX model, and FILE is a program");
  refuses({"explain", program, "--as-is", "--script=x"}, "--script and --as-is exclude each other");
  refuses({"compile", program, "--db=x", "--script=x", "-o", "x.o"}, "--script and --db exclude each other");
  refuses({"compile", program, "-o", "x.o", "--print-after=flatten_bufers"}, "did you mean flatten_buffers?");
  refuses({"run", program, "--seconds=1"}, "unknown flag --seconds, which is one of tune, not of run");
  refuses({"run", program, "--threds=1"}, "unknown flag --threds");
  refuses({"run", program, "--tarce=1"}, "unknown flag --tarce; did you mean --target?");
  refuses({"db", "list", "--db=x", "--keep=3"}, "--keep of db is for prune, not for list");
  refuses({"target", "--calibrate", "--target=host"}, "--calibrate and --target exclude each other");
  refuses({"shwo", program}, "unknown command 'shwo'; did you mean show?");
}

constexpr char kFillText[] = R"(
@T.prim_func
def fill(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i] = 1.0
)";
constexpr char kScaleText[] = R"(
@T.prim_func
def scale(x: T.handle, y: T.handle):
    n = T.int32()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in range(n):
        with T.block("Y"):
            vi = T.axis.spatial(n, i)
            Y[vi] = X[vi] * T.float32(2)
)";

TEST(Command, RunRefusesInputsItCannotTake) {
  EXPECT_EQ(RunTool({"run", "-", "--inputs=/nowhere"}, kFillText).err,
            "-: error: --inputs /nowhere is not a directory\n");
  EXPECT_EQ(RunTool({"run", "-", "--dim=n=9000000000"}, kScaleText).err,
            "-: error: --dim n=9000000000 does not fit into int32\n");
  EXPECT_EQ(RunTool({"run", "-", "--dim=n=-1"}, kScaleText).err,
            "tilewright run: --dim must be NAME=N with whole numbers from 0 on, got n=-1; see tilewright run --help\n");
  EXPECT_EQ(RunTool({"run", "-", "--launcher=env"}, kFillText).err,
            "tilewright run: --launcher of run has no effect with --engine=interp, only with --engine=llvm; see "
            "tilewright run "
            "--help\n");
  EXPECT_EQ(
      RunTool({"run", "x.onnx", "--launcher=env"}, kFillText).err,
      "tilewright run: --launcher of run is for a program, and FILE is an ONNX model; see tilewright run --help\n");
  EXPECT_NE(RunTool({"run", "-", "--engine=llvm", "--launcher=no-such"}, kFillText).err.find("no-such"),
            std::string::npos);
}

TEST(Flags, FilesAreNamedForWhatTheyAre) {
  const auto says = [&](const std::string& name, const std::string& text, const std::string& said) {
    const std::string path = Write(name, text);
    for (const char* command : {"show", "check", "run"}) {
      const Result result = RunTool({command, path});
      EXPECT_EQ(result.status, kRefused) << command << " " << name;
      EXPECT_THAT(result.err, HasSubstr(said)) << command;
    }
  };
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1000\n";
  says("pointer.py", pointer, "this file is a Git LFS pointer");
  says("none.py", "", "this file is empty");
  says("blank.py", " \n\n", "this file is empty");
  says("zipped.py", "\x1f\x8b\x08", "compressed by gzip");
  says("model.pb", "\x08\x08\x12\x04test", "an ONNX model, whose name has to end in .onnx");
  says("nothing.py", "x = 1\n", ": error: ");
  says("picture.py", "\x89PNG\r\n", "this file is a picture");
  says("bytes.py", std::string("\x01\x00\x02 and more", 12), "this file is binary, and of no kind that is known");
  for (const char* command : {"check", "run"}) {
    EXPECT_THAT(RunTool({command, Write("text.onnx", "@T.prim_func\ndef f(): ...")}).err,
                HasSubstr("this file is text: the name of an ONNX model ends in .onnx"));
    EXPECT_THAT(RunTool({command, ::testing::TempDir()}).err, HasSubstr("error: this is a folder"));
    EXPECT_THAT(RunTool({command, "/nowhere/x.py"}).err, HasSubstr("error: there is no such file"));
  }
  for (const char* command : {"check", "run"}) {
    const Result result = RunTool({command, Write("pointer.onnx", pointer)});
    EXPECT_EQ(result.status, kRefused);
    EXPECT_THAT(result.err, HasSubstr("this file is a Git LFS pointer"));
    EXPECT_THAT(RunTool({command, Write("none.onnx", "")}).err, HasSubstr("this file is empty"));
  }
}

TEST(Flags, GraphTextIsRead) {
  const std::string& graph = File(FileKind::kGraph);
  const Result shown = RunTool({"show", graph});
  EXPECT_EQ(shown.status, kDone) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("R.add(X, X)"));
  EXPECT_EQ(RunTool({"check", graph}).out, "main: well formed\n");
  const Result ran = RunTool({"run", graph, "--dim=n=16", "--inputs=" + Files().inputs});
  EXPECT_EQ(ran.status, kDone) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("result: float32[16] sum "));
  EXPECT_THAT(RunTool({"run", graph}).err, HasSubstr("the shape of X needs --dim n=NUMBER"));
  EXPECT_EQ(RunTool({"run", graph, "--dim=k=16"}).status, kUsage);
  const Result bad =
      RunTool({"check", "-"}, "@R.function\ndef main(x: R.Tensor((4,), dtype=\"float32\")):\n    return y\n");
  EXPECT_EQ(bad.status, kRefused);
  EXPECT_THAT(bad.err, HasSubstr("<stdin>:3:"));
  const Result as_json = RunTool({"show", graph, "--format=json"});
  EXPECT_EQ(as_json.status, kUsage);
  EXPECT_THAT(as_json.err, HasSubstr("--format of show is for a program, and FILE is graph text"));
}

constexpr char kOutside[] = R"(
@T.prim_func
def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("Y"):
            vi = T.axis.spatial(16, i)
            Y[vi] = X[vi + 4]
)";
constexpr char kRace[] = R"(
@T.prim_func
def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((1,), "float32")):
    for i in T.parallel(16):
        with T.block("Y"):
            vi = T.axis.spatial(16, i)
            Y[0] = X[vi]
)";

TEST(Verification, WhatIsCompiledIsVerified) {
  const std::string out = testing::TempDir() + "/unverified.o";
  for (const char* text : {kOutside, kRace}) {
    const std::string program = Write("faulty.py", text);
    const Result checked = RunTool({"check", program});
    EXPECT_EQ(checked.status, kRefused);
    const std::string first = checked.err.substr(0, checked.err.find('\n'));
    EXPECT_THAT(first, StartsWith(program + ":"));
    for (const auto& words : {std::vector<std::string>{"compile", program, "-o", out},
                              std::vector<std::string>{"run", program, "--engine=llvm"},
                              std::vector<std::string>{"run", program, "--engine=llvm", "--as-is"},
                              std::vector<std::string>{"run", program, "--engine=cuda-emulation"}}) {
      std::filesystem::remove(out);
      const Result result = RunTool(words);
      EXPECT_EQ(result.status, kRefused) << words[0];
      EXPECT_THAT(result.err, HasSubstr(first)) << words[0];
      EXPECT_FALSE(std::filesystem::exists(out));
    }
    const Result unverified = RunTool({"compile", program, "-o", out, "--unverified"});
    EXPECT_EQ(unverified.status, kDone) << unverified.err;
    EXPECT_THAT(unverified.err, HasSubstr("not verified: --unverified leaves that out\n"));
  }
}

TEST(Verification, SchedulesAreVerified) {
  const std::string folder = "examples/schedules/";
  const std::string program = folder + "shared_matmul.py", wrong = "--script=" + folder + "shared_matmul_wrong.py";
  const Result compiled =
      RunTool({"compile", program, wrong, "--target=cuda-sm90a", "-o", testing::TempDir() + "/wrong.cu"});
  EXPECT_EQ(compiled.status, kRefused);
  EXPECT_THAT(compiled.err, HasSubstr("the scheduled program is refuted"));
  const Result checked = RunTool({"check", program, wrong, "--target=cuda-sm90a"});
  EXPECT_EQ(checked.status, kRefused);
  EXPECT_NE(checked.err, "");
  const Result ran = RunTool({"run", program, wrong, "--target=cuda-sm90a"});
  EXPECT_EQ(ran.status, kRefused);
  const Result good =
      RunTool({"check", program, "--script=" + folder + "shared_matmul_schedule.py", "--target=cuda-sm90a"});
  EXPECT_EQ(good.status, kDone) << good.err;
  EXPECT_THAT(good.out, HasSubstr("proven valid\n"));
}

TEST(Run, SaysWhichScheduleRan) {
  const std::string& program = File(FileKind::kProgram);
  const auto schedule = [&](std::vector<std::string> flags) {
    std::vector<std::string> words = {"run", program, "--dim=n=16", "--json"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Result result = RunTool(words);
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out).value("schedule", "");
  };
  const std::string script = "--script=" + File(FileKind::kSchedule);
  EXPECT_EQ(schedule({}), "as is");
  EXPECT_EQ(schedule({"--engine=llvm"}), "rules");
  EXPECT_EQ(schedule({"--engine=llvm", "--as-is"}), "as is");
  EXPECT_EQ(schedule({script}), "script");
  EXPECT_EQ(schedule({"--target=cuda-sm90a"}), "rules");
  const Result text = RunTool({"run", program, "--dim=n=16", "--engine=llvm"});
  EXPECT_THAT(text.out, HasSubstr("\nschedule: rules; llvm for host\n"));
  EXPECT_THAT(RunTool({"run", program, "--dim=n=16"}).out, Not(HasSubstr("schedule")));
}

TEST(Run, WritesOutputsAndTimes) {
  const std::string folder = testing::TempDir() + "/outputs_of_run";
  const Result result = RunTool({"run", File(FileKind::kProgram), "--dim=n=16", "--inputs=" + Files().inputs,
                                 "--outputs=" + folder, "--engine=llvm", "--repeat=3"});
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("time: median "));
  const auto x = ReadNpy(Files().inputs + "/X.npy"), y = ReadNpy(folder + "/Y.npy");
  ASSERT_TRUE(x.ok() && y.ok());
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(y->Get(i), 2 * x->Get(i));
  const Result model = RunTool({"run", File(FileKind::kModel), "--dim=n=16", "--repeat=2", "--json"});
  EXPECT_EQ(model.status, kDone) << model.err;
  EXPECT_EQ(nlohmann::json::parse(model.out)["time"]["samples"], 2);
}

TEST(Run, ProfilesNestsAndKernels) {
  const std::string events = testing::TempDir() + "/events.json";
  // The clock implies compiled code.
  const Result text = RunTool({"run", File(FileKind::kProgram), "--dim=n=16", "--profile"});
  EXPECT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("llvm for host"), HasSubstr("profile of 10 calls"), HasSubstr("a call")));
  const Result program = RunTool({"run", File(FileKind::kProgram), "--dim=n=16", "--profile", "--repeat=3",
                                  "--threads=1", "--trace-events=" + events, "--json"});
  EXPECT_EQ(program.status, kDone) << program.err;
  const nlohmann::json run = nlohmann::json::parse(program.out);
  EXPECT_EQ(run["threads"], 1);
  ASSERT_EQ(run["profile"]["parts"].size(), 1);
  EXPECT_EQ(run["profile"]["parts"][0]["samples"], 3);
  EXPECT_GT(run["profile"]["parts"][0]["bound_ms"], 0);
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(events))["traceEvents"].size(), 6);
  const Result model =
      RunTool({"run", File(FileKind::kModel), "--dim=n=16", "--profile", "--repeat=2", "--json", "--threads=1"});
  EXPECT_EQ(model.status, kDone) << model.err;
  const nlohmann::json kernels = nlohmann::json::parse(model.out);
  EXPECT_EQ(kernels["threads"], 1);
  EXPECT_EQ(kernels["engine"], "llvm");
  EXPECT_EQ(kernels["profile"]["parts"][0]["samples"], 2);
  EXPECT_THAT(RunTool({"run", File(FileKind::kProgram), "--dim=n=16", "--engine=interp", "--profile"}).err,
              HasSubstr("--profile of run has no effect with --engine=interp, only with --engine=llvm"));
  EXPECT_THAT(RunTool({"run", File(FileKind::kProgram), "--dim=n=16", "--threads=2"}).err,
              HasSubstr("--threads of run has no effect with --engine=interp"));
  EXPECT_THAT(RunTool({"run", File(FileKind::kProgram), "--target=cuda-sm90a", "--profile"}).err,
              HasSubstr("no effect with --engine=cuda-emulation"));
}

// What a program adds to is what it was at the beginning of each timed call.
TEST(Run, TimedCallsBeginWithTheSameArrays) {
  const std::string path = Write("accumulate.py", R"(@T.prim_func
def main(Y: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("Y"):
            vi = T.axis.spatial(16, i)
            assert Y[vi] < 1000, "too large"
            Y[vi] = Y[vi] + 300
)");
  const std::string folder = testing::TempDir() + "/accumulate";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(WriteNpy(NDArray(DataType::Int(32), {16}), folder + "/Y.npy").ok());
  const Result result = RunTool({"run", path, "--repeat=20", "--profile", "--as-is", "--inputs=" + folder});
  EXPECT_EQ(result.status, kDone) << result.err;
}

TEST(Help, IsMadeFromTheTable) {
  for (const Command& command : AllCommands()) {
    const Result help = RunTool({"help", std::string(command.name)});
    EXPECT_EQ(help.out, RunTool({std::string(command.name), "--help"}).out);
    for (const FlagRow& row : FlagsOf(command.name)) EXPECT_THAT(help.out, HasSubstr(row.flag));
  }
  EXPECT_THAT(RunTool({"help", "run"}).out, HasSubstr("(of an ONNX model)"));
  EXPECT_EQ(RunTool({"help", "rn"}).status, kUsage);
  EXPECT_THAT(RunTool({"--version"}).out, StartsWith("tilewright "));
  const std::string man = RunTool({"help", "--man"}).out;
  EXPECT_THAT(man, AllOf(StartsWith(".TH TILEWRIGHT 1"), HasSubstr("\n.SS \"run FILE\"\n"),
                         HasSubstr("\\fB\\-\\-trace\\-events\\fR\\fI=FILE\\fR\n")));
  for (const FlagRow& row : FlagRows()) {
    std::string flag(row.flag);
    for (size_t at = 0; (at = flag.find('-', at)) != flag.npos; at += 2) flag.insert(at, 1, '\\');
    EXPECT_THAT(man, HasSubstr(flag));
  }
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Result script = RunTool({"completion", shell});
    EXPECT_EQ(script.status, kDone);
    EXPECT_THAT(script.out, AllOf(HasSubstr("calibrate"), HasSubstr("cuda-emulation"), HasSubstr("arm-neoverse-n1")));
  }
  EXPECT_EQ(RunTool({"completion", "csh"}).status, kUsage);
}

}  // namespace
}  // namespace tilewright
