// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Whether a file may be replaced by one of ours: a name mistyped must not cost a document. What the files of one kind
// begin with is the caller's business.
#pragma once

#include <string>
#include <string_view>

#include "ripplekv/status.h"

namespace ripplekv {

// kInvalidArgument if there is a file that is not empty and does not begin with these bytes, white space aside in both.
// kIo if it cannot be read: what is in it is not known. what: "a profile".
Status check_replaceable(const std::string& path, std::string_view begins, std::string_view what);

}  // namespace ripplekv
