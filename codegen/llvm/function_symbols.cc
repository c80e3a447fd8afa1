#include "codegen/llvm/function_symbols.h"

#include <map>
#include <optional>
#include <utility>

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"

namespace tilewright::codegen {
namespace {

// The value, or nothing; an object that was just made is whole.
template <class T>
std::optional<T> ValueOf(llvm::Expected<T> value) {
  if (value) return std::optional<T>(std::move(*value));
  llvm::consumeError(value.takeError());
  return std::nullopt;
}

struct Placed {
  runtime::CodeSymbol symbol;  // its address is that in the object
  uint64_t section = 0;        // number
};

}  // namespace

std::vector<runtime::CodeSymbol> FunctionsOf(std::string_view object,
                                             const std::function<uint64_t(std::string_view)>& address_of) {
  const auto file = ValueOf(llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "kernel")));
  const auto* elf = file ? llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->get()) : nullptr;
  if (elf == nullptr) return {};
  std::vector<Placed> functions;
  std::map<uint64_t, uint64_t> loaded;  // by section: what is added to addresses of the object
  for (const llvm::object::ELFSymbolRef symbol : elf->symbols()) {
    const auto type = ValueOf(symbol.getType());
    const auto name = ValueOf(symbol.getName());
    const auto address = ValueOf(symbol.getAddress());
    const auto section = ValueOf(symbol.getSection());
    const auto flags = ValueOf(symbol.getFlags());
    if (type != llvm::object::SymbolRef::ST_Function || !name || !address || !section || !flags) continue;
    if (*section == elf->section_end() || (*flags & llvm::object::SymbolRef::SF_Undefined) != 0) continue;
    const uint64_t number = (*section)->getIndex();
    functions.push_back({{*address, symbol.getSize(), name->str()}, number});
    if (loaded.contains(number) || (*flags & llvm::object::SymbolRef::SF_Global) == 0) continue;
    const uint64_t at = address_of(functions.back().symbol.name);
    if (at != 0) loaded[number] = at - *address;
  }
  std::vector<runtime::CodeSymbol> symbols;
  for (Placed& function : functions) {
    const auto base = loaded.find(function.section);
    if (base == loaded.end()) continue;
    function.symbol.address += base->second;
    symbols.push_back(std::move(function.symbol));
  }
  return symbols;
}

}  // namespace tilewright::codegen
