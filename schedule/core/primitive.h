// One entry of the table of primitives: everything that recording, replay, schedule files and docs need to know.
//
//   {"split", "One loop becomes a nest.",
//    {{"loop", ArgKind::kLoop}, {"factors", ArgKind::kFactors}, {"preserve_unit_iters", ArgKind::kBool, true}, ...},
//    ResultKind::kLoops,
//    [](Application& call) -> Outcome<Applied> {
//      Outcome<SplitResult> result = Split(call.function(), call.Loop(0), call.Factors(1), ...);
//      ...
//    }}
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "schedule/core/random.h"
#include "schedule/core/refusal.h"
#include "schedule/core/value.h"

namespace tilewright {

class IntrinRegistry;

// What an argument may be. Integers may be given as random variables everywhere.
enum class ArgKind : uint8_t {
  kLoop,
  kBlock,  // also by name
  kLoopOrBlock,
  kLoops,   // a list; the variadic first argument of reorder and fuse
  kBlocks,  // a list of blocks
  kTarget,  // a loop, a block or a list of blocks
  kInt,
  kInts,
  kFloats,
  kFactors,  // a list of integers, of which one may be None
  kBool,
  kString,
  kOptionalString,
  kBufferIndex,  // an integer, a pair ("read" or "write", integer), or the buffer's name
  kIndexMap,
  kAnnotation,  // number, text, list or dictionary
  kPadValue,    // None, a number, or an index map with one result
};
const char* ArgKindName(ArgKind kind);  // for docs and messages: "loop", "list of integers"

struct ArgSpec {
  const char* name;
  ArgKind kind;
  std::optional<Value> default_value = std::nullopt;  // absent: the argument is required
  bool variadic = false;                              // takes all positional arguments
};

enum class ResultKind : uint8_t { kNone, kLoop, kLoops, kBlock, kBlocks, kInt, kInts };

// What applying a primitive gives. `results` are LoopRefs, BlockRefs and integers; `decision` is what sampling chose.
struct Applied {
  Module module;
  std::vector<Value> results;
  Value decision;
};

// One application: the module, the arguments (random variables resolved, defaults filled in, kinds checked), and access
// to them by their position in the primitive's arguments.
class Application {
 public:
  Application(const Module& module, const std::string& function_name, std::span<const Value> args,
              const Value& decision, Random& random, IntrinRegistry* intrins)
      : module_(module),
        function_(module.Find(function_name)),
        args_(args),
        decision_(decision),
        random_(random),
        intrins_(intrins) {}

  const Module& module() const { return module_; }
  // The one that the loops and blocks among the arguments are in.
  const Function& function() const { return function_; }
  Random& random() { return random_; }
  IntrinRegistry* intrins() { return intrins_; }
  const Value& decision() const { return decision_; }

  const Value& arg(size_t i) const { return args_[i]; }
  uint32_t Id(size_t i) const;  // of a loop or block
  std::vector<uint32_t> Ids(size_t i) const;
  int64_t Int(size_t i) const { return *arg(i).As<int64_t>(); }
  std::vector<int64_t> Ints(size_t i) const;
  std::vector<double> Floats(size_t i) const;
  std::vector<Expr> Factors(size_t i) const;  // null for None
  bool Bool(size_t i) const { return *arg(i).As<bool>(); }
  const std::string& String(size_t i) const { return *arg(i).As<std::string>(); }

  // Results in the function of the call.
  Applied Changed(Function function) const;
  Applied WithLoop(Function function, uint32_t loop) const;
  Applied WithLoops(Function function, const std::vector<uint32_t>& loops) const;
  Applied WithBlock(Function function, uint32_t block) const;
  Applied WithBlocks(Function function, const std::vector<uint32_t>& blocks) const;

 private:
  const Module& module_;
  Function function_;
  std::span<const Value> args_;
  const Value& decision_;
  Random& random_;
  IntrinRegistry* intrins_;
};

struct Primitive {
  const char* name;
  const char* summary;  // one sentence, for docs
  std::vector<ArgSpec> args;
  ResultKind result = ResultKind::kNone;
  // kSampling takes a decision; kQuery and kSampling leave the program alone.
  enum class Role : uint8_t { kQuery, kSampling, kTransform } role = Role::kTransform;
  Outcome<Applied> (*apply)(Application& call) = nullptr;
};

// What sample_compute_location may give in place of a loop, as the id of a LoopRef: leave the block where it is; inline
// it. compute_at and reverse_compute_at understand both.
inline constexpr uint32_t kComputeRoot = 0xffffffff;
inline constexpr uint32_t kComputeInline = 0xfffffffe;

// The table, in the order of the docs page. Names are unique.
std::span<const Primitive> AllPrimitives();
// Null when there is none. "get_sblock" is another name of "get_block".
const Primitive* FindPrimitive(std::string_view name);

// Whether `value` fits the kind; `value` may be changed to it (an integer where a float is wanted, a single block where
// a list is). Random variables must have been resolved.
bool FitsKind(ArgKind kind, Value& value);

}  // namespace tilewright
