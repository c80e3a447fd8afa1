#include "graph/ir/op.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tilewright::graph {
namespace {

// `value` as `kind` where it can stand for it.
AttrValue Converted(const AttrValue& value, AttrKind kind) {
  if (kind == AttrKind::kFloat && KindOf(value) == AttrKind::kInt) return static_cast<double>(*value.As<int64_t>());
  if (kind == AttrKind::kFloats && KindOf(value) == AttrKind::kInts) {
    const IntList& ints = *value.As<IntList>();
    return FloatList(ints.begin(), ints.end());
  }
  const IntList* ints = value.As<IntList>();
  if (kind == AttrKind::kStrings && ints != nullptr && ints->empty()) return StringList();
  if (kind == AttrKind::kDataType && KindOf(value) == AttrKind::kString) {
    if (const std::optional<DataType> dtype = DataType::Parse(*value.As<std::string>())) return *dtype;
  }
  return value;
}

}  // namespace

OpNode::OpNode(Fields fields)
    : Node(kKind),
      name(std::move(fields.name)),
      params(std::move(fields.params)),
      attrs(std::move(fields.attrs)),
      infer(std::move(fields.infer)),
      pure(fields.pure),
      data_dependent(fields.data_dependent) {}

const AttrSpec* OpNode::FindAttr(std::string_view attr) const {
  for (const AttrSpec& spec : attrs) {
    if (spec.name == attr) return &spec;
  }
  return nullptr;
}

Op OpTable::Add(OpNode::Fields fields) {
  TW_CHECK(fields.infer != nullptr) << "operator " << fields.name << " without a rule for its type";
  Op op(new OpNode(std::move(fields)));
  TW_CHECK(ops_.emplace(op->name, op).second) << "operator " << op->name << " is already in the table";
  return op;
}

Op OpTable::Find(std::string_view name) const {
  const auto it = ops_.find(name);
  return it == ops_.end() ? Op() : it->second;
}

Op OpTable::Get(std::string_view name) const {
  Op op = Find(name);
  TW_CHECK(op) << "no operator " << name;
  return op;
}

absl::StatusOr<Attrs> CompleteAttrs(const OpNode& op, Attrs attrs) {
  for (auto& [name, value] : attrs) {
    const AttrSpec* spec = op.FindAttr(name);
    if (spec == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(op.name, " does not have an attribute ", name));
    }
    value = Converted(value, spec->kind);
    if (KindOf(value) != spec->kind) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " of ", op.name, " must be ",
                                                     NameOf(spec->kind), ", got ", NameOf(KindOf(value))));
    }
  }
  for (const AttrSpec& spec : op.attrs) {
    if (attrs.contains(spec.name)) continue;
    if (spec.default_value) {
      attrs.emplace(spec.name, Converted(*spec.default_value, spec.kind));
    } else if (spec.required) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", spec.name, " of ", op.name, " is missing"));
    }
  }
  return attrs;
}

}  // namespace tilewright::graph
