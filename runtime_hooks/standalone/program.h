// What `tektite run` and `tektite bench` execute: a program, its inputs, and calls of it.
//
//   const CompilerPtr compiler = MakeCompiler(globals);
//   const Program program = LoadProgram("softmax.ir", /*outputs=*/"", compiler.get());
//   Caller caller(program, ReadInputs(words, program), /*threads=*/2);
//   const double seconds = caller.Call();
//   Describe(caller.results()[0]);
#ifndef TEKTITE_RUNTIME_HOOKS_STANDALONE_PROGRAM_H_
#define TEKTITE_RUNTIME_HOOKS_STANDALONE_PROGRAM_H_

#include <string>
#include <vector>

#include "runtime_hooks/standalone/handles.h"
#include "runtime_hooks/standalone/npy.h"
#include "runtime_hooks/standalone/thread_pool.h"

namespace tektite::standalone {

// A cluster and the names of its inputs and outputs; names are empty for IR text.
struct Program {
  std::string file;
  ClusterPtr cluster;
  std::vector<std::string> input_names, output_names;
  std::vector<std::string> input_types;  // "f32[?,3]"; empty where one is not known
  bool is_ir = false;
};

// IR text (.ir, .tir), a GraphDef or a SavedModel; `outputs` are tensors of a GraphDef to compute,
// separated by commas, empty: its sinks.
Program LoadProgram(const std::string& file, const std::string& outputs,
                    tektite_compiler* compiler);

// Each of `inputs` is "a.npy" in order, or "name=a.npy"; with `makes_arrays` also "f32[2,3]" in a
// file's place: an array of such a type, of numbers from -1 to 1, or of zeros and ones; and one of
// the program's own type for each input that is missing, where sizes that are open are 1, the first
// of an input `batch`.
std::vector<Array> ReadInputs(const std::vector<std::string>& inputs, const Program& program,
                              bool makes_arrays = false, int64_t batch = 1);

// Borrows the program.
class Caller {
 public:
  Caller(const Program& program, std::vector<Array> inputs, int threads);
  // Returns the call's seconds.
  double Call();
  const std::vector<Array>& results() const { return results_; }

 private:
  static void Schedule(void* self, void (*fn)(void*), void* arg);
  static void* Allocate(void* self, int32_t index, int32_t dtype, int32_t rank,
                        const int64_t* dims);

  const Program& program_;
  const std::vector<Array> inputs_;
  std::vector<tektite_tensor> args_;
  ThreadPool pool_;
  std::vector<Array> results_;
};

// The objects of an array in the statistics, each as its JSON text.
std::vector<std::string> ObjectsOf(const std::string& stats, const std::string& array);

}  // namespace tektite::standalone

#endif  // TEKTITE_RUNTIME_HOOKS_STANDALONE_PROGRAM_H_
