// What a back end offers, with one schedule preferred: for tests that compile with each in turn.
//
//   context.schedules = [&](const ir::Node& node, const target::Facts& facts) {
//     return Preferred(backend->Schedules(node, facts), "winograd", &names);
//   };
#ifndef TEKTITE_TESTS_CONFORMANCE_OFFERS_H_
#define TEKTITE_TESTS_CONFORMANCE_OFFERS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "jit/target/schedules.h"

namespace tektite::testing {

// `names`: of all that fit, in order; none where there is nothing to choose.
inline std::vector<target::Offer> Preferred(std::vector<target::Offer> offers,
                                            const std::string& name,
                                            std::vector<std::string>* names) {
  names->clear();
  for (const target::Offer& offer : offers) {
    if (offer.schedule.ok()) names->push_back(offer.schedule->implementation);
  }
  if (names->size() < 2) names->clear();
  std::stable_partition(offers.begin(), offers.end(), [&](const target::Offer& offer) {
    return offer.schedule.ok() && offer.schedule->implementation == name;
  });
  return offers;
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_OFFERS_H_
