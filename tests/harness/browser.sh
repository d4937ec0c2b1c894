# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests that load pages in a browser share. Sourced from the project's folder; $folder is for the
# pages and for what the browser leaves. Without a browser the test is skipped.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
	echo "1..0 # SKIP no chromium is installed"
	exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

load_page() {
	rm -rf "$folder/profile"
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--allow-file-access-from-files --user-data-dir="$folder/profile" --window-size=1300,800 \
		--virtual-time-budget=20000 --dump-dom "file://$folder/$1" 2>"$folder/browser.log" |
		awk '/<pre id="results">/ { inside = 1; sub(/.*<pre id="results">/, "") }
			/<\/pre>/ { inside = 0 } inside { print }' |
		sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}

# results_of PAGE: as lines "ok - …" and "not ok - …", and "done" if it came to its end. A browser that dies
# before it has shown anything is started once more.
results_of() {
	local results

	results=$(load_page "$1")
	[ -n "$results" ] || results=$(load_page "$1")
	echo "$results"
}
