#include "tools/command_line/flag_table.h"

#include <algorithm>

namespace tilewright {
namespace {

using enum ValueForm;

// Flags that mean the same in several commands.
constexpr std::string_view kIntrinHelp = "intrinsics for the schedule, as pairs NAME_desc and NAME_impl";
constexpr std::string_view kScriptHelp = "a schedule that is applied first";
constexpr std::string_view kDbHelp = "a tuning database whose best record, of a model of each kernel, is applied";
constexpr std::string_view kModelDimHelp = "value of a symbolic dimension";
constexpr std::string_view kModelSizesHelp =
    "value of a symbolic dimension, or of several sizes those that it probably has: kernels are made for these, and "
    "are "
    "right at all";
constexpr std::string_view kLevelHelp =
    "how far the graph is optimized: 0 not, 1 what keeps every bit, 2 (the default) and 3 all";
constexpr std::string_view kDisableHelp = "a pass that the graph does not go through";
constexpr std::string_view kPrecisions = "f32|integer|f16|bf16";
constexpr std::string_view kPrecisionHelp =
    "f32: as the model says (the default); integer: dequantized integers are multiplied as integers; f16, bf16: "
    "products "
    "multiply floats of 16 bits";
constexpr std::string_view kAsIsHelp = "the program as it stands, with no schedule applied";
constexpr std::string_view kUnverifiedHelp = "leaves out the verification of the scheduled program, and says so";
constexpr std::string_view kCompiled = "--engine=llvm|cuda-emulation|cuda";

constexpr FlagRules Excludes(std::string_view flags) { return {.excludes = flags}; }
constexpr FlagRules Needs(std::string_view flag) { return {.needs = flag}; }
constexpr FlagRules Actions(std::string_view actions) { return {.actions = actions}; }
// The clock of `run`.
constexpr FlagRules kTimed = {.needs = "--engine=llvm", .implies = true, .excludes = "--launcher"};
constexpr FlagRules Repeated(FlagRules rules = {}) {
  rules.repeated = true;
  return rules;
}

constexpr FlagRow kRows[] = {
    {"show", "--format", "script|json", kChoice, kPrograms, "text to read back (the default), or the IR as JSON"},

    {"equal", "--simplify", "", kSwitch, kPrograms, "compares indices, regions and conditions after simplification"},

    {"schedule", "--script", "SCHED", kFile, kPrograms, "the schedule's file"},
    {"schedule", "--intrin", "FILE", kFile, kPrograms, kIntrinHelp, Repeated()},
    {"schedule", "--each-step", "", kSwitch, kPrograms,
     "prints the program after every call, changed lines marked with '>'"},
    {"schedule", "--trace", "OUT", kOut, kPrograms,
     "writes what was applied there, with the decisions drawn; as JSON to NAME.json"},
    {"schedule", "-o", "OUT", kOut, kPrograms, "writes the program there"},

    {"compile", "-o", "OUT", kOut, kPrograms | kModels, "the file to write", {.folder_with = "--cache-only"}},
    {"compile", "--target", "NAME", kTarget, kPrograms | kModels, "what to compile for; host by default"},
    {"compile", "--script", "SCHED", kFile, kPrograms, kScriptHelp, Excludes("--db")},
    {"compile", "--db", "PATH", kFile, kPrograms | kModels, kDbHelp},
    {"compile", "--intrin", "FILE", kFile, kPrograms, kIntrinHelp, Repeated()},
    {"compile", "--trace", "FILE", kOut, kPrograms, "writes the schedule that was applied, as text"},
    {"compile", "--unverified", "", kSwitch, kPrograms, kUnverifiedHelp},
    {"compile", "--print-after", "PASS", kText, kPrograms, "prints the program after a lowering pass, or after all",
     Repeated()},
    {"compile", "--cache-only", "", kSwitch, kModels,
     "fills OUT, a folder, with the kernels of the model and what was decided about it: a cache for "
     "TILEWRIGHT_KERNEL_CACHE",
     Excludes("--target")},
    {"compile", "--timings", "", kSwitch, kPrograms | kModels,
     "prints where the processor time went, by phase and by kernel, with nodes and peak memory"},
    {"compile", "--dim", "NAME=N,...", kDimSizes, kModels, kModelSizesHelp, Repeated()},
    {"compile", "--opt-level", "N", kLevel, kModels, kLevelHelp},
    {"compile", "--disable", "PASS", kText, kModels, kDisableHelp, Repeated()},
    {"compile", "--precision", kPrecisions, kChoice, kModels, kPrecisionHelp},

    {"check", "--target", "NAME", kTarget, kPrograms, "what the program is for; host by default"},
    {"check", "--script", "SCHED", kFile, kPrograms, "a schedule; the scheduled program is verified"},
    {"check", "--intrin", "FILE", kFile, kPrograms, kIntrinHelp, Repeated()},
    {"check", "--dim", "NAME=N", kDim, kModels, kModelDimHelp, Repeated()},
    {"check", "--opt-level", "N", kLevel, kModels, kLevelHelp},
    {"check", "--disable", "PASS", kText, kModels, kDisableHelp, Repeated()},

    {"run", "--func", "NAME", kText, kPrograms, "the function; main, or the only one, by default"},
    {"run", "--engine", "interp|llvm|cuda-emulation|cuda", kChoice, kPrograms | kModels,
     "the interpreter (of programs the default without --target), compiled code, code of a GPU in an emulator with all "
     "checks, or on a GPU"},
    {"run", "--target", "NAME", kTarget, kPrograms | kModels,
     "the machine whose code runs: the host or, for a GPU's engine, cuda-sm90a by default"},
    {"run", "--launcher", "COMMAND", kText, kPrograms,
     "before the worker that runs compiled code of a CPU elsewhere, \"ssh board\" for example", Needs("--engine=llvm")},
    {"run", "--seed", "N", kNatural, kPrograms | kGraphs | kModels, "of the inputs"},
    {"run", "--inputs", "DIR", kFolder, kPrograms | kGraphs | kModels,
     "takes NAME.npy from there for each input that has one; of a scalar, of rank 0. Its shape says symbolic extents"},
    {"run", "--outputs", "DIR", kOutFolder, kPrograms | kGraphs | kModels, "writes NAME.npy there for each output"},
    {"run", "--dim", "NAME=N", kDim, kPrograms | kGraphs | kModels,
     "value of a symbolic extent or of a whole scalar parameter", Repeated()},
    {"run", "--script", "SCHED", kFile, kPrograms, kScriptHelp, Excludes("--db --as-is")},
    {"run", "--db", "PATH", kFile, kPrograms | kModels, kDbHelp, Excludes("--as-is")},
    {"run", "--as-is", "", kSwitch, kPrograms, kAsIsHelp},
    {"run", "--intrin", "FILE", kFile, kPrograms, kIntrinHelp, Repeated(Excludes("--as-is"))},
    {"run", "--unverified", "", kSwitch, kPrograms, kUnverifiedHelp, Needs(kCompiled)},
    {"run", "--extern", "LIB.so", kFile, kPrograms, "where called C functions are",
     Repeated(Needs("--engine=interp|llvm"))},
    {"run", "--compare", "", kSwitch, kPrograms,
     "also interprets the program; exit status 1 beyond what rounding explains", Excludes("--against")},
    {"run", "--against", "OTHER", kFile, kPrograms,
     "also runs a program with the same parameters on the same inputs, as it stands"},
    {"run", "--repeat", "N", kCount, kPrograms | kModels,
     "runs N times more and prints the median time and the spread, without packing", kTimed},
    {"run", "--profile", "", kSwitch, kPrograms | kModels,
     "also times the parts of each call (nests of a program, kernels by the names of a model's nodes) beside the least "
     "time that each can take; 10 calls without --repeat",
     kTimed},
    {"run", "--trace-events", "FILE", kOut, kPrograms | kModels,
     "writes the timed calls and their parts there in Chrome's trace format", kTimed},
    {"run", "--threads", "N", kCount, kPrograms | kModels,
     "threads of compiled code, which was scheduled for all cores of the target; one for each CPU by default",
     Needs("--engine=llvm")},
    {"run", "--opt-level", "N", kLevel, kModels, kLevelHelp},
    {"run", "--disable", "PASS", kText, kModels, kDisableHelp, Repeated()},
    {"run", "--timings", "", kSwitch, kModels,
     "where the processor time of the load went, by phase and by kernel; kernels of the cache are not compiled"},
    {"run", "--precision", kPrecisions, kChoice, kModels, kPrecisionHelp},
    {"run", "--json", "", kSwitch, kPrograms | kGraphs | kModels, "prints the outputs as JSON"},

    {"emulate", "--launch", "LAUNCH.json", kFile, kKernels, "grid, block, arguments: docs/emulate.md"},
    {"emulate", "--against", "PROGRAM", kFile, kKernels,
     "also runs a program on the same arrays, by name, and compares the outputs"},
    {"emulate", "--engine", "interp|llvm", kChoice, kKernels, "what runs that program; the interpreter by default",
     Needs("--against")},
    {"emulate", "--outputs", "DIR", kOutFolder, kKernels, "writes NAME.npy there for each output"},
    {"emulate", "--json", "", kSwitch, kKernels, "prints outputs and faults as JSON"},

    {"target", "--target", "NAME", kTarget, 0, "host by default, or FILE.json; an unknown name lists the known ones"},
    {"target", "--calibrate", "", kSwitch, 0, "measures this machine's rates; it should be idle", Excludes("--target")},
    {"target", "-o", "FILE.json", kOut, 0, "writes the description there; --target takes such files"},

    {"list", "--target", "NAME", kTarget, 0, "whose passes and features count; host by default"},

    {"tune", "--target", "NAME", kTarget, kPrograms | kModels, "what to compile for; host by default"},
    {"tune", "--func", "NAME", kText, kPrograms, "the function; main, or the only one, by default"},
    {"tune", "--seconds", "S", kPositive, kPrograms | kModels, "how long to search; 60 by default"},
    {"tune", "--dim", "NAME=N,...", kDims, kPrograms | kModels,
     "sizes of a symbolic extent to tune for, a typical one by default; one that is named twice counts twice. Of a "
     "model "
     "the kernels that it has at each size are tuned",
     Repeated()},
    {"tune", "--trials", "N", kCount, kPrograms | kModels, "ends after that many measurements"},
    {"tune", "--seed", "N", kNatural, kPrograms | kModels, "of the search"},
    {"tune", "--cold-cache", "", kSwitch, kPrograms | kModels,
     "no operand is in a cache when a call begins; by default inputs rotate", Excludes("--warm-cache")},
    {"tune", "--warm-cache", "", kSwitch, kPrograms | kModels,
     "every call is on the same arrays, in whatever cache holds them"},
    {"tune", "--db", "PATH", kOut, kPrograms | kModels,
     "a database that keeps what was measured; made where there is none"},
    {"tune", "--intrin", "FILE", kFile, kPrograms, kIntrinHelp, Repeated()},
    {"tune", "--extern", "LIB.so", kFile, kPrograms, "a library with functions that intrinsics call by name",
     Repeated()},
    {"tune", "--launcher", "COMMAND", kText, kPrograms | kModels,
     "before the worker that measures, \"ssh board\" for example"},
    {"tune", "--list-candidates", "", kSwitch, kPrograms,
     "only prints which intrinsics can compute which blocks, and how",
     Excludes("--seconds --dim --trials --seed --cold-cache --warm-cache --db --extern --html -o")},
    {"tune", "--html", "PATH", kOut, kPrograms,
     "writes a page about the run there: best over time, candidates, models, schedule"},
    {"tune", "-o", "OUT", kOut, kPrograms, "writes the scheduled program there"},
    {"tune", "--submit", "TEMPLATE", kText, kModels,
     "tunes in jobs that this command starts, {} in it being the quoted command of a job: \"sh -c {}\", \"ssh HOST "
     "{}\", "
     "\"srun -n1 sh -c {}\"; records return on its standard output. --seconds are those of a job",
     Excludes("--records")},
    {"tune", "--jobs", "N", kCount, kModels, "the most jobs; 4 by default", Needs("--submit")},
    {"tune", "--tasks", "HASH,...", kText, kModels, "only the kernels of these workloads, as `db list` names them"},
    {"tune", "--records", "", kSwitch, kModels,
     "prints each record as a line of JSON as soon as there is one, and the table on standard error"},
    {"tune", "--keep-joins", "", kSwitch, kModels,
     "tunes the kernels of the plan as it is; by default joined kernels are measured apart too, and the slower ones "
     "are "
     "taken apart"},
    {"tune", "--opt-level", "N", kLevel, kModels, kLevelHelp},
    {"tune", "--disable", "PASS", kText, kModels, kDisableHelp, Repeated()},
    {"tune", "--precision", kPrecisions, kChoice, kModels, kPrecisionHelp},

    {"db", "--db", "PATH", kFile, 0, "the database"},
    {"db", "--target", "NAME", kTarget, 0, "whose records are taken; those of this machine by default",
     Actions("merge")},
    {"db", "--keep", "N", kNatural, 0, "how many records of each task (program, target, threads, caches) stay",
     Actions("prune")},
    {"db", "-o", "FILE", kOut, 0, "where the lines go; standard output by default", Actions("export")},

    {"explain", "--target", "NAME", kTarget, kPrograms | kModels, "what to explain it for; host by default"},
    {"explain", "--script", "SCHED", kFile, kPrograms, kScriptHelp, Excludes("--db --as-is")},
    {"explain", "--db", "PATH", kFile, kPrograms | kModels, kDbHelp, Excludes("--as-is")},
    {"explain", "--as-is", "", kSwitch, kPrograms, kAsIsHelp},
    {"explain", "--intrin", "FILE", kFile, kPrograms, kIntrinHelp, Repeated(Excludes("--as-is"))},
    {"explain", "--html", "PATH", kOut, kPrograms | kModels,
     "writes the same as a page there, with the schedule and the program, or with a model's calls and why kernels were "
     "joined"},
    {"explain", "--plan", "", kSwitch, kModels, "each call with its limiter, and why kernels were joined or not"},
    {"explain", "--passes", "", kSwitch, kModels,
     "where the processor time of a load without kept kernels goes, by phase and by kernel, with nodes and peak "
     "memory"},
    {"explain", "--json", "", kSwitch, kPrograms | kModels, "prints all of it as JSON"},
    {"explain", "--programs", "DIR", kOutFolder, kModels,
     "writes the program of each kernel to DIR/kN.py, as this tool takes it"},
    {"explain", "--dim", "NAME=N,...", kDimSizes, kPrograms | kModels, kModelSizesHelp, Repeated()},
    {"explain", "--opt-level", "N", kLevel, kModels, kLevelHelp},
    {"explain", "--disable", "PASS", kText, kModels, kDisableHelp, Repeated()},
    {"explain", "--precision", kPrecisions, kChoice, kModels, kPrecisionHelp},
};

}  // namespace

std::span<const FlagRow> FlagRows() { return kRows; }

std::vector<FlagRow> FlagsOf(std::string_view command) {
  std::vector<FlagRow> rows;
  for (const FlagRow& row : kRows) {
    if (row.command == command) rows.push_back(row);
  }
  return rows;
}

const FlagRow* FindFlag(std::string_view command, std::string_view flag) {
  for (const FlagRow& row : kRows) {
    if (row.command == command && row.flag == flag) return &row;
  }
  return nullptr;
}

std::vector<std::string> WordsOf(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace tilewright
