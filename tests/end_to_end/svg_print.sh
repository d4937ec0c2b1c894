#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A flame graph of any height is printed on one page, and so is that of the page. Prints TAP.
# Runs beside others: it judges what a page holds, not when.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/harness/browser.sh

# pages_of FILE: prints how many pages it takes.
pages_of() {
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" \
		--print-to-pdf="$folder/printed.pdf" "file://$1" >"$folder/browser.log" 2>&1
	grep -aoE '/Type ?/Page\b' "$folder/printed.pdf" | wc -l
}

insert_files tests/data/render/machine.svg >"$folder/low.svg"
sed -E '/^<svg/s/ height="[0-9]+" viewBox="0 0 1200 [0-9]+"/ height="9000" viewBox="0 0 1200 9000"/' "$folder/low.svg" >"$folder/high.svg"
write_page >"$folder/page.html"
number=0
failed=0
for picture in low.svg high.svg page.html; do
	number=$((number + 1))
	pages=$(pages_of "$folder/$picture")
	if [ "$pages" = 1 ]; then
		echo "ok $number - $picture is one page"
	else
		echo "not ok $number - $picture is one page: found $pages"
		failed=1
	fi
done
echo "1..$number"
exit $failed
