// Kernels on the stand-in driver's cards, computed by the device interpreter.
//
//   auto card = Card::Open(*Driver::Open(FakeDriver::path()), 0);
//   auto backend = CreateCardBackend(*card, nullptr, InterpretOnFakeDriver());
//
// Whatever is compiled with the hook runs when it is launched: the launch's frame says where the
// buffers lie and which sizes they have, as it says to a kernel on a card.  What the frame, the
// scratch or the number of blocks should not be is a fault of the kernel, and so is what the
// interpreter reports.
#ifndef TEKTITE_TESTS_GPU_CARD_INTERPRETER_H_
#define TEKTITE_TESTS_GPU_CARD_INTERPRETER_H_

#include <string>

#include "backends/gpu/card_backend.h"

namespace tektite::testing {

// Makes it the stand-in's runner, until its reset.
gpu::CompiledHook InterpretOnFakeDriver();
// The last one; empty: none.
std::string LastKernelFault();

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_CARD_INTERPRETER_H_
