# For tests of pictures in a real browser.

BROWSER=$(cd "${BASH_SOURCE[0]%/*}" && pwd)

needs_node() {
	bats_require_minimum_version 1.5.0
	command -v node >/dev/null || skip "node is not installed"
}

needs_browser() {
	needs_node
	command -v "${CHROMIUM:-chromium}" >/dev/null || skip "chromium is not installed"
}

page() { # options, file; the test is standard input
	{ cat "$BROWSER/page_helpers.js"; cat; } | timeout 90 node "$BROWSER/page.js" "$@"
}
