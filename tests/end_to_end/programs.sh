#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The fastest of the real programs that perf judges; `make check-programs` tries all of them.
exec "$(dirname "$0")/../programs/programs.sh" --fast
