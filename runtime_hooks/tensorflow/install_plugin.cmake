# Copies the plugin into SITE (a site-packages folder); files that are the same already are left alone.
#   tensorflow-plugins/libtektite_loader.so        what `import tensorflow` opens
#   tektite/lib/libtektite_tf-<TF_VERSION>.so      the hook for that TensorFlow
#   tektite/lib/libtektite.so                      the compiler
#   tektite/lib/libdnnl.so.3                       oneDNN, where the compiler was built with it
#   tektite/lib/fast_calls-<TF_VERSION>.*.so       an extension module, for one version of Python, too
#   tektite/*.py, *.cmake                          the Python package, and what CMake projects include
function(place from to)
  file(SHA256 "${from}" wanted)
  if(EXISTS "${to}")
    file(SHA256 "${to}" present)
    if(wanted STREQUAL present)
      return()
    endif()
  endif()
  # A new file takes the old one's name: a process that has the old one mapped keeps it whole.
  get_filename_component(folder "${to}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  configure_file("${from}" "${to}.new" COPYONLY)
  file(RENAME "${to}.new" "${to}")
  message(STATUS "installed ${to}")
endfunction()

place("${LOADER}" "${SITE}/tensorflow-plugins/libtektite_loader.so")
place("${HOOK}" "${SITE}/tektite/lib/libtektite_tf-${TF_VERSION}.so")
if(COMPILER)
  place("${COMPILER}" "${SITE}/tektite/lib/libtektite.so")
endif()
if(FAST_CALLS)
  get_filename_component(name "${FAST_CALLS}" NAME)
  place("${FAST_CALLS}" "${SITE}/tektite/lib/${name}")
endif()
if(ONEDNN)
  get_filename_component(ONEDNN "${ONEDNN}" REALPATH)
  place("${ONEDNN}" "${SITE}/tektite/lib/libdnnl.so.3")
endif()
file(GLOB sources RELATIVE "${PYTHON_DIR}" "${PYTHON_DIR}/*.py" "${PYTHON_DIR}/*.cmake" "${PYTHON_DIR}/py.typed")
foreach(source ${sources})
  place("${PYTHON_DIR}/${source}" "${SITE}/tektite/${source}")
endforeach()
