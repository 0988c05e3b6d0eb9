#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The tree is laid out by clang-format, and shellcheck and cppcheck find nothing.
exec "$(dirname "$0")/../tools/lint"
