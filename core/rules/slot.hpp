// The floats of a feature: z, the float32 sum of the updates, and w = float32(link(z)). A prediction reads only w. A rule with
// more floats defines its own struct Rule::Slot, which consists of float32 numbers, with w first.
#pragma once

namespace mistakebound {

// w and z are neighbours: an update finds z in the cache line from which the prediction has just read w.
struct WeightAndSum {
  float w, z;
  float& sum() { return z; }
  float sum() const { return z; }
};

// For rules whose link is the identity, where w is z.
struct WeightOnly {
  float w;
  float& sum() { return w; }
  float sum() const { return w; }
};

}  // namespace mistakebound
