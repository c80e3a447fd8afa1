// Pieces of pages that stand alone: no scripts, nothing loaded from elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

// Text as it stands between tags and in attributes.
std::string EscapeHtml(std::string_view text);

// A page up to the beginning of its body. `style`: rules beside those that all pages share.
std::string PageBegin(std::string_view title, std::string_view style);

}  // namespace tilewright
