// Python bindings of the rules over experts. They check arrays, and release the GIL while rounds are played.
#include "bindings/expert_bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/lock.hpp"
#include "experts/guard.hpp"
#include "experts/levels.hpp"
#include "experts/majority.hpp"
#include "experts/mixture.hpp"

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
void must(bool holds, const char* message) {
  if (!holds) throw nb::value_error(message);
}

template <class Id, class Names>
Id named(const Names& names, const std::string& name, const char* what) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) throw nb::value_error((std::string("there is no ") + what + " '" + name + "'").c_str());
  return static_cast<Id>(std::distance(names.begin(), at));
}
experts::Simd simd_of(const std::string& level) {
  const auto simd = named<experts::Simd>(experts::simd_names, level, "SIMD level");
  if (!experts::runs(simd)) throw nb::value_error(("this processor does not support the SIMD level '" + level + "'").c_str());
  return simd;
}

class MajorityGame {
 public:
  explicit MajorityGame(double beta) : beta_(beta), majority_(checked(beta)) {
    majority_.use(experts::level_of(experts::best_simd()));
  }

  double beta() const { return beta_; }
  std::size_t experts() {
    const auto lock = lock_.take();
    return majority_.experts();
  }
  void use_simd(const std::string& level) {
    const auto lock = lock_.take();
    majority_.use(experts::level_of(simd_of(level)));
  }
  void join(Array<double> losses) {
    const auto lock = lock_.take();
    const auto finite = [](double loss) { return std::isfinite(loss); };
    must(std::all_of(losses.data(), losses.data() + losses.size(), finite), "the losses of new experts must be finite");
    majority_.join(losses.data(), losses.size());
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
  double lean(Array<std::uint8_t> votes) {
    const auto lock = lock_.take();
    must(votes.size() == majority_.experts(), "votes must have one entry per expert");
    return majority_.lean(votes.data());
  }
  void learn(Array<std::int32_t> codes, std::int32_t right, double wrong) {
    const auto lock = lock_.take();
    check_codes(codes, std::size_t{1} << 31);
    must(std::isfinite(wrong), "wrong must be finite");
    majority_.learn(codes.data(), right, wrong);
  }
  // Play rounds until one has a vote or an outcome that is neither 0 nor 1.
  nb::tuple run(Matrix<std::uint8_t> votes, Array<std::uint8_t> outcomes) {
    const auto lock = lock_.take();
    must(votes.shape(0) == outcomes.size(), "outcomes must have one entry per round");
    must(votes.shape(1) == majority_.experts(), "votes must have one column per expert");
    std::vector<double> lean(outcomes.size()), total(outcomes.size());
    std::size_t played = 0;
    lock_.without_gil([&] { played = majority_.run(votes.data(), outcomes.data(), outcomes.size(), lean.data(), total.data()); });
    lean.resize(played);
    total.resize(played);
    return nb::make_tuple(to_numpy(std::move(lean)), to_numpy(std::move(total)));
  }

  // The code of the prediction of one round, or −1 if it is undecided.
  std::int32_t predict_guarded(Array<std::int32_t> codes, std::size_t kinds, std::int32_t advice, std::size_t mistakes,
                               double start, int decision) {
    const auto lock = lock_.take();
    check_codes(codes, kinds);
    check_awake(codes.data(), 1);
    must(within(&advice, 1, -1, kinds), "advice must be -1 (none), or from 0 to kinds - 1");
    return guard(kinds, start).predict(codes.data(), advice, static_cast<double>(mistakes), decided(decision));
  }
  // Play rounds until one is undecided.
  nb::tuple run_guarded(Matrix<std::int32_t> codes, std::size_t kinds, Array<std::int32_t> right, Array<std::int32_t> advice,
                        std::size_t mistakes, double start, int decision) {
    const auto lock = lock_.take();
    const std::size_t rounds = codes.shape(0);
    must(codes.shape(1) == majority_.experts(), "codes must have one column per expert");
    must(right.size() == rounds && advice.size() == rounds, "right and advice must have one entry per round");
    must(within(codes.data(), codes.size(), -1, kinds), "codes must be -1 (asleep), or from 0 to kinds - 1");
    must(within(right.data(), rounds, 0, kinds), "right must be from 0 to kinds - 1");
    must(within(advice.data(), rounds, -1, kinds), "advice must be -1 (none), or from 0 to kinds - 1");
    check_awake(codes.data(), rounds);
    std::vector<std::int32_t> prediction(rounds);
    std::vector<double> wrong(rounds);
    experts::Guard guarded = guard(kinds, start);
    std::size_t played = 0;
    lock_.without_gil([&] {
      played = guarded.run(codes.data(), right.data(), advice.data(), rounds, static_cast<double>(mistakes), decided(decision),
                           prediction.data(), wrong.data());
    });
    prediction.resize(played);
    wrong.resize(played);
    return nb::make_tuple(to_numpy(std::move(prediction)), to_numpy(std::move(wrong)));
  }

  nb::dict state() {
    const auto lock = lock_.take();
    experts::Majority::State now = majority_.state();
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
    must(nb::cast<double>(state["beta"]) == beta_, "the stored state is of a rule with another beta");
    const bool sound = majority_.restore({to_vector<double>(state["loss"]), to_vector<double>(state["base"]),
                                          to_vector<std::uint8_t>(state["in_block"]),
                                          to_vector<std::uint8_t>(state["since"]), nb::cast<std::size_t>(state["phase"]),
                                          nb::cast<double>(state["total"]), nb::cast<double>(state["fresh"])});
    must(sound, "the stored state is not a state of Weighted Majority");
  }

 private:
  static double checked(double beta) {
    must(beta >= 0 && beta < 1, "beta must be at least 0 and below 1");
    return beta;
  }
  void check_codes(const Array<std::int32_t>& codes, std::size_t kinds) const {
    must(codes.size() == majority_.experts(), "codes must have one entry per expert");
    must(within(codes.data(), codes.size(), -1, kinds), "codes must be -1 (asleep), or from 0 to kinds - 1");
  }
  static bool within(const std::int32_t* codes, std::size_t count, std::int32_t least, std::size_t kinds) {
    const auto known = [=](std::int32_t c) { return c >= least && (c < 0 || static_cast<std::size_t>(c) < kinds); };
    return std::all_of(codes, codes + count, known);
  }
  void check_awake(const std::int32_t* codes, std::size_t rounds) const {
    const std::size_t n = majority_.experts();
    for (; rounds > 0; --rounds, codes += n)
      must(std::any_of(codes, codes + n, [](std::int32_t c) { return c >= 0; }), "an expert must be awake in each round");
  }
  experts::Guard guard(std::size_t kinds, double start) {
    must(majority_.experts() > 0, "there must be an expert");
    must(beta_ > 0, "a guard needs beta above 0");
    must(kinds > 0 && kinds <= std::size_t{1} << 31, "kinds must be at least 1");
    return {majority_, beta_, kinds, start};
  }
  static experts::Decision decided(int decision) {
    must(decision >= -1 && decision <= 1, "decision must be -1 (undecided), 0 (vote) or 1 (follow)");
    return static_cast<experts::Decision>(decision);
  }
  template <class Number>
  nb::object numbers(Number number) const {
    std::vector<double> all(majority_.experts());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = number(k);
    return to_numpy(std::move(all));
  }

  double beta_;
  experts::Majority majority_;
  Lock lock_;
};

constexpr std::array rule_names{"hedge", "anytime", "adahedge", "fixed-share", "ml-ewa", "ml-poly", "boa", "boa-adaptive",
                                "ml-prod", "boa-observed", "ml-prod-observed", "ogd"};
constexpr std::array loss_names{"square", "absolute", "percentage", "pinball", "log"};
constexpr std::array fault_names{"none",           "all asleep",     "infinite forecast", "forecast domain", "infinite outcome",
                                 "outcome domain", "own loss", "loss",              "too large",       "too small"};
static_assert(rule_names.size() == experts::rule_count && loss_names.size() == experts::loss_count);

class MixtureGame {
 public:
  MixtureGame(std::string rule, const nb::dict& parameters, std::string loss, double tau, bool gradient,
              const Array<double>& prior)
      : rule_(std::move(rule)), loss_(std::move(loss)), tau_(tau), gradient_(gradient),
        eta_(number(parameters, "eta", takes_eta(rule_))), alpha_(number(parameters, "alpha", takes_alpha(rule_))),
        mixture_(named<experts::RuleId>(rule_names, rule_, "rule"), eta_, alpha_,
                 {named<experts::LossId>(loss_names, loss_, "loss"), tau, gradient}, checked(prior, 1)) {
    must(parameters.size() == std::size_t{takes_eta(rule_)} + std::size_t{takes_alpha(rule_)},
         "parameters must have exactly the parameters of the rule");
    must(!takes_eta(rule_) || eta_ > 0, "eta must be above 0");
    must(!takes_eta(rule_) || rule_ == "hedge" || std::isfinite(eta_), "eta must be finite");
    must(!takes_alpha(rule_) || (alpha_ >= 0 && alpha_ <= 1), "alpha must be from 0 to 1");
    must(loss_ != "pinball" || (tau > 0 && tau < 1), "tau must be above 0 and below 1");
    mixture_.use(experts::level_of(experts::best_simd()));
  }

