#include "ir/script/names.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "ir/script/python/utf8.h"

namespace tilewright::script {
namespace {

// Words that mean something else where a name stands. The module's I stands outside of functions alone.
constexpr const char* kReserved[] = {
    "T",    "tvm",   "True",   "False",    "None",   "and",     "as",    "assert", "break",  "class", "continue",
    "def",  "del",   "elif",   "else",     "except", "finally", "for",   "from",   "global", "if",    "import",
    "in",   "is",    "lambda", "nonlocal", "not",    "or",      "pass",  "raise",  "return", "try",   "while",
    "with", "yield", "range",  "min",      "max",    "abs",     "float", "int",    "bool",   "async", "await"};

}  // namespace

std::string MakeIdentifier(const std::string& text) {
  std::string name;
  for (size_t i = 0; i < text.size();) {
    const Utf8Character next = ReadUtf8(text.substr(i));
    const size_t bytes = std::max<size_t>(next.bytes, 1);
    const bool letter = next.code < 0x80 ? std::isalnum(static_cast<unsigned char>(text[i])) != 0 && next.bytes == 1
                                         : IsOtherLetter(next.code);
    name += letter ? std::string(text.substr(i, bytes)) : "_";
    i += bytes;
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "v");
  return name;
}

Names::Names() : scopes_(1) {
  for (const char* word : kReserved) taken_.insert(word);
}

std::string Names::TakeIn(Scope& scope, const std::string& hint) {
  const std::string base = MakeIdentifier(hint);
  std::string name = base;
  for (int suffix = 1; !taken_.insert(name).second; ++suffix) name = absl::StrCat(base, "_", suffix);
  scope.names.push_back(name);
  return name;
}

std::string Names::Take(const std::string& hint) { return TakeIn(scopes_.back(), hint); }

void Names::CloseScope() {
  for (const std::string& name : scopes_.back().names) taken_.erase(name);
  for (const VarNode* var : scopes_.back().vars) {
    vars_.erase(var);
    announced_.erase(var);
  }
  for (const BufferNode* buffer : scopes_.back().buffers) buffers_.erase(buffer);
  scopes_.pop_back();
}

std::string Names::Define(const VarNode* var, const std::string& hint) {
  if (announced_.erase(var) != 0) return vars_[var];
  std::string name = Take(hint);
  DefineAs(var, name);
  return name;
}

void Names::DefineAs(const VarNode* var, std::string text) {
  if (vars_.emplace(var, std::move(text)).second) scopes_.back().vars.push_back(var);
}

std::string Names::Define(const BufferNode* buffer) {
  std::string name = Take(buffer->name);
  if (buffers_.emplace(buffer, name).second) scopes_.back().buffers.push_back(buffer);
  return name;
}

std::string Names::Announce(const VarNode* var) {
  std::string name = Define(var, var->name);
  announced_.insert(var);
  return name;
}

std::string Names::DefineAnnounced(const BufferNode* buffer) {
  announced_.erase(buffer->data.get());
  std::string& text = vars_[buffer->data.get()];
  std::string name = text;
  text += ".data";
  if (buffers_.emplace(buffer, name).second) scopes_.back().buffers.push_back(buffer);
  return name;
}

std::string Names::TextOf(const VarNode* var) {
  if (auto it = vars_.find(var); it != vars_.end()) return it->second;
  std::string name = TakeIn(scopes_.front(), var->name);
  vars_.emplace(var, name);
  scopes_.front().vars.push_back(var);
  return name;
}

std::string Names::TextOf(const BufferNode* buffer) {
  if (auto it = buffers_.find(buffer); it != buffers_.end()) return it->second;
  std::string name = TakeIn(scopes_.front(), buffer->name);
  buffers_.emplace(buffer, name);
  scopes_.front().buffers.push_back(buffer);
  if (vars_.emplace(buffer->data.get(), absl::StrCat(name, ".data")).second) {
    scopes_.front().vars.push_back(buffer->data.get());
  }
  return name;
}

}  // namespace tilewright::script
