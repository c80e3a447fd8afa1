// Damaged files.
#pragma once

#include <random>
#include <string>

#include "google/protobuf/message.h"

namespace tilewright::graph {

// One to four changes: a byte or a bit another one, bytes gone, repeated, a number as long as can be, or the end cut
// off.
std::string Damaged(std::string bytes, std::mt19937_64& random);

// One to three changes that leave a message: a field gone, a number from the end of a range, a text or a message that
// stands elsewhere in it, elements of a list removed, repeated, exchanged.
void DamageMessage(google::protobuf::Message* message, std::mt19937_64& random);

// The bytes of a message that was damaged in one of both ways.
std::string DamagedFile(const google::protobuf::Message& message, std::mt19937_64& random);

}  // namespace tilewright::graph
