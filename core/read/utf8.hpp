// Check whether a text is valid UTF-8. Names and labels must be.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mistakebound::formats {

// The number of bytes of the UTF-8 character at `at`, or 0 if it is invalid, such as an overlong form, a surrogate, or a
// character above U+10FFFF.
inline std::size_t utf8_size(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t k) { return at + k < text.size() ? static_cast<unsigned char>(text[at + k]) : 0u; };
  const auto follows = [&](std::size_t k) { return (byte(k) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// The position of the first invalid byte, or npos. Eight ASCII bytes are checked at a time.
inline std::size_t utf8_fault(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t eight;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t size = utf8_size(text, at);
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}
inline bool is_utf8(std::string_view text) { return utf8_fault(text) == std::string_view::npos; }

}  // namespace mistakebound::formats
