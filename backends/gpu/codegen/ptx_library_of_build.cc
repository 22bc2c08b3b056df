#include "backends/gpu/codegen/assembler.h"

namespace tektite::gpu {

const char* PtxLibraryOfBuild() {
#ifdef TEKTITE_PTX_LIBRARY
  return TEKTITE_PTX_LIBRARY;
#else
  return "";
#endif
}

}  // namespace tektite::gpu
