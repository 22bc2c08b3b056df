# A model as a library of a CMake project, made while the project is built (docs/ahead_of_time.md).
#
#   include("${tektite}/tektite_add_model.cmake")   # the folder that python3 -c "import tektite; print(tektite.__path__[0])" prints
#   tektite_add_model(mobilenet MODEL mobilenet SIGNATURE serving_default INPUT "x=[n,224,224,3]" CPU x86-64-v3 x86-64-v4)
#   target_link_libraries(program PRIVATE mobilenet)  # and #include "mobilenet.h"
#
# MODEL is what `tektite aot` takes; a change of it makes the library anew. SIGNATURE, INPUT, OUTPUTS, TYPICAL, WEIGHTS and CPU are options
# of that command. TEKTITE_COMMAND names it where it is not in PATH: a program, or a list such as "python3;-m;tektite".
# Limits: CMake 3.12; the name must be an identifier of C.
function(tektite_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "MODEL;SIGNATURE;OUTPUTS;TYPICAL;WEIGHTS" "CPU;INPUT")
  if(NOT given_MODEL OR given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tektite_add_model(${name}): MODEL must be given, and no other words than its options: "
                        "'${given_UNPARSED_ARGUMENTS}'")
  endif()
  get_filename_component(model "${given_MODEL}" ABSOLUTE)
  if(NOT EXISTS "${model}")
    message(FATAL_ERROR "tektite_add_model(${name}): there is no '${model}'")
  endif()
  if(NOT TEKTITE_COMMAND)
    find_program(TEKTITE_COMMAND tektite)
    if(NOT TEKTITE_COMMAND)
      message(FATAL_ERROR "tektite_add_model(${name}): no `tektite` in PATH; TEKTITE_COMMAND may name it")
    endif()
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set(words aot "${model}" --out "${folder}" --name "${name}")
  foreach(option SIGNATURE OUTPUTS TYPICAL WEIGHTS)
    if(given_${option})
      string(TOLOWER "${option}" word)
      list(APPEND words "--${word}" "${given_${option}}")
    endif()
  endforeach()
  foreach(input IN LISTS given_INPUT)
    list(APPEND words --input "${input}")
  endforeach()
  if(given_CPU)
    string(REPLACE ";" "," cpus "${given_CPU}")
    list(APPEND words --cpu "${cpus}")
  endif()
  set(weights "")
  if(given_WEIGHTS AND NOT given_WEIGHTS STREQUAL "inside")
    set(weights "${folder}/${name}.weights")
  endif()
  set(parts "${model}")
  if(IS_DIRECTORY "${model}")
    file(GLOB_RECURSE parts CONFIGURE_DEPENDS "${model}/*")
  endif()
  # The tool replaces it where the model needs kernels that are no code of its own.
  set(kernels "${folder}/libtektite_kernels.a")
  if(NOT EXISTS "${kernels}")
    file(WRITE "${kernels}" "!<arch>\n")
  endif()
  add_custom_command(
    OUTPUT "${folder}/lib${name}.a" "${folder}/${name}.h"
    COMMAND ${TEKTITE_COMMAND} ${words}
    DEPENDS ${parts}
    COMMENT "Compiling ${given_MODEL} ahead of time"
    BYPRODUCTS ${weights}
    VERBATIM)
  add_custom_target(${name}_aot DEPENDS "${folder}/lib${name}.a" "${folder}/${name}.h")
  file(MAKE_DIRECTORY "${folder}")  # which an imported library's includes must be
  add_library(${name} STATIC IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES
    IMPORTED_LOCATION "${folder}/lib${name}.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES C
    INTERFACE_INCLUDE_DIRECTORIES "${folder}"
    INTERFACE_LINK_LIBRARIES "${kernels};-Wl,--as-needed,-lstdc++,--no-as-needed;m")
  add_dependencies(${name} ${name}_aot)
endfunction()
