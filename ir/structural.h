// Equality and hash of programs by structure, up to renaming: variables, buffers and block iterators correspond when
// they are bound at the same place. Ids are ignored; names of blocks, annotations, kinds and scopes count.
//
// Free variables and buffers must be the same node on both sides, unless `map_free` lets them correspond too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// The first difference of two programs: `path` says how to get there ("main.body.for[i].block[C].reads[0]"), `reason`
// what differs ("extent 16 and 32"); the statements around the difference, where there are any.
struct Mismatch {
  std::string path;
  std::string reason;
  Stmt a, b;
};

bool StructuralEqual(const Expr& a, const Expr& b, bool map_free = false);
bool StructuralEqual(const Stmt& a, const Stmt& b, bool map_free = false, Mismatch* mismatch = nullptr);
// As many, each equal to the one at its place: indices of an access.
bool StructuralEqual(const std::vector<Expr>& a, const std::vector<Expr>& b);
bool StructuralEqual(const IndexMap& a, const IndexMap& b);
bool StructuralEqual(const Function& a, const Function& b, Mismatch* mismatch = nullptr);  // names are not compared
// Functions correspond by name, or as the only ones of their modules.
bool StructuralEqual(const Module& a, const Module& b, Mismatch* mismatch = nullptr);

// Equal programs have equal hashes. Free variables count by identity, or by order of occurrence with `map_free`.
uint64_t StructuralHash(const Expr& e, bool map_free = false);
uint64_t StructuralHash(const Stmt& s, bool map_free = false);
uint64_t StructuralHash(const Function& function);
uint64_t StructuralHash(const Module& module);
// The same, from the hashes of the module's functions.
uint64_t StructuralHash(const Module& module, std::span<const uint64_t> of_functions);

}  // namespace tilewright