  void use_simd(const std::string& level) {
    const auto lock = lock_.take();
    mixture_.use(experts::level_of(simd_of(level)));
  }
  std::size_t experts() {
    const auto lock = lock_.take();
    return mixture_.experts();
  }
  void join(const Array<double>& prior) {
    const auto lock = lock_.take();
    mixture_.join(checked(prior, mixture_.experts()));
  }
  // Return (forecast, weights, None), or (NaN, None, fault).
  nb::tuple serve(const Array<double>& x) {
    const auto lock = lock_.take();
    check_row(x);
    const auto served = mixture_.serve(x.data());
    if (served.complaint) return nb::make_tuple(std::nan(""), nb::none(), fault(0, served.complaint));
    std::vector<double> p(mixture_.experts());
    for (std::size_t k = 0; k < p.size(); ++k) p[k] = x.data()[k] == x.data()[k] ? served.w[k] / served.total : 0;
    return nb::make_tuple(served.forecast, to_numpy(std::move(p)), nb::none());
  }
  nb::tuple learn(const Array<double>& x, double forecast, double y) {
    const auto lock = lock_.take();
    check_row(x);
    double mine = std::nan("");
    const auto bad = mixture_.learn(x.data(), forecast, y, mine);
    return nb::make_tuple(mine, fault(0, bad));
  }
  nb::tuple run(const Matrix<double>& x, const Array<double>& y) {
    const auto lock = lock_.take();
    check_rows(x);
    must(x.shape(0) == y.size(), "y must have one entry per round");
    std::vector<double> forecasts(y.size()), losses(y.size());
    experts::Complaint bad;
    std::size_t played = 0;
    lock_.without_gil([&] { played = mixture_.run(x.data(), y.data(), y.size(), forecasts.data(), losses.data(), bad); });
    forecasts.resize(played);
    losses.resize(played);
    return nb::make_tuple(to_numpy(std::move(forecasts)), to_numpy(std::move(losses)), fault(played, bad));
  }
  nb::tuple run_losses(const Matrix<double>& given) {
    const auto lock = lock_.take();
    check_rows(given);
    std::vector<double> losses(given.shape(0));
    experts::Complaint bad;
    std::size_t played = 0;
    lock_.without_gil([&] { played = mixture_.run_losses(given.data(), losses.size(), losses.data(), bad); });
    losses.resize(played);
    return nb::make_tuple(to_numpy(std::move(losses)), fault(played, bad));
  }

