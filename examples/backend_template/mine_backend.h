// The back end: a kernel for each fusion that there is code for.
//
//   compiler_options.own_backend = [] { return mine::CreateMine(); };
#ifndef MINE_BACKEND_H_
#define MINE_BACKEND_H_

#include <memory>

#include "jit/backend/backend.h"

namespace mine {

std::unique_ptr<tektite::backend::Backend> CreateMine();

}  // namespace mine

#endif  // MINE_BACKEND_H_
