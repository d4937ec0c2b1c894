#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page with a profile inside, in a browser: trees, mouse, keyboard, search, table, comparison (page_in_browser.js).
# Prints TAP.
# Runs beside others: it judges what a page does, not when.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/harness/browser.sh

{
	echo '<!doctype html><meta charset="utf-8"><title>The page</title><style>'
	cat daemon/page/page.css
	echo '</style><body><script type="application/json" id="data">'
	sed 's/</\\u003c/g' tests/data/render/machine.json
	echo '</script><script type="module">'
	cat daemon/page/{model,flame,strip,heat,text,address,service,menu,table,page}.js tests/end_to_end/page_in_browser.js
	echo '</script></body>'
} >"$folder/page.html"
run_pages page.html
