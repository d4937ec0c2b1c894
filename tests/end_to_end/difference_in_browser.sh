#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The script of a differential flame graph in a browser: marks, colours, details of both sides, zoom and
# search (difference_in_browser.js). Prints TAP.
# Runs beside others: it judges what a page does, not when.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/harness/browser.sh

insert_files tests/data/render/upgrade.svg >"$folder/upgrade.svg"
cp tests/end_to_end/difference_in_browser.html tests/end_to_end/difference_in_browser.js "$folder"
run_pages difference_in_browser.html
