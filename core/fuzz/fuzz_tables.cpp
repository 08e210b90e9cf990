// Fuzz the parsers of tables and JSON lines with mutated text. A violated condition aborts. `make fuzz` builds and runs it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutate.hpp"
#include "read/csv.hpp"
#include "read/jsonl.hpp"

using namespace mistakebound;
using namespace mistakebound::fuzz;

namespace {

const std::vector<std::string> tables = {
    "\xEF\xBB\xBFlabel,a,b,text\r\n1,2.5,x,\"Free, \"\"now\"\"!\"\r\n0,-1e3,y,call me\r\n0,,?,na\xC3\xAFve caf\xC3\xA9\r\n",
    "a;b;c\n1;2;3\n\"x\ny\";\"\";z\n\n1e999;1e-999;+7\n",
    "ham\tGo until \"jurong\" point\nspam\t\"FREE\" entry\nham\t\"unclosed quote\nham\t\"closed\"\n",
    " 1 1 1 \"a b\" 3 1 data_5\n 0 1  2 1 3 inf data_6\n 1 1 1 nan 3 1 data_7 \n",
    "a=x,a,a~b,a*b\n1,x,2,3\n0,x,2,3\n4,y,1e200,1e200\n",
    "d,a:hour,t,y\n2024-02-29T23:59:60.5+01:00,7,New York,1\n2023/2/29,9,13:45,0\n0001-01-01 00:00,NaT,  A  b,1\n",
};
const std::vector<std::string> objects = {
    "{\"y\":\"spam\",\"a\":{\"b\":1.5,\"c\":[1,0,\"x\",{\"d\":true}]},\"t\":\"Win $100 now! now\"}\n",
    "{\"y\":1,\"t\":[\"one two\",\"two\"],\"k\\u00e9y\":\"\\ud83d\\ude00\\n\",\"n\":null,\"f\":false}\r\n\n",
    "{\"y\":1,\"d\":\"9999-12-31 12:00 UTC\",\"a\":[\"New\",null,\"York\",3],\"c\":[],\"e\":\" 1e40 \"}\n",
    "{\"y\":true,\"a.b\":-0.5e-3,\"a\":{\"b\":0},\"s\":\"caf\xC3\xA9\",\"e\":{},\"l\":[[1],[[2]]]}\n",
    "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
    "]]]]]]]]]]]]]]]}\n{\"y\":1e400}\n",
};
const std::vector<std::string> pieces = {
    "\"", "\"\"", ",", "\n", "\r\n", "\t", " ", ";", "{", "}", "[", "]", ":", "\\", "\\u", "\\ud800", "\\udc00", "0", "-", "1e999",
    "inf", "nan", "true", "2024-02-29", "T12:30", "/", "Z", "+01:00", "?", "null", "\xEF\xBB\xBF", "\xC3", "\xED\xA0\x80", "\xF0\x9F\x98\x80", "a", "\"a\":", "=", "*", "~", "\\\"",
};

void check_row(const Chunk& chunk, std::string_view input, bool zeros) {
  demand(chunk.name.size() == chunk.value.size() && chunk.row_begin() == chunk.value.size(), "sizes differ", input);
  const auto begin = static_cast<std::size_t>(chunk.indptr[chunk.rows() - 1]);
  std::vector<std::string_view> names(chunk.name.begin() + static_cast<std::ptrdiff_t>(begin), chunk.name.end());
  std::sort(names.begin(), names.end());
  demand(std::adjacent_find(names.begin(), names.end()) == names.end(), "a name is in a row twice", input);
  for (std::size_t k = begin; k < chunk.value.size(); ++k) {
    demand(std::isfinite(chunk.value[k]) && (zeros || chunk.value[k] != 0), "a value is zero or not finite", input);
    demand(formats::utf8_fault(chunk.name[k]) == std::string_view::npos, "a name is not UTF-8", input);
  }
  demand(formats::utf8_fault(chunk.label_of(chunk.rows() - 1)) == std::string_view::npos, "a label is not UTF-8", input);
}

// Parse the first records of `input`, each from memory of exact size. `first` returns true for a record that it has used.
template <class Format, class First>
void feed(const Format& format, std::string_view input, Random& random, bool zeros, First first) {
  Chunk chunk;
  std::vector<std::unique_ptr<char[]>> held;
  std::int64_t line = 1;
  for (std::string_view rest = input; !rest.empty(); ++line) {
    const std::size_t size = format.record_end(rest, true);
    demand(size > 0 && size <= rest.size(), "no record", input);
    const std::size_t early = format.record_end(rest.substr(0, below(random, rest.size() + 1)), false);
    demand(early == 0 || early == size, "a record ends elsewhere when more is known", input);
    held.push_back(std::make_unique<char[]>(size));
    std::copy_n(rest.data(), size, held.back().get());
    const std::string_view record(held.back().get(), size);
    rest.remove_prefix(size);
    if (first(record, line)) continue;
    const std::size_t rows = chunk.rows(), names = chunk.name.size();
    Bad bad;
    const bool good = format.parse(record, line, chunk, bad);
    if (chunk.rows() > rows) {
      demand(good && chunk.rows() == rows + 1, "a bad row was kept", input);
      check_row(chunk, input, zeros);
    } else {
      demand(chunk.name.size() == names && chunk.value.size() == names, "a bad row left something", input);
      const auto past = static_cast<std::int64_t>(size) + 1;
      demand(good || (bad.line == line && bad.column >= 1 && bad.column <= past && !bad.what.empty()), "a bad `bad`", input);
    }
  }
}

void table(const std::string& input, Random& random) {
  formats::TableOptions options = formats::Table::sniff(input);
  if (below(random, 4) == 0) options.separator = ",;\t |"[below(random, 5)];
  if (below(random, 4) == 0) options.header = !options.header;
  const auto column = [&] { return std::to_string(1 + below(random, 4)); };
  if (below(random, 2) == 0) options.label = column();
  if (below(random, 3) == 0) options.text.push_back(column());
  if (below(random, 6) == 0) options.ignore.push_back(column());
  if (below(random, 6) == 0) options.categorical.push_back(column());
  if (below(random, 3) == 0) options.interact.emplace_back(column(), column());
  if (below(random, 6) == 0) options.missing.clear();
  options.words = static_cast<int>(below(random, 4));
  options.letters = static_cast<int>(below(random, 4));
  options.bins = below(random, 4) == 0 ? 1 << below(random, 11) : 0;
  options.zeros = below(random, 4) == 0;
  options.automatic = below(random, 2) == 0;
  const bool header = options.header, zeros = options.zeros;
  formats::Table format(std::move(options));
  bool started = false;
  try {
    feed(format, input, random, zeros, [&](std::string_view record, std::int64_t line) {
      if (started || format.blank(record, line)) return false;
      format.begin(record);
      started = true;
      return header;
    });
  } catch (const std::invalid_argument&) {  // unknown columns, or a first record that is not a valid header
    demand(!started, "parse threw", input);
  }
}

void json(const std::string& input, Random& random) {
  formats::JsonOptions options;
  if (below(random, 2) == 0) options.label = "y";
  if (below(random, 2) == 0) options.text = {"t", "a.c"};
  if (below(random, 4) == 0) options.ignore = {"a.b", "e"};
  options.words = static_cast<int>(below(random, 4));
  options.letters = static_cast<int>(below(random, 4));
  options.bins = below(random, 4) == 0 ? 1 << below(random, 11) : 0;
  options.zeros = below(random, 4) == 0;
  options.automatic = below(random, 2) == 0;
  const bool zeros = options.zeros;
  feed(formats::JsonLines(std::move(options)), input, random, zeros, [](std::string_view, std::int64_t) { return false; });
}

}  // namespace

int main(int argc, char** argv) {
  Random random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0);
  const unsigned long long count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
  for (unsigned long long k = 0; k < count; ++k) {
    table(mutate(tables, pieces, random), random);
    json(mutate(objects, pieces, random), random);
  }
  std::printf("%llu tables and %llu JSON texts\n", count, count);
}
