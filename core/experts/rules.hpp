// One struct per rule over experts: `learn` learns the regrets of a round, and `weigh` computes the weights of the next one.
// src/mistakebound/aggregation is the specification. The sums for its theorems are left out, because a certificate replays the
// rounds with the specification.
#pragma once
#include "experts/book.hpp"
#include "experts/elementary.hpp"

namespace mistakebound::experts::MISTAKEBOUND_LEVEL {

// R += r, V += r², losses
inline void add(Book& book) {
  for (std::size_t k = 0; k < book.width; k += 4) {
    const Four r = load(book.r + k);
    store(book.R + k, load(book.R + k) + r);
    store(book.V + k, load(book.V + k) + r * r);
    store(book.loss + k, load(book.loss + k) + load(book.theirs + k));
  }
}

template <class Term>
MISTAKEBOUND_INLINE double total(const Book& book, Term term) {
  Four lanes{};
  for (std::size_t k = 0; k < book.width; k += 4) lanes += term(k);
  return sum(lanes);
}
// Elements after the last expert have a prior of 0 and are never the largest.
template <class Term>
MISTAKEBOUND_INLINE double largest(const Book& book, Term term) {
  Four lanes = all(-infinity);
  for (std::size_t k = 0; k < book.width; k += 4)
    lanes = most(choose(load(book.log_prior + k) > -infinity, term(k), all(-infinity)), lanes);
  return top(lanes);
}
// w = factor·e^(z − max z).
template <class Z, class Factor>
MISTAKEBOUND_INLINE void exponential(Book& book, Z z, Factor factor) {
  Four lanes = all(-infinity);
  for (std::size_t k = 0; k < book.width; k += 4) {
    const Four each = load(book.log_prior + k) + z(k);
    store(book.w + k, each);
    lanes = most(each, lanes);
  }
  const double leader = top(lanes);
  for (std::size_t k = 0; k < book.width; k += 4) store(book.w + k, factor(k) * exp(load(book.w + k) - leader));
}
template <class Z>
MISTAKEBOUND_INLINE void exponential(Book& book, Z z) {
  exponential(book, z, [](std::size_t) { return all(1); });
}
inline void by_prior(Book& book) {
  for (std::size_t k = 0; k < book.width; k += 4) store(book.w + k, load(book.prior + k));
}
inline void leaders(Book& book) {
  const double best = largest(book, [&](std::size_t k) { return load(book.R + k); });
  for (std::size_t k = 0; k < book.width; k += 4)
    store(book.w + k, where(load(book.R + k) >= best, load(book.prior + k)));
}

struct Hedge {  // w = π e^{ηR}
  static void weigh(Book& book) {
    if (book.eta == infinity) return leaders(book);
    exponential(book, [&](std::size_t k) { return book.eta * load(book.R + k); });
  }
  static void learn(Book& book, const Regrets&) { add(book); }
};

struct Anytime {  // η = 2√(ln n/t)/S; it never increases
  static void weigh(Book& book) { Hedge::weigh(book); }
  static void learn(Book& book, const Regrets& round) {
    Hedge::learn(book, round);
    book.widest = larger(book.widest, round.top - round.bottom);
    if (!(book.widest > 0)) return;
    const double slow = __builtin_sqrt(book.log_n / static_cast<double>(book.rounds + 2));
    book.eta = smaller(book.eta, 2 * slow / book.widest);
  }
};

struct AdaHedge {  // η = ln n/Δ, Δ the sum of h − m
  static MISTAKEBOUND_INLINE Four z(const Book& book, double best, std::size_t k) { return book.eta * (load(book.R + k) - best); }
  static double best_of(const Book& book) {
    return largest(book, [&](std::size_t k) { return load(book.R + k); });
  }
  static void weigh(Book& book) {
    if (book.eta == infinity) return leaders(book);
    const double best = best_of(book);
    exponential(book, [&](std::size_t k) { return z(book, best, k); });
  }
  static void learn(Book& book, const Regrets&) {
    const double best = best_of(book);
    Four weights{}, means{};  // with the current weights
    for (std::size_t k = 0; k < book.width; k += 4) {
      const Four w = load(book.w + k), r = load(book.r + k);
      weights += w;
      means += w * r;
    }
    const double mass = sum(weights), first = sum(means) / mass;
    const double mixed = book.eta == infinity
                             ? best - largest(book, [&](std::size_t k) { return load(book.R + k) + load(book.r + k); })
                             : mix_loss(book, best, mass);
    book.gaps += larger(0, -first - mixed);
    add(book);
    if (!(book.gaps > 0) || book.n == 1) return;
    Four rarest = all(infinity);
    for (std::size_t k = 0; k < book.width; k += 4) {
      const Four each = load(book.log_prior + k);
      rarest = least(choose(each > -infinity, each, all(infinity)), rarest);
    }
    book.eta = smaller(book.eta, -bottom(rarest) / book.gaps);  // it must not increase when experts join
  }
  static double one_ln(double x) { return numbers(ln(all(x))).at[0]; }
  // −ln(w·e^{ηr})/η, computed from logarithms: a weight that underflows now may be the largest after this round.
  static double mix_loss(const Book& book, double best, double mass) {
    const auto before = [&](std::size_t k) { return load(book.log_prior + k) + z(book, best, k); };
    const auto after = [&](std::size_t k) { return before(k) + book.eta * load(book.r + k); };
    const double top_before = largest(book, before), top_after = largest(book, after);
    const double left = total(book, [&](std::size_t k) { return exp(after(k) - top_after); });
    const double change = (top_before + one_ln(mass)) - (top_after + one_ln(left));
    return change / book.eta;
  }
};

struct FixedShare {  // w ← α/n + (1−α)·w e^{ηr}/Σ
  static void weigh(Book&) {}
  static void learn(Book& book, const Regrets& round) {
    Four lanes{};
    for (std::size_t k = 0; k < book.width; k += 4) {
      const Four left = load(book.w + k) * exp(book.eta * (load(book.r + k) - round.top));
      store(book.w + k, left);
      lanes += left;
    }
    const double all_left = sum(lanes), share = book.alpha / static_cast<double>(book.n);
    if (all_left > 0)
      for (std::size_t k = 0; k < book.width; k += 4) {
        const Mask is_real = load(book.log_prior + k) > -infinity;
        store(book.w + k, where(is_real, share + (1 - book.alpha) * (load(book.w + k) / all_left)));
      }
    add(book);
  }
};

struct MLEwa {  // w = π e^{η_k R_k}, η_k = √(ln n/V_k)
  static void weigh(Book& book) {
    exponential(book, [&](std::size_t k) {
      const Four V = load(book.V + k);
      const Mask known = V > 0.0;
      return where(known, root(book.log_n / choose(known, V, all(1))) * load(book.R + k));
    });
  }
  static void learn(Book& book, const Regrets&) { add(book); }
};

struct MLPoly {  // w = π_k (R_k)₊/(B² + V_k)
  static MISTAKEBOUND_INLINE Four scale(const Book& book, std::size_t k) { return book.largest * book.largest + load(book.V + k); }
  static void weigh(Book& book) {
    const auto gained = [&](std::size_t k) { return most(load(book.R + k), Four{}); };
    if (!(largest(book, gained) > 0)) return by_prior(book);
    Four lanes{};
    for (std::size_t k = 0; k < book.width; k += 4) {
      const Four each = load(book.relative + k) * gained(k) / scale(book, k);
      store(book.w + k, each);
      lanes = most(each, lanes);
    }
    const double leader = top(lanes);
    for (std::size_t k = 0; k < book.width; k += 4) store(book.w + k, load(book.w + k) / leader);
  }
  static void learn(Book& book, const Regrets& round) {
    book.largest = larger(book.largest, round.largest);
    add(book);
  }
};

struct FixedBOA {  // w = π e^{ηR − η²V}
  static void weigh(Book& book) {
    exponential(book, [&](std::size_t k) { return book.eta * (load(book.R + k) - book.eta * load(book.V + k)); });
  }
  static void learn(Book& book, const Regrets&) { add(book); }
};

struct Bernstein {
  static MISTAKEBOUND_INLINE Four of(Four s, Four eta) { return s - eta * (s * s); }
};
struct Product {
  static MISTAKEBOUND_INLINE Four of(Four s, Four eta) { return ln1p(eta * s) / eta; }
};

template <class Gain>
struct Adaptive {  // w = π η_k e^{η_k X_k}, X += gain(s), η_k = min(1/2B, √(ln n/V_k)), s = r scaled down to the old range
  static MISTAKEBOUND_INLINE Four rate(const Book& book, Four S) {
    const Mask known = S > 0.0;
    const Four fast = all(0.5 / book.largest);
    return choose(known, least(fast, root(book.log_n / choose(known, S, all(1)))), fast);
  }
  static void weigh(Book& book) {
    if (book.largest == 0) return by_prior(book);
    exponential(
        book, [&](std::size_t k) { return load(book.rate + k) * load(book.X + k); },
        [&](std::size_t k) { return load(book.rate + k) * (2 * book.largest); });
  }
  static void learn(Book& book, const Regrets& round) {
    const double range = larger(book.largest, round.largest);
    if (range == 0) return add(book);
    if (book.largest == 0) {
      book.largest = range;
      rates(book);
    }
    const double shrunk = book.largest / range;
    book.largest = range;
    for (std::size_t k = 0; k < book.width; k += 4) {
      const Four s = load(book.r + k) * shrunk, old = load(book.rate + k), S = load(book.S + k) + s * s;
      store(book.X + k, load(book.X + k) + Gain::of(s, old));
      store(book.S + k, S);
      store(book.rate + k, least(old, rate(book, S)));  // it must not increase when experts join
    }
    add(book);
  }
  static void rates(Book& book) {
    for (std::size_t k = 0; k < book.width; k += 4) store(book.rate + k, rate(book, load(book.S + k)));
  }
};

template <class Gain>
struct Observed {  // the same with η_k = min(1/2b_k, √(ln n/V_k)), which include the current round
  static void weigh(Book& book) {
    if (book.largest == 0) return by_prior(book);
    const auto known = [&](std::size_t k) { return load(book.b + k) > 0.0; };
    const double fastest = largest(book, [&](std::size_t k) { return where(known(k), load(book.rate + k)); });
    const auto rate = [&](std::size_t k) { return choose(known(k), load(book.rate + k), all(fastest)); };
    exponential(
        book, [&](std::size_t k) { return rate(k) * load(book.X + k); },
        [&](std::size_t k) { return rate(k) / fastest; });
  }
  static void learn(Book& book, const Regrets& round) {
    book.largest = larger(book.largest, round.largest);
    add(book);
    if (book.largest == 0) return;
    for (std::size_t k = 0; k < book.width; k += 4) store(book.b + k, most(size(load(book.r + k)), load(book.b + k)));
    rates(book);
    for (std::size_t k = 0; k < book.width; k += 4) {
      const Four gained = Gain::of(load(book.r + k), load(book.rate + k));
      store(book.X + k, load(book.X + k) + where(load(book.b + k) > 0.0, gained));
    }
  }
  static void rates(Book& book) {
    for (std::size_t k = 0; k < book.width; k += 4) {
      const Four b = load(book.b + k);
      const Mask known = b > 0.0;
      const Four V = choose(known, load(book.V + k), all(1));
      store(book.rate + k, least(0.5 / choose(known, b, all(1)), root(book.log_n / V)));
    }
  }
};

struct OGD {  // w ← Proj(w − η_t ℓ), η_t = 1/(G√t)
  static void weigh(Book&) {}
  static void learn(Book& book, const Regrets& round) {
    add(book);
    Four lanes{};
    fours(book.n, [&](std::size_t k, auto kind) {
      const Four loss = where(real(k, book.n, kind), round.h - load(book.r + k));
      lanes += loss * loss;
    });
    const double length = __builtin_sqrt(sum(lanes));
    book.largest = larger(book.largest, length);
    if (book.largest == 0) return;
    book.eta = 1 / (book.largest * __builtin_sqrt(static_cast<double>(book.rounds + 1)));
    for (std::size_t k = 0; k < book.width; k += 4)
      store(book.next + k, load(book.w + k) - book.eta * (round.h - load(book.r + k)));
    project(book);
  }
  // The point of the simplex nearest to `next`: coordinates at or below the mean excess of the others are set to 0, until there
  // are none, or until rounding would add one again.
  static void project(Book& book) {
    double shift = -infinity;
    for (std::size_t kept = book.n + 1;;) {
      Four lanes{}, counts{};
      fours(book.n, [&](std::size_t k, auto kind) {
        const Four v = load(book.next + k);
        const Mask in = real(k, book.n, kind) & (v > shift);
        lanes += where(in, v);
        counts += where(in, all(1));
      });
      const auto count = static_cast<std::size_t>(sum(counts));
      if (count >= kept || count == 0) break;
      kept = count;
      shift = (sum(lanes) - 1) / static_cast<double>(count);
    }
    for (std::size_t k = 0; k < book.width; k += 4) {
      const Mask is_real = load(book.log_prior + k) > -infinity;
      store(book.w + k, where(is_real, most(load(book.next + k) - shift, Four{})));
    }
  }
};

}  // namespace mistakebound::experts::MISTAKEBOUND_LEVEL
