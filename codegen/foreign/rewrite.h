// The rewriting of a kernel's instructions into calls of the emulator. Internal to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "codegen/foreign/places.h"
#include "codegen/foreign/prepare.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tilewright::foreign {

class Rewriter {
 public:
  Rewriter(llvm::Module& module, Places& places, std::vector<std::unique_ptr<ptx::Program>>& programs)
      : module_(module), places_(places), programs_(programs) {}

  // What the emulator does not have, with its line. Calls of the runtime get the place that they stand at, barriers of
  // the front end become calls, inline PTX becomes a program.
  absl::Status Calls(llvm::Function& function);
  // Accesses of the sums of wgmma, before variables of the thread are taken apart.
  void Accumulators(llvm::Function& function);
  // Copies of memory, before variables of the thread are taken apart: a struct of 16 bytes is one access.
  void Copies(llvm::Function& function);
  // Loads and stores.
  void Accesses(llvm::Function& function);
  // Accesses of variables of the thread at an index that is not known, which may be beyond their ends.
  void Locals(llvm::Function& function);
  // Divisions by what may be zero.
  void Divisions(llvm::Function& function);
  // Loops whose number of turns is not known.
  void Loops(llvm::Function& function);

 private:
  absl::Status Call(llvm::CallInst& call);
  absl::Status Assembly(llvm::CallInst& call);
  void UseAccumulators(llvm::CallInst& call);
  // What is known of each register of a variable with sums: an array of the thread beside it.
  uint64_t CountOf(const llvm::AllocaInst& variable) const;  // of its registers
  llvm::Value* StateOf(const llvm::AllocaInst* variable);
  absl::Status Refuse(const llvm::Instruction& instruction, const std::string& what);
  llvm::Value* Checked(llvm::Instruction& at, llvm::Value* pointer, llvm::Value* bytes, uint64_t alignment, int flags);
  llvm::ConstantInt* PlaceAt(llvm::IRBuilder<>& builder, const llvm::Instruction& at) {
    return builder.getInt32(places_.Of(at));
  }

  llvm::Module& module_;
  Places& places_;
  std::vector<std::unique_ptr<ptx::Program>>& programs_;
  std::map<const llvm::AllocaInst*, llvm::Value*> states_;
  std::set<const llvm::Instruction*> own_;  // loads and stores that belong to statements of wgmma
};

}  // namespace tilewright::foreign
