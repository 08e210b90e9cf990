// What a rule keeps of a feature: z, the float32 sum of updates, and w = float32(link(z)), which is all that predicting reads.
// A rule with more floats has a struct of its own (Rule::Slot), all of float32, with w first.
#pragma once

namespace mistakebound {

// Side by side: an update then finds z in the line that the prediction has just read w from.
struct Moving {
  float w, z;
  float& sum() { return z; }
  float sum() const { return z; }
};

// Where the link is the identity, w is z.
struct Plain {
  float w;
  float& sum() { return w; }
  float sum() const { return w; }
};

}  // namespace mistakebound