  nb::object weights() {
    const auto lock = lock_.take();
    return to_numpy(mixture_.weights());
  }
  nb::dict sums() {
    const auto lock = lock_.take();
    nb::dict all;
    using M = experts::Mixture;
    for (const auto c : {M::R, M::V, M::loss, M::own, M::awake}) all[M::names[c]] = to_numpy(mixture_.column(c));
    return all;
  }
  // The numbers of the whole rule, which do not belong to an expert.
  nb::dict numbers() {
    const auto lock = lock_.take();
    const experts::Book& book = mixture_.book();
    nb::dict all;
    all["eta"] = book.eta;
    all["gaps"] = book.gaps;
    all["widest"] = book.widest;
    all["largest"] = book.largest;
    all["rounds"] = book.rounds;
    return all;
  }

  nb::dict state() {
    const auto lock = lock_.take();
    auto now = mixture_.state();
    nb::dict all;
    all["rule"] = rule_;
    all["loss"] = loss_;
    all["tau"] = tau_;
    all["gradient"] = gradient_;
    all["eta"] = eta_;
    all["alpha"] = alpha_;
    all["prior"] = to_numpy(std::move(now.prior));
    for (std::size_t c = 0; c < now.column.size(); ++c) all[experts::Mixture::names[c]] = to_numpy(std::move(now.column[c]));
    all["numbers"] = to_numpy(std::vector<double>(now.scalar.begin(), now.scalar.end()));
    all["played"] = now.rounds;
    all["since"] = now.since;
    all["stale"] = now.stale;
    return all;
  }
  void restore(const nb::dict& state) {
    const auto lock = lock_.take();
    must(nb::cast<std::string>(state["rule"]) == rule_ && nb::cast<std::string>(state["loss"]) == loss_ &&
             nb::cast<double>(state["tau"]) == tau_ && nb::cast<bool>(state["gradient"]) == gradient_ &&
             nb::cast<double>(state["eta"]) == eta_ && nb::cast<double>(state["alpha"]) == alpha_,
         "the stored state is of another rule or loss");
    experts::Mixture::State then{};
    then.prior = checked(nb::cast<Array<double>>(state["prior"]), 1);
    for (std::size_t c = 0; c < then.column.size(); ++c) {
      then.column[c] = to_vector<double>(state[experts::Mixture::names[c]]);
      must(then.column[c].size() == then.prior.size(), "each array of the stored state must have one number per expert");
    }
    const auto scalars = to_vector<double>(state["numbers"]);
    must(scalars.size() == then.scalar.size(), "the stored state must have seven numbers");
    std::copy(scalars.begin(), scalars.end(), then.scalar.begin());
    then.rounds = nb::cast<std::uint64_t>(state["played"]);
    then.since = nb::cast<std::uint64_t>(state["since"]);
    then.stale = nb::cast<bool>(state["stale"]);
    mixture_.restore(then);
  }
  static MixtureGame* make(MixtureGame* at, const nb::dict& state) {
    nb::dict parameters;
    const auto rule = nb::cast<std::string>(state["rule"]);
    if (takes_eta(rule)) parameters["eta"] = state["eta"];
    if (takes_alpha(rule)) parameters["alpha"] = state["alpha"];
    new (at) MixtureGame(rule, parameters, nb::cast<std::string>(state["loss"]),
                         nb::cast<double>(state["tau"]), nb::cast<bool>(state["gradient"]),
                         nb::cast<Array<double>>(state["prior"]));
    at->restore(state);
    return at;
  }

