// Which text stands for each variable and buffer while a program is printed. Internal to //ir/script:printer.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/buffer.h"

namespace tilewright::script {

class Names {
 public:
  Names();

  // A name close to `hint` that nothing in scope has, taken until the current scope ends.
  std::string Take(const std::string& hint);

  void OpenScope() { scopes_.emplace_back(); }
  void CloseScope();

  // Defines a variable under a fresh name; `text` gives it a text that is not a name of its own ("A.data").
  std::string Define(const VarNode* var, const std::string& hint);
  void DefineAs(const VarNode* var, std::string text);
  std::string Define(const BufferNode* buffer);

  // Gives a variable that an attribute mentions a name before its definition; the definition takes that name.
  std::string Announce(const VarNode* var);
  bool IsAnnounced(const VarNode* var) const { return announced_.contains(var); }
  // The buffer whose data variable was announced takes the name; the variable becomes "name.data".
  std::string DefineAnnounced(const BufferNode* buffer);

  bool IsDefined(const VarNode* var) const { return vars_.count(var) != 0; }
  bool IsDefined(const BufferNode* buffer) const { return buffers_.count(buffer) != 0; }
  // The text of what is defined; anything else gets a name of its own, kept to the end.
  std::string TextOf(const VarNode* var);
  std::string TextOf(const BufferNode* buffer);

 private:
  struct Scope {
    std::vector<std::string> names;
    std::vector<const VarNode*> vars;
    std::vector<const BufferNode*> buffers;
  };
  std::string TakeIn(Scope& scope, const std::string& hint);

  absl::flat_hash_set<std::string> taken_;
  std::unordered_map<const VarNode*, std::string> vars_;
  std::unordered_map<const BufferNode*, std::string> buffers_;
  std::vector<Scope> scopes_;
  std::unordered_set<const VarNode*> announced_;
};

// `text` with what no Python name may hold replaced by '_', and not a keyword.
std::string MakeIdentifier(const std::string& text);

}  // namespace tilewright::script
