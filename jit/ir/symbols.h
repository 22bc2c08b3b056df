// The symbols of a graph in an order that does not depend on their names, so that code for one
// graph serves every graph that differs from it in names alone.
//
//   std::vector<std::string> symbols = SymbolsOf(fusion.region());   // {"seq", "batch"}
//   std::unique_ptr<Graph> renamed = WithCanonicalSymbols(region);   // seq -> s0, batch -> s1
#ifndef TEKTITE_JIT_IR_SYMBOLS_H_
#define TEKTITE_JIT_IR_SYMBOLS_H_

#include <memory>
#include <string>
#include <vector>

#include "jit/ir/graph.h"

namespace tektite::ir {

// In the order of first appearance: in the parameters' shapes, then in the other nodes' result
// shapes, dimension attributes and regions, then in the guards; within a shape from the outermost
// dimension, within a dimension as it is printed.
std::vector<std::string> SymbolsOf(const Graph& graph);

// A copy in which the i-th of SymbolsOf is called "s<i>"; null when there are none.
std::unique_ptr<Graph> WithCanonicalSymbols(const Graph& graph);

// Any symbol in shapes, dimension attributes, regions, and in a graph's guards.
bool HasSymbols(const Node& node);
bool HasSymbols(const Graph& graph);

// A symbol, or one function of sizes, as min(n, 64).  Dim::Substitute takes the text of either as a
// name.
bool IsAtom(const Dim& d);

// a >= b for all values of the symbols, which are sizes and so never negative; false: not known.
bool NeverLess(const Dim& a, const Dim& b);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_SYMBOLS_H_
