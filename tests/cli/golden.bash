# For tests that compare what is printed with tests/golden/output; UPDATE_GOLDEN=1 writes those files anew; review them
# as a diff.

GOLDEN=$BATS_TEST_DIRNAME/../golden

same_as_golden() { # file; standard input is what was printed
	if [ -n "${UPDATE_GOLDEN:-}" ]; then
		cat >"$GOLDEN/output/$1"
	else
		diff -u "$GOLDEN/output/$1" -
	fi
}

# The bodies of the functions of the picture, one line each, without the rules and the script.
picture() {
	sed '/<style>/,/<\/style>/d; /<metadata/d; /<script>/,/<\/script>/d'
}
