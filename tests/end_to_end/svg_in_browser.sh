#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Loads a flame graph in a browser, by itself and inside of a page of HTML, and works its script:
# zoom, search, keyboard, details (svg_in_browser.js). Prints TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/harness/browser.sh

# The golden file has placeholders for the style and the script, which are files of their own.
insert() {
	awk -v css=daemon/render/flamegraph.css -v js=daemon/render/flamegraph.js '
		/^@style@$/ { while ((getline line < css) > 0) print line; next }
		/^@script@$/ { while ((getline line < js) > 0) print line; next }
		{ print }' tests/data/render/machine.svg
}
insert >"$folder/machine.svg"
cp tests/end_to_end/svg_in_browser.html tests/end_to_end/svg_in_browser.js "$folder"
{
	echo '<!doctype html><meta charset="utf-8"><title>Inside of a page</title>'
	sed 1d "$folder/machine.svg"
	echo '<pre id="results"></pre><script src="svg_in_browser.js"></script>'
} >"$folder/inline.html"

number=0
failed=0
for page in svg_in_browser.html inline.html; do
	finished=no
	while IFS= read -r line; do
		case $line in
		done) finished=yes ;;
		ok\ -\ * | not\ ok\ -\ *)
			number=$((number + 1))
			echo "${line%% - *} $number - ${line#* - }"
			[ "${line%% *}" = ok ] || failed=1
			;;
		esac
	done < <(results_of "$page")
	number=$((number + 1))
	if [ $finished = yes ]; then
		echo "ok $number - $page came to its end"
	else
		echo "not ok $number - $page came to its end"
		sed 's/^/# /' "$folder/browser.log" | grep -v dbus | tail -n 10
		failed=1
	fi
done
echo "1..$number"
exit $failed
