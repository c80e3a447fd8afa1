#include "tools/fuzz/command_lines.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/onnx/testing.h"
#include "ir/ndarray.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/flag_table.h"
#include "tools/commands.h"

namespace tilewright {
namespace {

constexpr char kFunction[] = R"(
@T.prim_func
def NAME(x: T.handle, y: T.handle):
    n = T.int32()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in range(n):
        with T.block("Y"):
            vi = T.axis.spatial(n, i)
            Y[vi] = X[vi] * T.float32(2)
)";
constexpr char kGraph[] = R"(
@I.ir_module
class Module:
    @R.function
    def main(X: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            Y: R.Tensor((n,), dtype="float32") = R.add(X, X)
            R.output(Y)
        return Y
)";

std::string Function(const std::string& name) {
  std::string text = kFunction;
  return text.replace(text.find("NAME"), 4, name);
}

std::string ModelBytes() {
  graph::ModelWriter m(17);
  m.Input("X", onnx::TensorProto::FLOAT, {"n"});
  m.Node("Relu", {"X"}, {"Y"});
  m.Output("Y");
  return m.Bytes();
}

class Drawer {
 public:
  Drawer(const CommandLineFiles& files, uint64_t seed) : files_(files), random_(seed) {}

  std::vector<std::string> Draw() {
    static const std::vector<Command> commands = AllCommands();
    const Command& command = commands[Below(commands.size())];
    std::vector<std::string> words = {std::string(command.name)};
    AddOperands(command, words);
    for (size_t left = Below(4); left > 0; --left) AddFlag(command, words);
    Tame(words);
    return words;
  }

 private:
  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool Chance(int percent) { return Below(100) < static_cast<size_t>(percent); }
  template <class T>
  const T& One(const std::vector<T>& of) {
    return of[Below(of.size())];
  }

  const std::string& AnyFile() { return files_.of_kind.at(kFileKinds[Below(std::size(kFileKinds))]); }

  void AddOperands(const Command& command, std::vector<std::string>& words) {
    if (command.name == "db") {
      words.push_back(One(std::vector<std::string>{"list", "best", "export", "merge", "prune", "lists"}));
      if (Chance(30)) words.push_back(AnyFile());
      return;
    }
    for (const std::string& name : WordsOf(command.operands, ' ')) {
      if (name[0] == '[' || Chance(2)) continue;
      words.push_back(Chance(50) ? files_.of_kind.at(FileKind::kProgram) : AnyFile());
    }
    if (Chance(2)) words.push_back(AnyFile());
  }

  // A flag of the command, now and then of another one, misspelt or with a value that cannot be.
  void AddFlag(const Command& command, std::vector<std::string>& words) {
    std::vector<FlagRow> own = FlagsOf(command.name);
    const std::span<const FlagRow> all = FlagRows();
    const FlagRow row = own.empty() || Chance(25) ? all[Below(all.size())] : One(own);
    std::string name(row.flag);
    if (Chance(5)) std::swap(name[name.size() - 1], name[name.size() - 2]);
    if (row.form == ValueForm::kSwitch) return words.push_back(Chance(3) ? name + "=1" : name);
    if (name == "-o" || Chance(20)) {
      words.push_back(name);
      words.push_back(Value(row));
    } else {
      words.push_back(name + "=" + Value(row));
    }
  }

  std::string Value(const FlagRow& row) {
    static const std::vector<std::string> kBad = {"0", "-1", "nonsense", "1e99", "", "n", "n=", "host", "a=b=c", "9"};
    if (Chance(20)) return One(kBad);
    switch (row.form) {
      case ValueForm::kChoice:
        return One(WordsOf(row.value, '|'));
      case ValueForm::kPositive:
        return "0.5";
      case ValueForm::kCount:
        return "2";
      case ValueForm::kNatural:
        return "3";
      case ValueForm::kLevel:
        return absl::StrCat(Below(4));
      case ValueForm::kTarget:
        return One(std::vector<std::string>{"host", "x86-znver4", "arm-neoverse-n1", "cuda-sm90a"});
      case ValueForm::kDim:
      case ValueForm::kDims:
      case ValueForm::kDimSizes:
        return One(std::vector<std::string>{"n=16", "n=8", "m=4"});
      case ValueForm::kFolder:
        return One(std::vector<std::string>{files_.inputs, files_.misnamed_inputs});
      case ValueForm::kOutFolder:
        return files_.folder + "/written";
      case ValueForm::kOut:
        return files_.folder + "/out" + One(std::vector<std::string>{".s", ".o", ".cu", ".json", ".txt", ""});
      case ValueForm::kFile:
        return row.flag == "--script" ? files_.of_kind.at(FileKind::kSchedule) : AnyFile();
      default:
        return One(std::vector<std::string>{"f", "main", "all", "FuseKernels", "other"});
    }
  }

  // What takes long does not run.
  void Tame(std::vector<std::string>& words) {
    if (words[0] == "tune") words.push_back("--list-candidates");
    std::erase(words, "--calibrate");
    for (std::string& word : words) {
      if (word.ends_with("=cuda")) word += "-emulation";
    }
  }

