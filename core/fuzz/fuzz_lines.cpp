// Fuzz the parsers of svmlight and VW with mutated lines. A violated condition aborts. `make fuzz` builds and runs it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutate.hpp"
#include "read/svmlight.hpp"
#include "read/vw.hpp"

using namespace mistakebound;
using namespace mistakebound::fuzz;

namespace {

const std::vector<std::string> svmlight = {
    "1 1:0.5 2:1e-3 77:12345678.875 2147483646:1", "-1 qid:7 3:1 9:-0.000123456789012345 # 5:x", "+1.5e0 10:.5 11:5. 12:123456789012345678901",
    "0\t1:1\r", "# nothing", "", "3:1 4:0.5 # no label"};
const std::vector<std::string> vw = {
    "1 | price:.23 sqft:.25 2006", "-1 2 'second | a:1e3", "0 1 0.5 'third|h:2 price:.5 roof|g:0.5 x |", "1 tag| a b:0", "| un", "",
    "1 | an extraordinarily considerable word", "-1 |a thousandfold:1 incomprehensible:2 b", "1 | a b c d:1 e"};
const std::vector<std::string> pieces = {":",  "|",   " ",   "#",  "-",      "+",     ".",    "e",  "nan",  "inf", "'",
                                         "\t", "\r", "qid:", "0", "9999999999", "1e999", "1e-999", "\xFF", "::", "||", "0x1",
                                         "\xC3", "\xBC", "\xC3\xBC", "\xE2\x82\xAC"};
// UTF-8 characters, including the first and last of each length, and sequences that are almost valid.
const std::vector<std::string> letters = {"\xC2\x80", "\xC3\xBC", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
                                          "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"};
const std::vector<std::string> no_letters = {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                                             "\xF5\x80\x80\x80", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xF0\x9F", "\xE2", "\xC3\xBC\xBC"};

std::string line(const std::vector<std::string>& seeds, Random& random) {
  std::string text = mutate(seeds, pieces, random);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

template <class Format>
std::vector<std::string> names_of(const Chunk& chunk) {
  std::vector<std::string> names;
  for (std::size_t k = 0; Format::named && k < chunk.features(); ++k) names.emplace_back(chunk.name_of(k));
  return names;
}

// Parsing from memory of exact size, and from memory with readable bytes after it, where the fast parser is used, must give the
// same result.
template <class Format>
void feed(const Format& format, const std::string& input, Random& random) {
  const auto size = static_cast<std::ptrdiff_t>(input.size());
  const auto after = static_cast<std::ptrdiff_t>(below(random, 3) * 32);
  std::string noise(static_cast<std::size_t>(after), '7');
  Chunk tight, roomy;
  Bad bad, other;
  const auto exact = std::make_unique<char[]>(input.size());
  const auto larger = std::make_unique<char[]>(input.size() + noise.size());
  std::copy(input.begin(), input.end(), exact.get());
  std::copy(input.begin(), input.end(), larger.get());
  std::copy(noise.begin(), noise.end(), larger.get() + size);
  const bool good = format.parse({exact.get(), input.size()}, 0, 1, tight, bad);
  demand(good == format.parse({larger.get(), input.size()}, after, 1, roomy, other), "the quick way differs", input);
  demand(tight.value == roomy.value && tight.index == roomy.index && tight.rows() == roomy.rows(), "other values", input);
  demand(tight.key == roomy.key && names_of<Format>(tight) == names_of<Format>(roomy), "other names", input);
  demand(good || (bad.line == 1 && bad.column >= 1 && bad.column <= size + 1 && !bad.what.empty()), "a bad `bad`", input);
  demand(good || (other.column == bad.column && other.what == bad.what), "another complaint", input);
  demand(good || tight.rows() == 0, "a bad row was kept", input);
  demand(tight.row_begin() == tight.features(), "a bad row left something", input);
  demand((Format::named ? tight.key.size() : tight.index.size()) == tight.features(), "sizes differ", input);
  demand(tight.value.size() == tight.features() || (Format::named && tight.value.empty()), "sizes differ", input);
  for (const std::string_view name : names_of<Format>(tight)) demand(formats::is_utf8(name), "a name is not UTF-8", input);
  for (std::size_t k = 0; k < tight.features(); ++k) {
    demand(std::isfinite(tight.value_of(k)), "a value is not finite", input);
    demand(Format::named || (tight.index[k] >= 0 && tight.index[k] <= tight.largest_index), "an index is wrong", input);
  }
}

std::string some_number(Random& random) {
  const std::string digits = std::to_string(random() | (std::uint64_t{1} << 63));  // 19 or 20 digits
  const std::size_t size = 1 + below(random, below(random, 8) == 0 ? 18 : 9), point = below(random, size + 3);
  std::string number = below(random, 3) == 0 ? "-" : "";
  number += digits.substr(0, std::min(point, size));
  if (point <= size) number += "." + digits.substr(point, size - point);
  return below(random, 30) == 0 ? "0" : number;
}
std::string usual_line(const Svmlight&, Random& random) {
  std::string text = below(random, 2) == 0 ? "-1" : "+1";
  for (std::size_t pairs = below(random, 40); pairs > 0; --pairs)
    text += " " + std::to_string(random() >> (34 + below(random, 29))) + (below(random, 200) == 0 ? ";" : ":") + some_number(random);
  return text;
}
std::string usual_line(const VwText&, Random& random) {
  std::string text = below(random, 2) == 0 ? "-1 |" : "1 |";
  if (below(random, 2) == 0) text += "space";
  for (std::size_t words = below(random, 40); words > 0; --words) {
    text += " " + std::string(below(random, 20), 'w') + std::to_string(random() % 1000);
    if (below(random, 4) == 0) text += letters[below(random, letters.size())];
    if (below(random, 100) == 0) text += no_letters[below(random, no_letters.size())];
    if (below(random, 2) == 0) text += ":" + some_number(random);
    if (below(random, 20) == 0) text += " |" + std::string(below(random, 3), 'n');
    if (below(random, 200) == 0) text += pieces[below(random, pieces.size())];
  }
  if (below(random, 10) == 0) text += " w" + no_letters[below(random, no_letters.size())];
  return text;
}

// Parsing several lines, most of them of the usual form, with and without the SIMD parser must give the same result.
template <class Format>
void feed_lines(const Format& format, const std::vector<std::string>& seeds, Random& random) {
  std::string input;
  for (std::size_t lines = below(random, below(random, 10) == 0 ? 40 : 6); lines > 0; --lines) {
    input += below(random, 4) == 0 ? line(seeds, random) : usual_line(format, random);
    if (below(random, 5) == 0) input += " ";
    input += below(random, 20) == 0 ? "\r\n" : "\n";
  }
  const auto exact = std::make_unique<char[]>(input.size());  // of exact size: a sanitizer detects reads beyond its end
  std::copy(input.begin(), input.end(), exact.get());
  const auto parse = [&](bool quickly, Chunk& chunk) {
    std::string complaints;
    const char *p = exact.get(), *const end = p + input.size();
    std::int64_t number = 1;
    if constexpr (!Format::named) Format::make_room(input.size(), chunk);
    while (p < end) {
      if (quickly) p = format.parse_quickly(p, end, number, chunk);
      if (p == end) break;
      const char* const stop = std::find(p, end, '\n');
      Bad bad;
      if (!format.parse({p, static_cast<std::size_t>(stop - p)}, end - stop, number, chunk, bad))
        complaints += std::to_string(bad.line) + ":" + std::to_string(bad.column) + bad.what;
      ++number;
      p = stop + (stop < end ? 1 : 0);
    }
    return complaints;
  };
  static Chunk quick;  // reused, as the reader does: its memory has old contents
  quick.clear();
  Chunk slow;
  demand(parse(true, quick) == parse(false, slow), "the quick way complains otherwise", input);
  const std::vector<std::string> names = names_of<Format>(quick);
  for (const std::string_view name : names) demand(formats::is_utf8(name), "a name is not UTF-8", input);
  demand(quick.index == slow.index && names == names_of<Format>(slow) && quick.indptr == slow.indptr, "the quick way differs", input);
  demand(quick.line == slow.line && quick.largest_index == slow.largest_index, "the quick way counts otherwise", input);
  demand(quick.label_ids == slow.label_ids && quick.labels == slow.labels && quick.other_labels == slow.other_labels,
         "the quick way has other labels", input);
  demand(quick.key == slow.key, "the quick way has other keys", input);
  for (std::size_t k = 0; k < names.size(); ++k) demand(Key(names[k]) == quick.key[k], "a key is not that of its name", input);
  for (std::size_t k = 0; k < slow.features(); ++k)  // also the sign of a zero
    demand(std::bit_cast<std::uint64_t>(quick.value_of(k)) == std::bit_cast<std::uint64_t>(slow.value_of(k)), "other values", input);
}

}  // namespace

int main(int argc, char** argv) {
  Random random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0);
  const unsigned long long count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
  for (unsigned long long k = 0; k < count; ++k) {
    feed(Svmlight{k % 2 == 0, k % 4 < 2}, line(svmlight, random), random);
    feed(VwText{}, line(vw, random), random);
    if (k % 8 == 0) {
      feed_lines(Svmlight{k % 16 == 0, k % 32 < 16}, svmlight, random);
      feed_lines(VwText{}, vw, random);
    }
  }
  std::printf("%llu svmlight and %llu VW lines\n", count, count);
}
