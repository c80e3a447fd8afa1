#include "graph/fusion/specialize.h"

#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "graph/fusion/program_form.h"
#include "graph/ir/functor.h"

namespace tilewright::graph {
namespace {

class Specializer : public Mutator {
 public:
  using Mutator::Mutator;

 protected:
  absl::StatusOr<Value> MutateCallTir(const CallTirNode* call, const Value& self) override {
    const PrimFunc program = builder().module().FindProgram(call->function);
    if (!IsRegular(program)) return self;
    std::map<size_t, NDArray> scalars;
    std::vector<Value> args;
    std::string key = call->function;
    for (size_t i = 0; i < call->args.size(); ++i) {
      const auto* constant = dyn_cast<ConstantNode>(call->args[i]);
      NDArray array;
      if (constant != nullptr && constant->bytes.size() <= 8) array = constant->ToNDArray();
      if (constant == nullptr || array.size() != 1) {
        args.push_back(call->args[i]);
        continue;
      }
      key += "," + std::to_string(i) + ":" + constant->bytes.ToString();
      scalars.emplace(i, std::move(array));
    }
    auto known = names_.find(key);
    if (known == names_.end()) {
      const PrimFunc special = WithOneIndexType(WithoutUnitDimensions(WithScalars(program, scalars)));
      known = names_.emplace(key, builder().AddProgram(special, call->function)).first;
    }
    return Value(CallTir(known->second, std::move(args), call->out, call->symbols));
  }

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace

absl::StatusOr<GraphModule> SpecializePrograms(const GraphModule& module, const OpTable& ops) {
  BlockBuilder builder(&ops, module);
  Specializer specializer(&builder);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(specializer.MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
