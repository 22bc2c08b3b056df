// Linked into the portable library before the archives that say where the build keeps oneDNN and
// the PTX compiler (onednn_of_build.cc, ptx_library_of_build.cc), and so in their place: a wheel
// looks beside its own library alone.

namespace tektite::cpu {
const char* OneDnnOfBuild() { return ""; }
}  // namespace tektite::cpu

namespace tektite::gpu {
const char* PtxLibraryOfBuild() { return ""; }
}  // namespace tektite::gpu