 private:
  static bool takes_eta(const std::string& rule) { return rule == "hedge" || rule == "fixed-share" || rule == "boa"; }
  static bool takes_alpha(const std::string& rule) { return rule == "fixed-share"; }
  // Rules that choose their rate start with an infinite one.
  static double number(const nb::dict& parameters, const char* name, bool taken) {
    return taken ? nb::cast<double>(parameters[name]) : std::numeric_limits<double>::infinity();
  }
  static std::vector<double> checked(const Array<double>& prior, std::size_t least) {
    must(prior.size() >= least, "prior must have an entry for each expert, including the earlier ones");
    for (std::size_t k = 0; k < prior.size(); ++k)
      must(prior.data()[k] > 0 && std::isfinite(prior.data()[k]), "prior must be positive and finite");
    return {prior.data(), prior.data() + prior.size()};
  }
  void check_row(const Array<double>& x) const { must(x.size() == mixture_.experts(), "x must have one number per expert"); }
  void check_rows(const Matrix<double>& x) const {
    must(x.shape(1) == mixture_.experts(), "the matrix must have one column per expert");
  }
  static nb::object fault(std::size_t round, const experts::Complaint& bad) {
    if (!bad) return nb::none();
    return nb::make_tuple(round, bad.expert, fault_names[static_cast<std::size_t>(bad.fault)]);
  }

