#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "graph/fuzz/damage.h"

namespace tilewright::graph {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Larger messages are no longer copied into each other.
constexpr size_t kMostBytes = 1 << 20;

// Numbers at the ends of something.
constexpr int64_t kNumbers[] = {0,      1,       -1,      2,
                                7,      100000,  1 << 30, int64_t{1} << 31,
                                1 << 8, -100000, 1 << 16, int64_t{1} << 32,
                                3,      -2,      1 << 20, int64_t{1} << 62};

class Damager {
 public:
  Damager(Message* root, std::mt19937_64* random) : random_(*random) { Collect(root); }

  void Change() {
    Message* message = messages_[Below(messages_.size())];
    const Reflection& reflection = *message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(*message, &fields);
    if (fields.empty()) return;
    const FieldDescriptor* field = fields[Below(fields.size())];
    if (field->is_repeated()) {
      ChangeList(message, reflection, field);
    } else if (Below(4) == 0) {
      reflection.ClearField(message, field);
    } else {
      ChangeValue(message, reflection, field);
    }
  }

 private:
  size_t Below(size_t end) { return static_cast<size_t>(random_() % end); }

  void Collect(Message* message) {
    messages_.push_back(message);
    const Reflection& reflection = *message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count = field->is_repeated() ? reflection.FieldSize(*message, field) : 1;
      for (int i = 0; i < std::min(count, 1000); ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Collect(field->is_repeated() ? reflection.MutableRepeatedMessage(message, field, i)
                                       : reflection.MutableMessage(message, field));
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          strings_.push_back(field->is_repeated() ? reflection.GetRepeatedString(*message, field, i)
                                                  : reflection.GetString(*message, field));
        }
      }
    }
  }

  int64_t Number(int64_t old) {
    switch (Below(4)) {
      case 0:
        return old ^ (int64_t{1} << Below(8));
      case 1:
        return Below(2) == 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
      default:
        return kNumbers[Below(std::size(kNumbers))];
    }
  }
  double Real() {
    const double reals[] = {0, -1, 1e38, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()};
    return reals[Below(std::size(reals))];
  }
  // Another one of the model, or a part of it.
  std::string Text(const std::string& old) {
    if (Below(3) == 0) return old.substr(0, old.empty() ? 0 : Below(old.size()));
    return strings_[Below(strings_.size())];
  }
  // Another message of the same type; null where there is none that is small.
  const Message* Like(const Message& message) {
    for (int i = 0; i < 20; ++i) {
      const Message* other = messages_[Below(messages_.size())];
      if (other != &message && other->GetDescriptor() == message.GetDescriptor() && other->ByteSizeLong() < kMostBytes)
        return other;
    }
    return nullptr;
  }
  void Copy(Message* to) {
    const Message* other = Like(*to);
    if (other == nullptr) return;
    // One may hold the other.
    const std::unique_ptr<Message> copy(other->New());
    copy->CopyFrom(*other);
    to->CopyFrom(*copy);
  }

  void ChangeList(Message* message, const Reflection& reflection, const FieldDescriptor* field) {
    const int size = reflection.FieldSize(*message, field);
    const int at = static_cast<int>(Below(static_cast<size_t>(size)));
    switch (Below(4)) {
      case 0:
        reflection.SwapElements(message, field, at, size - 1);
        reflection.RemoveLast(message, field);
        return;
      case 1:
        return reflection.SwapElements(message, field, at, static_cast<int>(Below(static_cast<size_t>(size))));
      case 2:
        return Repeat(message, reflection, field, at);
      default:
        return ChangeElement(message, reflection, field, at);
    }
  }

  void Repeat(Message* message, const Reflection& reflection, const FieldDescriptor* field, int at) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        if (reflection.GetRepeatedMessage(*message, field, at).ByteSizeLong() >= kMostBytes) return;
        Message* added = reflection.AddMessage(message, field);
        return added->CopyFrom(reflection.GetRepeatedMessage(*message, field, at));
      }
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.AddString(message, field, Text(reflection.GetRepeatedString(*message, field, at)));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.AddInt64(message, field, Number(reflection.GetRepeatedInt64(*message, field, at)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.AddFloat(message, field, static_cast<float>(Real()));
      default:
        return;
    }
  }

  void ChangeElement(Message* message, const Reflection& reflection, const FieldDescriptor* field, int at) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Copy(reflection.MutableRepeatedMessage(message, field, at));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetRepeatedString(message, field, at,
                                            Text(reflection.GetRepeatedString(*message, field, at)));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetRepeatedInt64(message, field, at,
                                           Number(reflection.GetRepeatedInt64(*message, field, at)));
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetRepeatedInt32(message, field, at, static_cast<int32_t>(Number(0)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.SetRepeatedFloat(message, field, at, static_cast<float>(Real()));
      default:
        return;
    }
  }

  void ChangeValue(Message* message, const Reflection& reflection, const FieldDescriptor* field) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Copy(reflection.MutableMessage(message, field));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetString(message, field, Text(reflection.GetString(*message, field)));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetInt64(message, field, Number(reflection.GetInt64(*message, field)));
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetInt32(message, field, static_cast<int32_t>(Number(reflection.GetInt32(*message, field))));
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection.SetEnumValue(message, field, static_cast<int>(Below(20)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.SetFloat(message, field, static_cast<float>(Real()));
      default:
        return;
    }
  }

  std::mt19937_64& random_;
  std::vector<Message*> messages_;
  std::vector<std::string> strings_ = {""};
};

}  // namespace

void DamageMessage(google::protobuf::Message* message, std::mt19937_64& random) {
  const int changes = 1 + static_cast<int>(random() % 3);
  // Each change starts anew: what the last one moved or removed is no longer where it was.
  for (int i = 0; i < changes; ++i) Damager(message, &random).Change();
}

std::string DamagedFile(const google::protobuf::Message& message, std::mt19937_64& random) {
  if (random() % 2 == 0) return Damaged(message.SerializePartialAsString(), random);
  const std::unique_ptr<Message> damaged(message.New());
  damaged->CopyFrom(message);
  DamageMessage(damaged.get(), random);
  return damaged->SerializePartialAsString();
}

}  // namespace tilewright::graph
