# sprof top: what stands on the screen of a terminal (tmux), what its keys do, and every way out.
load ../recorder
load ../terminal

setup() {
	needs_bpf
	needs_tmux
	pids=()
}

teardown() {
	close_terminal
	[ -n "${pids[*]-}" ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" || true
}

# Starts sprof top in the terminal and waits for the first samples. OPTIONS
top() {
	type_line "$SPROF top $*; echo status \$?"
	wait_for '[1-9][0-9]* samples?, '
}

# Waits for that many samples on the screen.
wait_for_samples() {
	local i
	for i in $(seq 300); do
		[ "$(shown | sed -nE 's/^([0-9]+) samples?, .*/\1/p')" -lt "$1" ] || return 0
		sleep 0.1
	done
	echo "there were never $1 samples; the screen has:"
	shown
	return 1
}

# The screen of a top that is paused, once all of it is drawn.
shown_paused() {
	local before='' now=''
	wait_for ' PAUSED ?$'
	for _ in $(seq 50); do
		now=$(shown)
		[ "$now" != "$before" ] || break
		before=$now
		sleep 0.1
	done
	echo "$now"
}

# The row of a function on the screen, or in a table on stdin: "self% samples".
row_of() {
	sed -nE "s/^ *([0-9.]+)% .* ([0-9]+)(±|\+-)[0-9]+ +$1( .*)?\$/\1 \2/p"
}

# Does the terminal work as before: does it echo, and does the shell see lines?
terminal_is_as_before() {
	wait_for '^status '
	type_line "stty -a | grep -o ' echo ' | tr -d ' ' | sed 's/^/it does /'"
	wait_for '^it does echo$'
	! shown | grep -q 'own .*of a CPU' || { shown; return 1; }
}

@test "functions stand on the screen with their shares, and a saved picture gives the same report" {
	work shares 60000
	for size in "60 15" "80 24" "200 50"; do
		open_terminal $size
		top -F 1999 -p ${pids[0]}
		wait_for_samples 800
		keys Space
		shown_paused >"$BATS_TEST_TMPDIR/screen"
		keys s
		wait_for 'Save as: top.data'
		keys C-u
		type_line "$BATS_TEST_TMPDIR/saved"
		wait_for 'saved [0-9]+ samples'
		"$SPROF" report -n 0 "$BATS_TEST_TMPDIR/saved" >"$BATS_TEST_TMPDIR/report"
		for share in 50 30 20; do
			row=$(row_of part_$share <"$BATS_TEST_TMPDIR/screen")
			echo "$size: part_$share $row"
			# Nearly 1000 samples: 4 sigma are 6.5 percent points at most.
			[ $((${row%%[ .]*} - share)) -le 7 ] && [ $((share - ${row%%[ .]*})) -le 7 ]
			[ "$(row_of part_$share <"$BATS_TEST_TMPDIR/report")" = "$row" ]
		done
		[ "$(grep -oE '^[0-9]+ samples, [0-9]+ lost' "$BATS_TEST_TMPDIR/screen")" = \
			"$(grep -oE '^[0-9]+ samples, [0-9]+ lost' "$BATS_TEST_TMPDIR/report")" ]
		keys q
		terminal_is_as_before
		close_terminal
	done
}

# bats test_tags=full
@test "a row opens into the tree of its callees and of its callers" {
	open_terminal 80 24
	work shares 60000
	top -F 499 -p ${pids[0]}
	wait_for_samples 200
	keys /
	wait_for 'Search:'
	type_line main
	keys Enter
	wait_for '^Callees of .*main'
	wait_for ' part_50'
	keys Escape
	wait_for '^Functions by'
	keys Home
	keys Enter
	wait_for '^Callees of part_50'
	keys Tab
	wait_for '^Callers of part_50'
	wait_for ' _start$'
	keys q
	wait_for '^status 0'
}

# bats test_tags=full
@test "there are views of lines, modules, threads and processes, and of waiting" {
	open_terminal 100 24
	work shares 60000
	top --clock wall -F 499 -p ${pids[0]}
	wait_for '\[wall\]'
	keys 2
	wait_for '^ *[0-9.]+% .*shares\.c:[0-9]+|work\.h:[0-9]+'
	keys 3
	wait_for '^ *[0-9.]+% .* shares'
	keys 4
	wait_for "^Threads by"
	wait_for " ${pids[0]}|shares"
	keys 5
	wait_for '^Processes by'
	keys Enter
	wait_for ' part_50'
	keys Escape 1
	wait_for '^Functions by'
	for column in runnable cpu wall; do
		keys c
		wait_for "\[$column\]"
	done
	keys q
	wait_for '^status 0'
}

# bats test_tags=full
@test "a filter keeps the stacks that match, and one that is no expression is refused" {
	open_terminal 80 24
	work shares 60000
	top -F 499 -p ${pids[0]}
	wait_for ' part_30$'
	keys f
	wait_for 'Only stacks that match'
	type_line part_50
	wait_until_gone ' part_30$'
	wait_for 'filtered out|focus part_50'
	keys f
	keys C-u
	type_line 'part_['
	wait_for 'brackets|\[|Unmatched'
	shown | grep -q 'focus part_50'
	keys f
	keys C-u
	keys Enter
	wait_for ' part_30$'
	keys q
	wait_for '^status 0'
}

# bats test_tags=full
@test "the picture follows the size of the terminal" {
	open_terminal 80 24
	work shares 60000
	top -F 499 -p ${pids[0]}
	tmux_of_test resize-window -x 200 -y 50
	wait_for 'Module$'
	tmux_of_test resize-window -x 60 -y 15
	wait_until_gone 'Module$'
	shown >"$BATS_TEST_TMPDIR/screen"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/screen")" -eq 15 ]
	tail -1 "$BATS_TEST_TMPDIR/screen" | grep -q '^q quit'
	keys q
	wait_for '^status 0'
}

