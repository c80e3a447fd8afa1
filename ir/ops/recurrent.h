// Recurrent layers: LSTM, GRU and the plain one, as ONNX defines them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace tilewright::ops {

enum class Cell { kPlain, kGru, kLstm };
// Gates of a cell: 1, 3 (z, r, h) or 4 (i, o, f, c).
int64_t GatesOf(Cell cell);

// An activation by its ONNX name in lower case, with its parameters.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};
// Whether the name is one of ONNX's.
bool IsActivation(const std::string& name);

// One layer in one to two directions. Optional operands are null buffers.
struct RecurrentOperands {
  Buffer x;          // [time, batch, input]
  Buffer w, r;       // [directions, gates * hidden, input or hidden]
  Buffer bias;       // [directions, 2 * gates * hidden]
  Buffer lengths;    // [batch], integers
  Buffer initial_h;  // [directions, batch, hidden]
  Buffer initial_c;  // LSTM
  Buffer peepholes;  // LSTM: [directions, 3 * hidden], i, o, f
};
struct RecurrentOptions {
  Cell cell = Cell::kLstm;
  int64_t hidden = 1;
  std::vector<bool> reverse;            // one a direction
  std::vector<Activation> activations;  // f, g, h of the LSTM, f, g of the GRU, f of the plain one, a direction
  double clip = 0;                      // limit of the arguments of activations; 0: none
  bool linear_before_reset = false;     // GRU
  bool input_forget = false;            // LSTM: the forget gate is one minus the input gate
};
struct RecurrentResults {
  Buffer y;     // [time, directions, batch, hidden]
  Buffer h, c;  // [directions, batch, hidden], the state after the last step; c of the LSTM
};
RecurrentResults Recurrent(FunctionBuilder& f, const RecurrentOperands& operands, const RecurrentOptions& options);

}  // namespace tilewright::ops
