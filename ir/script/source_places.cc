#include "ir/script/source_places.h"

#include <utility>
#include <vector>

#include "ir/functor.h"
#include "ir/script/python/parser.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;
using StmtKind = PyStmt::Kind;

struct Place {
  std::string name;  // of the variable or the block
  bool block;
  uint32_t offset;
};

bool IsBlockCall(const PyExpr& e) {
  return e.kind == Kind::kCall && e.items[0]->kind == Kind::kAttribute &&
         (e.items[0]->text == "block" || e.items[0]->text == "sblock");
}

void CollectPlaces(const std::vector<PyStmt>& body, std::vector<Place>* places) {
  for (const PyStmt& s : body) {
    if (s.kind == StmtKind::kFor && s.target) {
      const bool several = s.target->kind == Kind::kTuple || s.target->kind == Kind::kList;
      if (!several) places->push_back({s.target->text, false, s.target->offset});
      for (const PyExprPtr& item : s.target->items) {
        if (several) places->push_back({item->text, false, item->offset});
      }
    }
    if (s.kind == StmtKind::kWith && s.value && IsBlockCall(*s.value)) {
      const bool named = s.value->items.size() > 1 && s.value->items[1]->kind == Kind::kString;
      places->push_back({named ? s.value->items[1]->text : "", true, s.offset});
    }
    CollectPlaces(s.body, places);
    CollectPlaces(s.else_body, places);
  }
}

struct Object {
  std::string name;
  bool block;
  uint32_t id;
};

class ObjectCollector : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::vector<Object> objects;

 protected:
  void VisitFor(const ForNode* op) override {
    objects.push_back({op->var.name(), false, op->id});
    StmtVisitor::VisitFor(op);
  }
  void VisitBlock(const BlockNode* op) override {
    objects.push_back({op->name, true, op->id});
    StmtVisitor::VisitBlock(op);
  }
};

const PyStmt* FindDefinition(const std::vector<PyStmt>& statements, const std::string& name) {
  for (const PyStmt& s : statements) {
    if (s.kind == StmtKind::kFunction && s.text == name) return &s;
    if (s.kind != StmtKind::kClass) continue;
    if (const PyStmt* found = FindDefinition(s.body, name)) return found;
  }
  return nullptr;
}

}  // namespace

SourcePlaces::SourcePlaces(std::string_view text, const Module& module) {
  const PythonTree tree = ParsePython(text, "");
  if (tree.error) return;
  for (const Function& function : module.functions()) {
    const PyStmt* definition = FindDefinition(tree.statements, function->name);
    if (definition == nullptr) continue;
    offsets_[{function->name, 0}] = definition->offset;
    std::vector<Place> places;
    CollectPlaces(definition->body, &places);
    ObjectCollector collector;
    collector.Visit(function->body);
    std::vector<Object>& objects = collector.objects;
    // A root block that the text does not have stands at the definition.
    if (objects.size() == places.size() + 1 && objects[0].block) {
      offsets_[{function->name, objects[0].id}] = definition->offset;
      objects.erase(objects.begin());
    }
    bool same = objects.size() == places.size();
    for (size_t i = 0; same && i < objects.size(); ++i) {
      same = objects[i].block == places[i].block && (!objects[i].block || objects[i].name == places[i].name);
    }
    for (size_t i = 0; same && i < objects.size(); ++i) {
      offsets_[{function->name, objects[i].id}] = places[i].offset;
    }
  }
}

std::optional<uint32_t> SourcePlaces::Find(const std::string& function, uint32_t id) const {
  const auto found = offsets_.find({function, id});
  return found == offsets_.end() ? std::nullopt : std::optional<uint32_t>(found->second);
}

}  // namespace tilewright::script
