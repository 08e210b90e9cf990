// What the panel keeps: of a feature 96 bytes, of a slot of the table of interactions 32. A feature that was never seen is
// all zeros; its numbers that do not start at 0 get their start values when it is first read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mistakebound::panel {

inline constexpr std::size_t members = 16, mixers = 3, advisers = members + mixers;
// The members in their order, as files and Python name them.
enum Member : std::size_t {
  coin, implicit, arow, adagrad, hinge, ftrl, sgd, winnow, eg, bayes, list, coin_pairs, adagrad_pairs, coin_triples, adagrad_triples, history
};

// Numbers of a feature. The first sixteen are one line of the cache, the other eight half of one.
enum Field : std::size_t {
  scale,                                        // largest |x| so far
  positives, negatives,                         // rows with it, by label
  coin_sum, coin_size, coin_reward, coin_most,  // T, G, R, L of coin betting
  implicit_w, implicit_sum,
  arow_w, arow_variance,
  adagrad_w, adagrad_sum,
  ftrl_w, ftrl_sum,
  eg_w,                                         // sinh z
  hinge_w, hinge_sum,
  sgd_w,
  winnow_w,                                     // sinh(0.1 z)
  seen, mean, spread,                           // moments of x: count, mean, sum of squared deviations
  spare,
  stored,                                       // so many are kept; the rest is scratch of one row
  value = stored, of_scale, of_length, of_rarity, coin_w, implicit_step, hinge_step, fields
};
inline constexpr std::size_t line_floats = 16, side_floats = 8;
static_assert(stored == line_floats + side_floats);

struct alignas(64) Line {
  float at[line_floats];
};
struct alignas(32) Side {
  float at[side_floats];
};

// A slot of the interactions: coin betting (w, T, G, R, L) and AdaGrad (w, G) on products of features.
struct alignas(32) Slot {
  float coin_w, adagrad_w, coin_sum, coin_size, coin_reward, coin_most, adagrad_sum, spare;
};
inline constexpr unsigned slot_bits = 18;
inline constexpr std::size_t slot_count = std::size_t{1} << slot_bits;

inline constexpr float first_sum = 1e-8f;  // of every AdaGrad

// The non-zeros of one example. `token` is what names a feature beyond this learner: its index, or a hash of its name.
struct Example {
  const std::uint32_t* slot;
  const float* value;
  const std::uint64_t* token;
  std::size_t size;
  bool ahead = false;  // whether slots can be read up to `look_ahead` beyond the last
};
inline constexpr std::size_t look_ahead = 80;

// What the panel says of one example.
struct Verdict {
  double probability;  // of the positive label; ½ where the guard overrode the mixture
  double logit;
  bool positive;
  bool overridden;
};

// All that predictions and updates depend on, as a file keeps it: of the slots only those that were ever touched.
struct PanelState {
  std::vector<float> features;  // `stored` floats each, the constant last
  std::vector<std::uint32_t> touched;
  std::vector<float> slots;  // `slot_floats` floats of each that was touched
  std::vector<double> numbers;  // counts, history and combiner
};
inline constexpr std::size_t slot_floats = 7;

// A panel at one SIMD level. All levels give the same bits.
class Core {
 public:
  virtual ~Core() = default;
  virtual std::size_t features() const = 0;
  virtual void reserve(std::size_t features) = 0;
  virtual void resize(std::size_t features) = 0;  // new features start as never seen
  virtual Verdict predict(const Example& x) = 0;
  virtual void learn(const Example& x, bool truth) = 0;  // of the example that was predicted last
  virtual const double* scores() const = 0;              // of the members, for the example that was predicted last
  virtual double mixture() const = 0;                    // the probability before the guard
  virtual PanelState state() const = 0;
  virtual void restore(const PanelState& state) = 0;  // throws std::invalid_argument if the sizes do not fit
};

std::unique_ptr<Core> plain_panel();
#ifdef MISTAKEBOUND_LEVELS
std::unique_ptr<Core> avx2_panel();
#endif

}  // namespace mistakebound::panel
