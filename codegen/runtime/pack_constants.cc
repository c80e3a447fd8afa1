#include "codegen/runtime/pack_constants.h"

#include <optional>
#include <utility>

namespace tilewright::runtime {

bool PackConstants(TwFunction pack, const std::vector<NamedTensorType>& params, std::map<std::string, Tensor>& tensors,
                   std::string* error) {
  std::vector<TwTensor*> args;
  for (const NamedTensorType& param : params) {
    auto tensor = tensors.find(param.name);
    if (tensor == tensors.end()) {
      std::optional<Tensor> packed = Tensor::Allocate(param.dtype, param.shape);
      if (!packed) {
        *error = "not enough memory for the packed constant " + param.name;
        return false;
      }
      tensor = tensors.emplace(param.name, *std::move(packed)).first;
    }
    args.push_back(tensor->second.abi());
  }
  char message[256] = "";
  const TwCall call = {.message = message, .message_bytes = sizeof(message)};
  if (pack(&call, args.data(), static_cast<int32_t>(args.size())) == kTwOk) return true;
  *error = message;
  return false;
}

}  // namespace tilewright::runtime
