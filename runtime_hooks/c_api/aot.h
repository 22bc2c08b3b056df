/* A model as a library in C, compiled ahead of time (docs/ahead_of_time.md): the part of tektite.h
 * that only those need who make one.
 *
 *   tektite_aot_options options = {sizeof(options)};
 *   options.name = "mlp";
 *   char* report = tektite_aot(graph_def, size, "build/mlp", &options, &status);
 */
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_AOT_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_AOT_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime_hooks/c_api/tektite.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tektite_aot_form {
  TEKTITE_AOT_MODEL = 0,   /* GraphDef (binary or text) or saved_model.pb */
  TEKTITE_AOT_IR = 1,      /* the text form of the tensor IR */
  TEKTITE_AOT_CLUSTER = 2, /* a closed GraphDef, as tektite_cluster_create takes it */
} tektite_aot_form;
typedef enum tektite_aot_report {
  TEKTITE_AOT_REPORT_BRIEF = 0,
  TEKTITE_AOT_REPORT_LAYERS = 1, /* bytes of code and weights by layer, too */
  TEKTITE_AOT_REPORT_JSON = 2,   /* the same as JSON */
} tektite_aot_report;
typedef struct tektite_aot_options {
  size_t struct_size;
  const char* flags; /* as in tektite_options; may be NULL */
  const char* name;  /* of the library, an identifier of C: NAME.h, libNAME.a, NAME_run */
  const char* cpu;   /* "native", "x86-64-v3", "x86-64-v4", or several of them, separated by commas:
                        a call runs the code for the most that its machine has; or "armv8-a";
                        NULL: native */
  int32_t form;      /* tektite_aot_form: what the model is */
  const char* inputs;  /* types of inputs, "x=f32[n,224,224,3];y=s32[4]", where n is a size that
                          calls choose; may be NULL: as the model says */
  const char* outputs; /* tensors, separated by commas; NULL: what nothing in the graph uses */
  const char* typical; /* "n=8": open sizes to lay memory out for; may be NULL */
  int32_t with_python; /* not 0: NAME.py, too, which calls libNAME.so */
  const char* weights; /* where they are: "inside" (NULL), "file": NAME.weights, which the library
                          maps, or "caller": its copy of that file */
  int32_t with_test;   /* not 0: NAME_test.c, too, which has results to expect */
  int32_t with_bench;  /* not 0: NAME_bench.c, too, which measures calls */
  int32_t report;      /* tektite_aot_report: what tektite_aot returns */
} tektite_aot_options;
/* Writes the library into `directory`, which it makes where there is none; returns a report. */
TEKTITE_API char* tektite_aot(const void* model, size_t size, const char* directory,
                              const tektite_aot_options* options, tektite_status* status);

#ifdef __cplusplus
}
#endif
#endif /* TEKTITE_RUNTIME_HOOKS_C_API_AOT_H_ */
