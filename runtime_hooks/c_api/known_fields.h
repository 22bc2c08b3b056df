// Structs of tektite.h from hosts that were built against another header.
//
//   const tektite_options given = KnownFields(*options);   // options->struct_size bytes of it
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_KNOWN_FIELDS_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_KNOWN_FIELDS_H_

#include <algorithm>
#include <cstring>

namespace tektite::c_api {

// What an older header does not know is 0, and what only a newer one knows is left out.
template <typename Struct>
Struct KnownFields(const Struct& given) {
  Struct known = {};
  std::memcpy(&known, &given, std::min(given.struct_size, sizeof(known)));
  return known;
}

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_KNOWN_FIELDS_H_
