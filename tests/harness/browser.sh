# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers for tests that load pages in a browser. Source it in the project's folder. $folder holds the pages
# and the browser's files. Without a browser the test is skipped.
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

# results_of PAGE: prints "ok - …" and "not ok - …" lines, then "done" if the page's script ran to its end. A
# browser that crashes without output is started a second time.
results_of() {
	local results

	results=$(load_page "$1")
	[ -n "$results" ] || results=$(load_page "$1")
	echo "$results"
}

# run_pages PAGE...: loads the pages, prints their results as TAP and exits.
run_pages() {
	local page line finished number=0 failed=0

	for page; do
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
			echo "ok $number - $page ran to its end"
		else
			echo "not ok $number - $page ran to its end"
			sed 's/^/# /' "$folder/browser.log" | grep -v dbus | tail -n 10
			failed=1
		fi
	done
	echo "1..$number"
	exit $failed
}

# insert_files GOLDEN: prints the golden SVG with the style and the script in place of its placeholders.
insert_files() {
	cat daemon/render/flamegraph{_frames,_text,_layout,}.js >"$folder/script.js"
	awk -v css=daemon/render/flamegraph.css -v js="$folder/script.js" '
		/^@style@$/ { while ((getline line < css) > 0) print line; next }
		/^@script@$/ { while ((getline line < js) > 0) print line; next }
		{ print }' "$1"
}

# write_page [SCRIPT]: prints the page with a profile inside, and with a script as the last part of its module.
write_page() {
	echo '<!doctype html><meta charset="utf-8"><title>The page</title><style>'
	cat daemon/page/page.css
	echo '</style><body><script type="application/json" id="data">'
	sed 's/</\\u003c/g' tests/data/render/machine.json
	echo '</script><script type="module">'
	cat daemon/page/{model,flame,strip,heat,text,address,service,menu,table,page}.js "$@"
	echo '</script></body>'
}
