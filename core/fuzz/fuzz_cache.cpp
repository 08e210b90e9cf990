// Fuzz `unpack` with mutated chunks of a cache that have a correct checksum. A violated condition aborts.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutate.hpp"
#include "read/cache.hpp"
#include "read/svmlight.hpp"
#include "read/vw.hpp"

using namespace mistakebound;
using namespace mistakebound::fuzz;

namespace {

struct Parsed {  // the same fields as in reader.hpp, without spares
  Chunk chunk;
  bool named = false, weighted = false;
  std::size_t consumed = 0;
  std::int64_t lines = 0;
  std::vector<Bad> bad;
  std::vector<std::int64_t> bad_row;
};

template <class Format>
std::string packed(const Format& format, const std::vector<std::string>& lines) {
  Parsed parsed;
  parsed.named = Format::named;
  Bad bad;
  for (const std::string& line : lines) {
    parsed.consumed += line.size() + 1;
    if (format.parse(line, 0, ++parsed.lines, parsed.chunk, bad)) continue;
    parsed.bad.push_back(bad);
    parsed.bad_row.push_back(static_cast<std::int64_t>(parsed.chunk.rows()));
  }
  if (parsed.named) parsed.chunk.prepare();
  return cache::pack(parsed);
}

// Read every index, offset, name and label of a chunk, as the engine and Python do.
void read(const Parsed& parsed, const std::string& input) {
  const Chunk& chunk = parsed.chunk;
  demand(chunk.indptr.size() == chunk.rows() + 1 && chunk.line.size() == chunk.rows(), "sizes differ", input);
  demand(chunk.row_begin() == chunk.features(), "not all features are in a row", input);
  double sum = 0;
  std::size_t letters = 0;
  for (std::size_t r = 0; r < chunk.rows(); ++r) {
    letters += chunk.label_of(r).size();
    demand(chunk.line[r] >= 1 && chunk.line[r] <= parsed.lines, "a line is wrong", input);
    for (auto k = static_cast<std::size_t>(chunk.indptr[r]); k < static_cast<std::size_t>(chunk.indptr[r + 1]); ++k) {
      sum += chunk.value_of(k);
      demand(std::isfinite(chunk.value_of(k)), "a value is not finite", input);
      if (parsed.named) {
        for (const char letter : chunk.name_of(k)) letters += static_cast<unsigned char>(letter);
        demand(formats::is_utf8(chunk.name_of(k)), "a name is not UTF-8", input);
        demand(chunk.value_of(k) != 0, "a feature with a name is 0", input);
      } else {
        demand(chunk.index[k] >= 0 && chunk.index[k] <= chunk.largest_index, "an index is wrong", input);
      }
    }
  }
  for (std::size_t k = 0; k < parsed.bad.size(); ++k) {
    demand(parsed.bad_row[k] >= 0 && parsed.bad_row[k] <= static_cast<std::int64_t>(chunk.rows()), "a bad row is wrong", input);
    letters += parsed.bad[k].what.size();
  }
  if (std::isnan(sum) && letters == 1) std::abort();  // uses the results, so that the compiler cannot remove the reads
}

std::string forged(const std::vector<std::string>& seeds, Random& random) {
  std::string bytes = seeds[below(random, seeds.size())];
  for (std::size_t times = 1 + below(random, 3); times > 0 && bytes.size() >= 16; --times) {
    const std::size_t at = 8 + 8 * below(random, below(random, 2) == 0 ? std::min<std::size_t>(9, bytes.size() / 8 - 1) : bytes.size() / 8 - 1);
    std::uint64_t number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    switch (below(random, 7)) {
      case 0: number += below(random, 5) - 2; break;
      case 1: number = random() >> below(random, 64); break;
      case 2: number = ~(random() >> below(random, 64)); break;
      case 3: number ^= std::uint64_t{1} << below(random, 64); break;
      case 4: number = below(random, 3); break;
      case 5: bytes.resize(at); continue;
      default: bytes.insert(at, bytes.substr(8 * below(random, bytes.size() / 8), 8)); continue;
    }
    std::memcpy(bytes.data() + at, &number, sizeof number);
  }
  bytes.resize(bytes.size() / 8 * 8);
  if (bytes.size() >= 8) {
    const std::uint64_t sum = cache::checksum(bytes.data() + 8, bytes.size() - 8);
    std::memcpy(bytes.data(), &sum, sizeof sum);
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  Random random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0);
  const unsigned long long count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
  const std::vector<std::string> seeds = {
      packed(Svmlight{}, {"1 1:0.5 7:-2", "-1 3:1e-3", "bad:", "1", "-1 2:1 2:1", "x 0:1", "a 9:9"}),
      packed(Svmlight{}, {}),
      packed(VwText{}, {"1 |a x y:2 |b:0.5 z", "-1 | a_long_name_of_more_than_16_bytes \xC3\xBC", "| :", "2 | \xE2\x82\xAC:3"}),
      packed(VwText{}, {"1 | a b c", "-1 | d"})};
  unsigned long long taken = 0;
  for (const std::string& seed : seeds) {
    Parsed parsed;
    cache::unpack(seed, parsed);
    read(parsed, seed);
  }
  for (unsigned long long k = 0; k < count; ++k) {
    const std::string input = forged(seeds, random);
    const auto exact = std::make_unique<char[]>(input.size());  // of exact size: a sanitizer detects reads beyond its end
    std::copy(input.begin(), input.end(), exact.get());
    Parsed parsed;
    try {
      cache::unpack({exact.get(), input.size()}, parsed);
    } catch (const std::invalid_argument&) {
      continue;
    }
    read(parsed, input);
    ++taken;
  }
  std::printf("%llu caches, %llu of them sound\n", count, taken);
}
