#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# clang-format has laid out the tree, shellcheck reports no fault, and the tree keeps its own rules.
exec "$(dirname "$0")/../tools/lint"
