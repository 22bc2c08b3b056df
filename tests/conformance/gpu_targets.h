// The targets of the conformance suite that are GPUs (harness.h).
#ifndef TEKTITE_TESTS_CONFORMANCE_GPU_TARGETS_H_
#define TEKTITE_TESTS_CONFORMANCE_GPU_TARGETS_H_

#include <memory>

#include "jit/backend/backend.h"

namespace tektite::testing {

// kGpu: interpreted; its kernels are assembled, too, and a summary of that is printed at the end.
// `warpgroups`: all products that fit are made by wgmma, as for a card with few multiprocessors.
std::unique_ptr<backend::Backend> CreateCheckedGpu(bool tf32, bool warpgroups);
// kGpuCard: on the stand-in driver or on a real card.
std::unique_ptr<backend::Backend> CreateBackendOfCard(bool tf32, bool warpgroups);

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_GPU_TARGETS_H_
