#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Loads a differential flame graph in a browser and works its script: marks, colours, what is told of
# both sides, zoom, search (difference_in_browser.js). Prints TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/harness/browser.sh

# The golden file has placeholders for the style and the script, which are files of their own.
awk -v css=daemon/render/flamegraph.css -v js=daemon/render/flamegraph.js '
	/^@style@$/ { while ((getline line < css) > 0) print line; next }
	/^@script@$/ { while ((getline line < js) > 0) print line; next }
	{ print }' tests/data/render/upgrade.svg >"$folder/upgrade.svg"
cp tests/end_to_end/difference_in_browser.html tests/end_to_end/difference_in_browser.js "$folder"

number=0
failed=0
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
done < <(results_of difference_in_browser.html)
number=$((number + 1))
if [ $finished = yes ]; then
	echo "ok $number - the page came to its end"
else
	echo "not ok $number - the page came to its end"
	sed 's/^/# /' "$folder/browser.log" | grep -v dbus | tail -n 10
	failed=1
fi
echo "1..$number"
exit $failed
