# tektite_link_in_order(TARGET ORDER): links TARGET by LLVM's linker, which puts the functions that the file ORDER names
# first, in that order (scripts/order_functions writes it), and packs relocations where the C library reads packed ones.
# Where LLVM has no linker beside it (Debian's package lld-22) TARGET is linked as everything else is: it works the
# same, and takes some 15 MiB more memory while it compiles.
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)

function(tektite_link_in_order target order)
  if(TEKTITE_SANITIZE)
    return()
  endif()
  find_package(LLVM REQUIRED CONFIG PATHS /usr/lib/llvm-22 NO_DEFAULT_PATH)
  find_program(TEKTITE_LLD ld.lld PATHS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
  if(NOT TEKTITE_LLD)
    message(STATUS "no ${LLVM_TOOLS_BINARY_DIR}/ld.lld (package lld-22): ${target} is linked without an order")
    return()
  endif()
  # The last -fuse-ld counts, and -B says where the compiler looks for that linker.
  set(lld "-B${LLVM_TOOLS_BINARY_DIR};-fuse-ld=lld")
  check_linker_flag(CXX "${lld};LINKER:--symbol-ordering-file=${order},--no-warn-symbol-ordering"
                    TEKTITE_LINKS_IN_ORDER)
  if(NOT TEKTITE_LINKS_IN_ORDER)
    message(STATUS "${TEKTITE_LLD} does not work with this compiler: ${target} is linked without an order")
    return()
  endif()
  target_link_options(${target} PRIVATE
    ${lld} LINKER:--symbol-ordering-file=${order},--no-warn-symbol-ordering)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${order})
  check_cxx_source_compiles("
    #include <cstdlib>
    #if !__GLIBC_PREREQ(2, 36)
    #error
    #endif
    int main() {}" TEKTITE_READS_PACKED_RELOCATIONS)
  if(TEKTITE_READS_PACKED_RELOCATIONS)
    target_link_options(${target} PRIVATE LINKER:-z,pack-relative-relocs)
  endif()
endfunction()
