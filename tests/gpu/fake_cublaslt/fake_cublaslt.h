// A stand-in for cuBLASLt, on the stand-in driver's streams (fake_driver.h).
//
//   const FakeCublasLt& fake = FakeCublasLt::Opened();
//   absl::StatusOr<const gpu::CublasLt*> lt = gpu::CublasLt::Open(FakeCublasLt::path());
//   fake.fail("cublasLtMatmulAlgoGetHeuristic", 15, /*times=*/1);
//   fake.set_microseconds(3);                      // what events see of a product
//
// It computes products of f32, f16 and bf16 with the host, each sum in the order of its terms, when
// their stream comes to them.  It refuses what the library would refuse or only accept by luck: a
// workspace that is too small, addresses that are less aligned than the preference promised, a
// result that is none of the card's memory, an algorithm of another product.
#ifndef TEKTITE_TESTS_GPU_FAKE_CUBLASLT_FAKE_CUBLASLT_H_
#define TEKTITE_TESTS_GPU_FAKE_CUBLASLT_FAKE_CUBLASLT_H_

#include <cstddef>
#include <cstdint>

namespace tektite::testing {

struct FakeCublasLt {
  void (*reset)();
  // Calls of a function return `status`, so many times (-1: always).
  void (*fail)(const char* symbol, int status, int times);
  void (*set_microseconds)(double microseconds);
  // The heuristic proposes so many algorithms, with such a workspace.
  void (*set_proposals)(int proposals, size_t workspace_bytes);
  int64_t (*calls)(const char* symbol);
  int64_t (*products)();     // that have run
  int64_t (*held_things)();  // handles, descriptions
  // Of the last product: what it was told of its numbers.
  int (*compute_type)();
  uint32_t (*reduction_schemes)();

  static const char* path();
  // The same library that CublasLt::Open(path()) opens.
  static const FakeCublasLt& Opened();
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_GPU_FAKE_CUBLASLT_FAKE_CUBLASLT_H_
