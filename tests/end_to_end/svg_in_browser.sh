#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The script of a flame graph in a browser: zoom, search, keyboard and details (svg_in_browser.js). The graph
# is loaded on its own and embedded in an HTML page. Prints TAP.
# Runs beside others: it judges what a page does, not when.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/harness/browser.sh

insert_files tests/data/render/machine.svg >"$folder/machine.svg"
insert_files tests/data/render/narrow.svg >"$folder/narrow.svg"
cp tests/end_to_end/svg_in_browser.html tests/end_to_end/svg_narrow_in_browser.html tests/end_to_end/svg_in_browser.js \
	"$folder"
{
	echo '<!doctype html><meta charset="utf-8"><title>Embedded in a page</title>'
	sed 1d "$folder/machine.svg"
	echo '<pre id="results"></pre><script src="svg_in_browser.js"></script>'
} >"$folder/inline.html"
run_pages svg_in_browser.html svg_narrow_in_browser.html inline.html