# bats test_tags=full
@test "pause keeps the picture, reset forgets the samples" {
	open_terminal 80 24
	work shares 60000
	top -F 299 -w 0 -p ${pids[0]}
	wait_for_samples 700
	keys Space
	wait_for ' PAUSED ?$'
	before=$(shown | sed -n 2p | cut -c-20)
	sleep 1.5
	[ "$(shown | sed -n 2p | cut -c-20)" = "$before" ]
	keys Space
	wait_until_gone ' PAUSED ?$'
	wait_for_samples 800
	keys r
	for i in $(seq 50); do
		nr=$(shown | sed -nE 's/^([0-9]+) samples?, .*/\1/p')
		[ "${nr:-0}" -ge 700 ] || break
		sleep 0.1
	done
	# It takes more than two seconds to have as many again, and the screen changes twice in them.
	[ "$nr" -lt 700 ]
	keys q
	wait_for '^status 0'
}

# bats test_tags=full
@test "the terminal is as before after q, ^C, SIGTERM, SIGHUP and a crash" {
	work shares 100000
	for way in q C-c TERM HUP SEGV ABRT; do
		open_terminal 80 24
		top -p ${pids[0]}
		case $way in
		q | C-c) keys $way ;;
		*) kill -$way $(pgrep -f "^$SPROF top -p ${pids[0]}$") ;;
		esac
		terminal_is_as_before
		close_terminal
	done
	kill -0 ${pids[0]}
}

# bats test_tags=full
@test "a target that ends leaves its last picture" {
	open_terminal 80 24
	work shares 3000
	top -F 499 -p ${pids[0]}
	wait_for 'ENDED'
	wait_for ' part_50$'
	shown | tail -1 | grep -q 'the target has ended'
	keys s
	keys C-u
	type_line "$BATS_TEST_TMPDIR/saved"
	wait_for 'saved [0-9]+ samples'
	"$SPROF" report "$BATS_TEST_TMPDIR/saved" | grep -q ' part_50 '
	keys q
	terminal_is_as_before
}

# bats test_tags=full
@test "a program that is started ends with top or is left running, as the user says" {
	open_terminal 80 24
	top -- "$TARGETS/shares" 60000
	keys q
	wait_for 'The program runs on'
	keys l
	wait_for '^status 0'
	program=$(pgrep -f "^$TARGETS/shares 60000$")
	pids+=($program)
	close_terminal
	open_terminal 80 24
	top -- "$TARGETS/shares" 60001
	keys q
	wait_for 'The program runs on'
	keys e
	wait_for '^status 143'
	! pgrep -f "^$TARGETS/shares 60001$" || false
}

# bats test_tags=full
@test "^Z stops it with the terminal as before, and fg goes on" {
	open_terminal 80 24
	work shares 60000
	top -p ${pids[0]}
	keys C-z
	wait_for 'Stopped'
	! shown | grep -q 'own .*of a CPU' || false
	type_line fg
	wait_for 'own .*of a CPU'
	wait_for ' part_50$'
	keys q
	wait_until_gone 'own .*of a CPU'
	! pgrep -f "^$SPROF top -p ${pids[0]}$" || false
}

@test "names that a target chooses tell the terminal nothing" {
	open_terminal 100 24
	ln -s "$TARGETS/shares" "$BATS_TEST_TMPDIR/"$'a\e[31m\e]0;title\ab\n漢字'
	start "$BATS_TEST_TMPDIR/"$'a\e[31m\e]0;title\ab\n漢字' 60000
	top -F 499 -p ${pids[0]}
	shown | head -1 | grep -qF '\u{1b}[31m'
	keys 5
	wait_for 'u\{1b\}'
	[ "$(tmux_of_test display-message -p '#{pane_title}')" != title ]
	keys q
	wait_for '^status 0'
}

# bats test_tags=full
@test "where there is no terminal one table is printed, as sprof report prints it" {
	work shares 60000
	"$SPROF" top -F 499 -d 2s -p ${pids[0]} >"$BATS_TEST_TMPDIR/table" 2>"$BATS_TEST_TMPDIR/messages"
	grep -q 'printing one table' "$BATS_TEST_TMPDIR/messages"
	grep -qE '^ *(4[4-9]|5[0-6])% .* part_50 ' "$BATS_TEST_TMPDIR/table"
	! grep -q $'\e' "$BATS_TEST_TMPDIR/table" || false
	"$SPROF" top --once --by process -d 1s -p ${pids[0]} | grep -q "shares"
	"$SPROF" top --once -n 2 -- "$TARGETS/shares" 500 | grep -q part_50
}

# bats test_tags=full
@test "a recording can be looked at, and is told from a program" {
	work shares 60000
	"$SPROF" record -q -F 1999 -o "$data" -d 1s -p ${pids[0]}
	"$SPROF" top "$data" </dev/null >"$BATS_TEST_TMPDIR/table" 2>/dev/null
	"$SPROF" report "$data" >"$BATS_TEST_TMPDIR/report"
	cmp "$BATS_TEST_TMPDIR/table" "$BATS_TEST_TMPDIR/report"
	open_terminal 80 24
	top "$data"
	wait_for ' part_50$'
	keys Enter
	wait_for 'Callees of part_50'
	keys q
	wait_for '^status 0'
}
