// The kernels that bench/kernels measures, as tensor IR text, with the work each does.
#ifndef TEKTITE_BENCH_KERNELS_WORKLOADS_H_
#define TEKTITE_BENCH_KERNELS_WORKLOADS_H_

#include <string>
#include <vector>

namespace tektite::bench {

struct Workload {
  std::string name;
  std::string text;  // one graph; parameters named w* are weights, kept from call to call
  double flops = 0;  // multiply-adds count twice; 0: the kernel is bound by memory
  double bytes = 0;  // read and written at least
  // The same graph for any number of rows or images, which is called n: measured against `text`.
  std::string any_rows;
  int rows = 0;
};

// Matrix products, convolutions and row kernels in the shapes of ResNet50, MobileNetV2 and
// BERT-base.  Those with any_rows are measured a second time, as code for every number of rows.
std::vector<Workload> AllWorkloads();

}  // namespace tektite::bench

#endif  // TEKTITE_BENCH_KERNELS_WORKLOADS_H_
