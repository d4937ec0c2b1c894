#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page with a profile inside, in a browser: trees, mouse, keyboard, search, table, comparison (page_in_browser.js),
# heat map, strip (page_times_in_browser.js).
# Prints TAP.
# Runs beside others: it judges what a page does, not when.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/harness/browser.sh

write_page tests/end_to_end/page_{times_,}in_browser.js >"$folder/page.html"
run_pages page.html
