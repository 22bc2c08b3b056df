// What compiling is estimated to cost, and for how much of it a call without code waits.
//
// Why: compiling takes processor time that a program of two threads feels.  Code for what runs a
// hundred times costs more than it ever saves, and of twelve clusters the one that takes most of
// the time must come first.  This is the ski rental problem: compile once the host's kernels have
// taken a set part of what compiling is estimated to cost (flag compile_after_percent), and no
// program loses much more than that part.
#ifndef TEKTITE_JIT_SERVING_COMPILE_COST_H_
#define TEKTITE_JIT_SERVING_COMPILE_COST_H_

#include <algorithm>
#include <cstdint>

namespace tektite::serving {

// Nanoseconds of processor time that compiling a graph of so many ops takes, about.  Large graphs
// repeat their layers, and equal kernels are compiled once: steps of 172, 529, 968, 1284 and 2583
// ops took 0.38, 0.65, 0.92, 1.43 and 1.38 s (Zen 4; gru_train, bilstm_train,
// convnext_train, network_f32_train, encoder_f32_train of bench/compare).  One of 277 with two
// convolutional LSTMs took 1.44.  The nests of loops of a convolution take as long as 40 other ops:
// a loop of 90 ops, six convolutions among them, took 0.67 s for known sizes and 1.70 for any
// (deep_dream of bench/shipped, Xeon).
inline int64_t EstimateCompileNs(int64_t num_ops, int64_t num_convolutions) {
  constexpr int64_t kMostApart = 300, kNsPerOp = 2'000'000, kNsPerFurtherOp = 350'000;
  constexpr int64_t kMostConvolutionsApart = 8, kNsPerConvolution = 90'000'000;
  const int64_t apart = std::min(num_ops, kMostApart);
  return apart * kNsPerOp + (num_ops - apart) * kNsPerFurtherOp +
         std::min(num_convolutions, kMostConvolutionsApart) * kNsPerConvolution;
}

// The part of that which the host's kernels have to take first.  On one CPU it is a quarter: there
// compiling takes its time once, however early it begins.  On several, the threads of the host's
// kernels wait for each other, so that one that has to share its CPU holds up all (a training step
// of 13.6 ms on two CPUs takes 27 while code is made for it).
inline double PartToWaitFor(int64_t percent, int num_cpus) {
  return static_cast<double>(percent) / (num_cpus == 1 ? 400 : 100);
}

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_COMPILE_COST_H_
