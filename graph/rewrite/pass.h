// Passes: module to module.
//
//   PassContext context{.opt_level = 2, .disabled = {"FoldConstants"}};
//   PassTiming timing;
//   context.instruments = {&timing};
//   absl::StatusOr<GraphModule> optimized = RunPasses(GraphPasses(environment), module, context);
//
// A pass runs when its opt_level is at most the context's and its name is not disabled; a pass that another one that
// runs requires runs whatever its level. Disabling a name that no pass has, or a pass that another requires, is an
// error.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

struct Pass {
  std::string name;  // "EliminateDeadCode"
  int opt_level = 0;
  std::vector<std::string> required;  // passes that must have run before
  std::function<absl::StatusOr<GraphModule>(const GraphModule&)> run;
};

// Sees every pass that runs.
class PassInstrument {
 public:
  virtual ~PassInstrument() = default;
  virtual void Before(const Pass&, const GraphModule&) {}
  virtual void After(const Pass& pass, const GraphModule& before, const GraphModule& after, double seconds) = 0;
};

// What the passes may round otherwise than the graph says (docs/numerics.md).
enum class Precision : uint8_t {
  kExact,    // nothing
  kInteger,  // products of dequantized integers are products of integers
  kFloat16,  // products multiply float16 and add up in float32
  kBFloat16,
};

struct PassContext {
  int opt_level = 2;
  std::set<std::string> disabled = {};
  std::vector<PassInstrument*> instruments = {};
  Precision precision = Precision::kExact;
  bool check = false;  // every pass's result is checked for well-formedness; a violation is an Internal error
};

// The passes that would run, in order.
absl::StatusOr<std::vector<Pass>> SelectPasses(const std::vector<Pass>& passes, const PassContext& context);
// Errors of passes begin with the pass's name.
absl::StatusOr<GraphModule> RunPasses(const std::vector<Pass>& passes, GraphModule module, const PassContext& context);

// How long each pass took, in the order they ran.
class PassTiming : public PassInstrument {
 public:
  struct Entry {
    std::string name;
    double seconds = 0;
  };
  void After(const Pass& pass, const GraphModule&, const GraphModule&, double seconds) override;
  const std::vector<Entry>& entries() const { return entries_; }
  std::string ToString() const;

 private:
  std::vector<Entry> entries_;
};

// Prints what a pass changed: the functions and programs that differ from before, and the names of those that are gone.
// `names` limits it to some passes; empty: all.
class PassPrinting : public PassInstrument {
 public:
  explicit PassPrinting(std::ostream* out, std::set<std::string> names = {}) : out_(*out), names_(std::move(names)) {}
  void After(const Pass& pass, const GraphModule& before, const GraphModule& after, double seconds) override;

 private:
  std::ostream& out_;
  const std::set<std::string> names_;
};

}  // namespace tilewright::graph