  std::string rule_, loss_;
  double tau_;
  bool gradient_;
  double eta_, alpha_;
  experts::Mixture mixture_;
  Lock lock_;
};

// The elementary functions as the loops over experts compute them, for tests.
nb::object elementwise(const std::string& function, const Array<double>& x, const std::string& level) {
  std::vector<double> out(x.size());
  const experts::Level& at = experts::level_of(simd_of(level));
  const auto of = function == "exp" ? at.exp : function == "log" ? at.log : function == "log1p" ? at.log1p : nullptr;
  must(of != nullptr, "function must be exp, log or log1p");
  of(x.data(), x.size(), out.data());
  return to_numpy(std::move(out));
}

}  // namespace

void bind_experts(nb::module_& m) {
  nb::class_<MajorityGame>(m, "Majority", "Weighted Majority: the weights of experts that vote.")
      .def(nb::init<double>(), "beta"_a)
      .def_prop_ro("beta", &MajorityGame::beta)
      .def("experts", &MajorityGame::experts)
      .def("join", &MajorityGame::join, "losses"_a.noconvert())
      .def("weights", &MajorityGame::weights)
      .def("losses", &MajorityGame::losses)
      .def("total", &MajorityGame::total)
      .def("shares", &MajorityGame::shares, "codes"_a.noconvert(), "kinds"_a)
      .def("lean", &MajorityGame::lean, "votes"_a.noconvert())
      .def("learn", &MajorityGame::learn, "codes"_a.noconvert(), "right"_a, "wrong"_a)
      .def("run", &MajorityGame::run, "votes"_a.noconvert(), "outcomes"_a.noconvert())
      .def("predict_guarded", &MajorityGame::predict_guarded, "codes"_a.noconvert(), "kinds"_a, "advice"_a, "mistakes"_a,
           "start"_a, "decision"_a = -1)
      .def("run_guarded", &MajorityGame::run_guarded, "codes"_a.noconvert(), "kinds"_a, "right"_a.noconvert(),
           "advice"_a.noconvert(), "mistakes"_a, "start"_a, "decision"_a = -1)
      .def("state", &MajorityGame::state)
      .def("restore", &MajorityGame::restore, "state"_a)
      .def("use_simd", &MajorityGame::use_simd, "level"_a)
      .def("__getstate__", &MajorityGame::state)
      .def("__setstate__", [](MajorityGame& self, nb::dict state) {
        new (&self) MajorityGame(nb::cast<double>(state["beta"]));
        self.restore(std::move(state));
      });
  nb::class_<MixtureGame>(m, "Mixture", "A rule that mixes the forecasts of experts: its weights and sums.")
      .def(nb::init<std::string, const nb::dict&, std::string, double, bool, const Array<double>&>(), "rule"_a,
           "parameters"_a, "loss"_a, "tau"_a, "gradient"_a, "prior"_a)
      .def("experts", &MixtureGame::experts)
      .def("join", &MixtureGame::join, "prior"_a)
      .def("serve", &MixtureGame::serve, "x"_a.noconvert())
      .def("learn", &MixtureGame::learn, "x"_a.noconvert(), "forecast"_a, "y"_a)
      .def("run", &MixtureGame::run, "A"_a.noconvert(), "y"_a.noconvert())
      .def("run_losses", &MixtureGame::run_losses, "L"_a.noconvert())
      .def("weights", &MixtureGame::weights)
      .def("sums", &MixtureGame::sums)
      .def("numbers", &MixtureGame::numbers)
      .def("state", &MixtureGame::state)
      .def("restore", &MixtureGame::restore, "state"_a)
      .def("use_simd", &MixtureGame::use_simd, "level"_a)
      .def("__getstate__", &MixtureGame::state)
      .def("__setstate__", [](MixtureGame& self, const nb::dict& state) { MixtureGame::make(&self, state); });
  m.def("loss_limits", [] { return nb::make_tuple(experts::largest_regret, experts::least_regret, experts::least_losses); });
  m.def("elementwise", &elementwise, "function"_a, "x"_a, "level"_a);
  m.def(
      "simd_levels",
      [] {
        nb::list levels;
        for (std::size_t at = 0; at < experts::simd_names.size(); ++at)
          if (experts::runs(static_cast<experts::Simd>(at))) levels.append(experts::simd_names[at]);
        return levels;
      },
      "Return the SIMD levels that this processor supports, the fastest last.");
}

}  // namespace mistakebound
