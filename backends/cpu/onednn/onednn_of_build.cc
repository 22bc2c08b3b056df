#include "backends/cpu/onednn/onednn_library.h"

namespace tektite::cpu {

const char* OneDnnOfBuild() { return TEKTITE_ONEDNN_LIBRARY; }

}  // namespace tektite::cpu