  const CommandLineFiles& files_;
  std::mt19937_64 random_;
};

struct Outcome {
  int status;
  std::string out, err;
};

Outcome Run(const std::vector<std::string>& words) {
  std::istringstream in;
  std::ostringstream out, err;
  const int status = RunCommandLine(words, AllCommands(), in, out, err);
  return {status, out.str(), err.str()};
}

std::string ValueOf(const std::vector<std::string>& words, const std::string& flag) {
  std::string value;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == flag && i + 1 < words.size()) value = words[i + 1];
    if (words[i].starts_with(flag + "=")) value = words[i].substr(flag.size() + 1);
  }
  return value;
}

bool Has(const std::vector<std::string>& words, const std::string& flag) {
  return std::ranges::any_of(words, [&](const std::string& w) { return w == flag || w.starts_with(flag + "="); });
}

// The effects that can be seen of a command line that is done.
std::optional<std::string> MissingEffect(const std::vector<std::string>& words, const Outcome& outcome) {
  for (const char* flag : {"-o", "--trace", "--html", "--outputs", "--programs"}) {
    if (Has(words, flag) && !std::filesystem::exists(ValueOf(words, flag))) {
      return absl::StrCat(flag, " wrote nothing");
    }
  }
  const bool json = Has(words, "--json") || ValueOf(words, "--format") == "json";
  if (json && !nlohmann::json::accept(outcome.out)) return "the output is not JSON";
  const auto said = [&](const char* flag, const std::string& text, const std::string& where) {
    return !Has(words, flag) || where.find(text) != where.npos;
  };
  if (!said("--unverified", "not verified", outcome.err)) return "--unverified is not mentioned";
  if (!said("--print-after", "# after", outcome.out)) return "--print-after printed nothing";
  if (!said("--repeat", json ? "median_ms" : "median", outcome.out)) return "--repeat printed no time";
  if (!said("--as-is", words[0] == "run" && Has(words, "--engine") ? "as is" : "", outcome.out)) {
    if (ValueOf(words, "--engine") != "interp") return "--as-is is not mentioned";
  }
  return std::nullopt;
}

}  // namespace

CommandLineFiles::CommandLineFiles(const std::string& in) : folder(in) {
  const auto write = [&](FileKind kind, const std::string& name, const std::string& text) {
    of_kind[kind] = folder + "/" + name;
    std::ofstream(of_kind[kind], std::ios::binary) << text;
  };
  std::filesystem::create_directories(folder);
  write(FileKind::kProgram, "program.py", Function("main"));
  write(FileKind::kModule, "module.py", Function("main") + Function("f"));
  write(FileKind::kGraph, "graph.py", kGraph);
  write(FileKind::kModel, "model.onnx", ModelBytes());
  write(FileKind::kCuda, "kernel.cu", "extern \"C\" __global__ void f(float* x) { x[threadIdx.x] = 0; }\n");
  write(FileKind::kSchedule, "schedule.py", "i, = sch.get_loops(\"Y\")\nsch.parallel(i)\n");
  inputs = folder + "/inputs", misnamed_inputs = folder + "/misnamed";
  const NDArray array(DataType::Float(32), {16});
  FillUniform(array, 1);
  for (const auto& [path, name] : {std::pair(inputs, "X"), std::pair(misnamed_inputs, "Z")}) {
    std::filesystem::create_directories(path);
    (void)WriteNpy(array, path + "/" + name + ".npy");
  }
}

std::vector<std::string> DrawCommandLine(const CommandLineFiles& files, uint64_t seed) {
  return Drawer(files, seed).Draw();
}

std::optional<std::string> JudgeCommandLine(const std::vector<std::string>& words) {
  for (const char* flag : {"-o", "--trace", "--html"}) {
    std::error_code error;
    if (const std::string path = ValueOf(words, flag); !path.empty()) std::filesystem::remove(path, error);
  }
  const Outcome outcome = Run(words);
  if (outcome.status == kDone) return MissingEffect(words, outcome);
  if (outcome.err.empty() && outcome.out.empty()) return absl::StrCat("status ", outcome.status, " without a word");
  if (outcome.status == kRefused) return std::nullopt;
  if (outcome.status != kUsage) return absl::StrCat("status ", outcome.status);
  if (!outcome.err.starts_with("tilewright " + words[0] + ": ")) return "the command is not named: " + outcome.err;
  const bool named = outcome.err.find(" is missing") != outcome.err.npos ||
                     std::any_of(words.begin() + 1, words.end(), [&](const std::string& word) {
                       const std::string name = word.substr(0, word.find('='));
                       return outcome.err.find(name) != outcome.err.npos;
                     });
  if (!named) return "no word is named: " + outcome.err;
  return std::nullopt;
}

std::vector<std::string> FindFaults(const CommandLineFiles& files, uint64_t first_seed, int64_t count, size_t most) {
  std::vector<std::string> faults;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(count) && faults.size() < most; ++seed) {
    const std::vector<std::string> words = DrawCommandLine(files, seed);
    if (const auto fault = JudgeCommandLine(words)) {
      faults.push_back(absl::StrCat("seed ", seed, ": ", absl::StrJoin(words, " "), ": ", *fault));
    }
  }
  return faults;
}

}  // namespace tilewright
