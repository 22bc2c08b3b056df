// When does a node run at all? Frames and predicates of TensorFlow's control flow.
//
// Loops and branches reach the compiler as Switch, Merge, Enter, Exit and NextIteration. A node
// behind a Switch is dead in some runs, and a cluster runs as a whole: so only nodes that are
// always dead together may share one. Each node gets a class; equal classes mean "same frame, same
// predicate", and nodes of different classes must not be clustered together.
//
//   Deadness deadness(index);
//   if (deadness.ClassOf(a) == deadness.ClassOf(b)) ...
//
// A predicate is a conjunction of literals: "tensor p chose branch i" or an opaque "this node is
// alive". A Merge over all branches of one choice drops the choice again, so that straight code
// after tf.cond stays in one class with the code before it. In a loop, everything that is alive in
// each iteration has one literal for the frame.
//
// Limits: conservative. A disjunction that is no complete choice becomes an opaque literal.
#ifndef TEKTITE_CLUSTERING_DEADNESS_H_
#define TEKTITE_CLUSTERING_DEADNESS_H_

#include <map>
#include <tuple>
#include <vector>

#include "clustering/graph_def/graph_index.h"

namespace tektite::clustering {

class Deadness {
 public:
  explicit Deadness(const graph_def::GraphIndex& index);

  // A small number; 0 is "root frame, always alive".
  int ClassOf(int node) const { return class_of_[node]; }

 private:
  // (kind, subject, choice, of): a sorted set of these is a predicate, by number in predicates_.
  struct Literal {
    enum Kind { kChoice, kFrame, kOpaque };
    Kind kind;
    int subject;  // node for choices and opaque literals, frame for frames
    int output;   // the predicate's output number, for choices
    int choice;
    int num_choices;
    bool operator<(const Literal& o) const {
      return std::tie(kind, subject, output, choice, num_choices) <
             std::tie(o.kind, o.subject, o.output, o.choice, o.num_choices);
    }
    bool operator==(const Literal& o) const { return !(*this < o) && !(o < *this); }
  };
  using Predicate = std::vector<Literal>;  // sorted, no duplicates

  int Intern(Predicate predicate);
  int And(int a, int b);
  int With(int predicate, const Literal& literal);
  int Or(const std::vector<int>& alternatives, int merge);

  void Propagate();
  // Whether every loop Merge is alive exactly when its loop goes on; those that are not become
  // opaque.
  bool CheckLoops();
  void Visit(int node);
  void VisitEnter(int node);
  void VisitMerge(int node);
  int OutputPredicate(int node, int output) const;

  const graph_def::GraphIndex& index_;
  std::vector<Predicate> predicates_;
  std::map<Predicate, int> predicate_ids_;
  std::map<int, int> entered_;                    // predicates, by the loop's number
  std::vector<int> predicate_;                    // by node
  std::vector<std::vector<int>> switch_outputs_;  // predicates of a Switch's outputs
  std::vector<bool> opaque_merge_;
  std::vector<int> class_of_;
};

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_DEADNESS_H_
