// The names of jit/llvm/emit that every emitter of this back end uses.
#ifndef TEKTITE_BACKENDS_CPU_EMIT_ELEMENTS_H_
#define TEKTITE_BACKENDS_CPU_EMIT_ELEMENTS_H_

#include "jit/llvm/emit/element_emitter.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::cpu {

using loop::At;
using loop::BindParameters;
using loop::Delinearize;
using loop::DelinearizeLanes;
using loop::ElementEmitter;
using loop::Indices;
using loop::LaneIndex;
using loop::MakeKernel;
using loop::OutputBuffer;

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_EMIT_ELEMENTS_H_
