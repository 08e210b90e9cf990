// Prediction with expert advice, shown to Python: arrays are checked here, and the GIL is left while rounds are played.
#include "expert_bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experts/majority.hpp"
#include "lock.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace mistakebound {
namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object to_numpy(std::vector<T> values) {
  auto* held = new std::vector<T>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}
template <class T>
std::vector<T> to_vector(nb::handle array) {
  const auto values = nb::cast<Array<T>>(array);
  return {values.data(), values.data() + values.size()};
}
void must(bool so, const char* otherwise) {
  if (!so) throw nb::value_error(otherwise);
}

class MajorityGame {
 public:
  explicit MajorityGame(double beta) : beta_(beta), majority_(checked(beta)) {}

  double beta() const { return beta_; }
  std::size_t experts() {
    const auto lock = lock_.take();
    return majority_.experts();
  }
  void use_simd(bool avx2) {
    const auto lock = lock_.take();
    majority_.use_avx2(avx2 && cpu_has_avx2());
  }
  void join(std::size_t count, double loss) {
    const auto lock = lock_.take();
    must(std::isfinite(loss), "the loss of newcomers must be finite");
    majority_.join(count, loss);
  }
  nb::object weights() {
    const auto lock = lock_.take();
    return numbers([&](std::size_t k) { return majority_.weight(k); });
  }
  nb::object losses() {
    const auto lock = lock_.take();
    return numbers([&](std::size_t k) { return majority_.loss(k); });
  }
  double total() {
    const auto lock = lock_.take();
    return majority_.total();
  }
  nb::object shares(Array<std::int32_t> codes, std::size_t kinds) {
    const auto lock = lock_.take();
    check_codes(codes, kinds);
    std::vector<double> share(kinds);
    majority_.shares(codes.data(), kinds, share.data());
    return to_numpy(std::move(share));
  }
  double lean(Array<std::uint8_t> said) {
    const auto lock = lock_.take();
    must(said.size() == majority_.experts(), "advice needs one entry an expert");
    return majority_.lean(said.data());
  }
  void learn(Array<std::int32_t> codes, std::int32_t right, double wrong) {
    const auto lock = lock_.take();
    check_codes(codes, std::size_t{1} << 31);
    must(std::isfinite(wrong), "the share that is wrong must be finite");
    majority_.learn(codes.data(), right, wrong);
  }
  nb::tuple run(Matrix<std::uint8_t> said, Array<std::uint8_t> outcome) {
    const auto lock = lock_.take();
    must(said.shape(0) == outcome.size(), "there must be one outcome a round");
    must(said.shape(1) == majority_.experts(), "advice needs one column an expert");
    std::vector<double> lean(outcome.size()), total(outcome.size());
    std::size_t played = 0;
    lock_.away([&] { played = majority_.run(said.data(), outcome.data(), outcome.size(), lean.data(), total.data()); });
    if (played < outcome.size())
      throw nb::value_error(("round " + std::to_string(played) + ": advice and outcomes must be 0 or 1").c_str());
    return nb::make_tuple(to_numpy(std::move(lean)), to_numpy(std::move(total)));
  }

  nb::dict state() {
    const auto lock = lock_.take();
    Majority::State now = majority_.state();
    nb::dict all;
    all["beta"] = beta_;
    all["loss"] = to_numpy(std::move(now.loss));
    all["base"] = to_numpy(std::move(now.base));
    all["in_block"] = to_numpy(std::move(now.in_block));
    all["since"] = to_numpy(std::move(now.since));
    all["phase"] = now.phase;
    all["total"] = now.total;
    all["fresh"] = now.fresh;
    return all;
  }
  void restore(nb::dict state) {
    const auto lock = lock_.take();
    must(nb::cast<double>(state["beta"]) == beta_, "that is the state of a game with another beta");
    const bool sound = majority_.restore({to_vector<double>(state["loss"]), to_vector<double>(state["base"]),
                                          to_vector<std::uint8_t>(state["in_block"]),
                                          to_vector<std::uint8_t>(state["since"]), nb::cast<std::size_t>(state["phase"]),
                                          nb::cast<double>(state["total"]), nb::cast<double>(state["fresh"])});
    must(sound, "that is no state of Weighted Majority");
  }

 private:
  static double checked(double beta) {
    must(beta >= 0 && beta < 1, "beta must be at least 0 and below 1");
    return beta;
  }
  void check_codes(const Array<std::int32_t>& codes, std::size_t kinds) const {
    must(codes.size() == majority_.experts(), "advice needs one entry an expert");
    const auto known = [kinds](std::int32_t c) { return c >= -1 && (c < 0 || static_cast<std::size_t>(c) < kinds); };
    must(std::all_of(codes.data(), codes.data() + codes.size(), known), "codes are -1 (asleep) or below the number of kinds");
  }
  template <class Number>
  nb::object numbers(Number number) const {
    std::vector<double> all(majority_.experts());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = number(k);
    return to_numpy(std::move(all));
  }

  double beta_;
  Majority majority_;
  Lock lock_;
};

}  // namespace

void bind_experts(nb::module_& m) {
  nb::class_<MajorityGame>(m, "Majority", "Weighted Majority at work.")
      .def(nb::init<double>(), "beta"_a)
      .def_prop_ro("beta", &MajorityGame::beta)
      .def("experts", &MajorityGame::experts)
      .def("join", &MajorityGame::join, "count"_a, "loss"_a)
      .def("weights", &MajorityGame::weights)
      .def("losses", &MajorityGame::losses)
      .def("total", &MajorityGame::total)
      .def("shares", &MajorityGame::shares, "codes"_a.noconvert(), "kinds"_a)
      .def("lean", &MajorityGame::lean, "said"_a.noconvert())
      .def("learn", &MajorityGame::learn, "codes"_a.noconvert(), "right"_a, "wrong"_a)
      .def("run", &MajorityGame::run, "said"_a.noconvert(), "outcome"_a.noconvert())
      .def("state", &MajorityGame::state)
      .def("restore", &MajorityGame::restore, "state"_a)
      .def("use_simd", &MajorityGame::use_simd, "avx2"_a)
      .def("__getstate__", &MajorityGame::state)
      .def("__setstate__", [](MajorityGame& self, nb::dict state) {
        new (&self) MajorityGame(nb::cast<double>(state["beta"]));
        self.restore(std::move(state));
      });
}

}  // namespace mistakebound
