# The kinds of rows of sprof report. tests/unit/output/select/test_direction.c tests what they add up to.

GOLDEN=$BATS_TEST_DIRNAME/../golden

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN"/recordings/{complete,processes}.data "$GOLDEN"/output/*.folded "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	printf 'main;a;work 10\nmain;a;b;work 20\nmain;c;work_[k] 30\nidle 40\n' >x.folded
}

sums() { # options: "self total name", largest self first
	"$SPROF" report --json "$@" 2>/dev/null | jq -r '.rows[] | "\(.self) \(.total) \(.function)"' | paste -sd,
}

@test "rows are modules, kinds, threads, processes" {
	[ "$(sums --by module complete.data)" = '240 240 <cc1> \u{1b}[31m"�,80 120 make,40 40 [jit],40 40 [kernel],0 40 [no module]' ]
	[ "$(sums --by kind x.folded)" = "70 100 native,30 30 kernel" ]
	[ "$(sums --by process complete.data | sed 's/cc[^ ]*/cc/')" = "240 240 cc (pid 101),160 160 make (pid 100)" ]
	[ "$(sums --by thread --comm make complete.data)" = "160 160 make (tid 100)" ]
	[ "$(sums --by thread x.folded)" = "100 100 [no thread]" ]
	for by in function line module file thread process cgroup container user kind; do
		"$SPROF" report --json --by $by complete.data 2>/dev/null |
			jq -e ".by == \"$by\" and ([.rows[].self] | add) == .samples and .samples == 400" >/dev/null
	done
}

@test "rows are cgroups, containers, users" {
	[ "$(sums --by process processes.data)" = "40 40 worker (pid 11),30 30 worker (pid 12),15 15 batch (pid 13),10 10 master (pid 10),5 5 gone (pid 14)" ]
	[ "$(sums --by user processes.data)" = "70 70 www-data,15 15 user 4242,10 10 root,5 5 [not known]" ]
	[ "$(sums --by container processes.data)" = "70 70 docker 0123456789ab,25 25 [no container],5 5 [not known]" ]
	[ "$(sums --by cgroup --pid 10,13 processes.data)" = '15 15 /user.slice/\u{1b}[31m<&>,10 10 /system.slice/web.service' ]
	# A recording that was made before this was kept.
	[ "$(sums --by user complete.data)" = "400 400 [not known]" ]
	"$SPROF" report --by container processes.data 2>/dev/null | grep -qE '  Container$'
	"$SPROF" report --by user -n 1 processes.data 2>/dev/null | grep -q '^3 more users (-n 0 shows all)$'
}

@test "a table is headed by what its rows are" {
	"$SPROF" report --by module complete.data 2>/dev/null | grep -qE '  Module$'
	"$SPROF" report --by kind -n 1 complete.data 2>/dev/null | grep -q '^2 more kinds (-n 0 shows all)$'
}

@test "a long name is whole in a file, and widens its own row alone" {
	local long name
	long=$(printf 'template%.0s' {1..60})
	for name in "$long" short short; do
		printf 'a 1 [000] 1.000000: 1 cpu-clock:\n\t1000 %s+0x1 (/lib/x.so)\n\t2000 main+0x1 (/bin/a)\n\n' "$name"
	done >long.script
	"$SPROF" report long.script >table
	grep -q "  $long  x.so" table
	grep -qE '  short {1,90}x.so' table
}

tree() { # options: "total self function" of every line of the tree
	"$SPROF" report "$@" | sed '1,/^Total%/d' | sed -E 's/^ *([0-9.<]+%) +([0-9.<]+%) +[0-9]+ +[0-9+-]+  /\1 \2 /'
}

@test "a tree goes down the most expensive path first, and is indented where it branches" {
	tree --tree x.folded >got
	diff - got <<-END
	60% 0% + main
	30% 0%   + a
	20% 0%     + b
	20% 20%       work
	10% 10%     + work
	30% 0%   + c
	30% 30%     work
	40% 40% + idle
	END
	tree --tree --min 15 x.folded | tail -1 | grep -q '^1 smaller one, together 10% (--min 0 shows it)$'
	tree --tree --min 25 x.folded | tail -1 | grep -q '^3 smaller ones, together 30% (--min 0 shows them)$'
	tree --tree -n 2 x.folded | tail -1 | grep -q '^and more (-n 0 shows all)$'
}

@test "a tree from the leaves, of callers, of callees" {
	diff - <(tree --invert --focus '^a$' --by function x.folded) <<-END
	100% 0%   work
	67% 0%   + b
	67% 0%     a
	67% 67%     main
	33% 0%   + a
	33% 33%     main
	END
	diff - <(tree --callers '^(a|c)$' x.folded) <<-END
	50% 0% + a
	50% 50%   main
	50% 0% + c
	50% 50%   main
	END
	diff - <(tree --callees '^a$' x.folded) <<-END
	100% 0%   a
	67% 0%   + b
	67% 67%     work
	33% 33%   + work
	END
	"$SPROF" report --callees '^a$' x.folded | grep -q '70 filtered out (70%)'
}

@test "CSV, TSV and JSON hold the same sums, of rows and of nodes" {
	for f in x.folded kinds.folded hostile.folded complete.data; do
		"$SPROF" report --csv $f >csv 2>/dev/null
		"$SPROF" report --tsv $f >tsv 2>/dev/null
		"$SPROF" report --json $f >json 2>/dev/null
		"$SPROF" report --tree --csv $f >tree.csv 2>/dev/null
		"$SPROF" report --tree --json $f >tree.json 2>/dev/null
		python3 - <<-'END'
		import csv, json, re
		plain = lambda s: re.sub(r"^'([=+@\"-])", r"\1", s)
		want = json.load(open("json"))["rows"]
		for name, options in ("csv", {}), ("tsv", {"delimiter": "\t", "quoting": csv.QUOTE_NONE}):
		    got = list(csv.DictReader(open(name, newline=""), **options))
		    assert len(got) == len(want) > 2
		    for g, w in zip(got, want):
		        assert plain(g["function"]) == w["function"] and g["kind"] == w["kind"]
		        assert int(g["self_events"]) == w["self"] and int(g["total_events"]) == w["total"]
		        assert int(g["self_margin"]) == w["self_margin"] and float(g["self_percent"]) == w["self_percent"]
		nodes, lines = json.load(open("tree.json"))["rows"], list(csv.DictReader(open("tree.csv", newline="")))
		assert len(nodes) == len(lines)
		for node, line in zip(nodes, lines):
		    assert node["id"] == int(line["id"]) and node["total"] == int(line["total_events"])
		    assert str(node["parent"] if node["parent"] is not None else "") == line["parent"]
		    below = [n["total"] for n in nodes if n["parent"] == node["id"]]
		    assert node["total"] == node["self"] + sum(below)
		END
	done
}

@test "a tree fits the terminal, without colours where they are not wanted" {
	deep=$(printf 'f%s;' $(seq 40)); printf '%sa 5\n%sb::%0200d::c 4\nx 1\n' "$deep" "$deep" 0 >deep.folded
	on_terminal() { script -qec "stty cols $1; env $2 $SPROF report --tree -n 0 deep.folded" /dev/null | tr -d '\r'; }
	for width in 60 80 100; do
		[ "$(on_terminal $width 'LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm' | tail -n +5 | wc -L)" -le $width ]
	done
	! on_terminal 80 'LC_ALL=C NO_COLOR=1 TERM=xterm' | grep -q $'\e\\[' || false
	on_terminal 80 'LC_ALL=C TERM=xterm' | grep -q $'\e\\[1m'
	"$SPROF" report --tree -n 0 deep.folded | grep -q "$(printf '%0200d' 0)"
}

@test "shapes that do not exist are usage errors" {
	for args in "--by x" "--min 101" "--min x" "--callers (" "--invert --callers x" "--csv --json" "--gpu --tree" "--csv --tsv" \
		"--csv --gc" "--min 1" "--tree --json -n 3" "--tree --csv --min 1"; do
		run "$SPROF" report $args x.folded
		[ "$status" -eq 2 ]
	done
}

@test "a sort order is refused where there is nothing that it sorts" {
	for args in "--tree -s self" "--callers b -s self" "--gpu -s total" "--phases -s self" "--gc -s self"; do
		run "$SPROF" report $args x.folded
		[ "$status" -eq 2 ]
		[[ "$output" == *"--sort goes with"* ]]
	done
	for args in "--tree -s total" "--by module -s total" "--split -s self" "--csv -s total"; do
		"$SPROF" report $args x.folded
	done
}

@test "annotate says what it cannot show, and takes no other shape" {
	echo 'a;b;c 3' >stacks
	run "$SPROF" report --annotate '^b$' stacks
	[ "$status" -eq 0 ]
	[[ $output == *'self 0%, 0; total 100%, 3; 3 +- 0 samples'*'no debug information'*'no addresses of code'* ]]
	run "$SPROF" report --annotate nothing stacks
	[ "$status" -eq 1 ]
	[[ $output == "sprof: cannot annotate 'stacks': no sample lies in a function of that name"* ]]
	[ "$("$SPROF" report --annotate nothing --json stacks | jq -c '[.version, .total, .functions]')" = '[1,3,[]]' ]
	local line
	for line in --tree --csv --invert '--by module' '--callers x' --gpu; do
		run "$SPROF" report --annotate b $line stacks
		echo "$line: $output"
		[ "$status" -eq 2 ]
	done
	run "$SPROF" report --annotate '(' stacks
	[ "$status" -eq 2 ]
}

@test "what is printed for people keeps within the terminal, where it can" {
	cp "$BATS_TEST_DIRNAME/../golden/recordings/gpu.data" "$BATS_TEST_DIRNAME"/../golden/output/{before,after}.folded "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	cat >long.folded <<-END
	main;train_one_epoch_of_the_whole_model (a_module_with_a_long_name.py:12);gc_collect_main 30
	main;std::map<std::string, std::vector<std::pair<int, std::string>>>::operator[](std::string const&);work_[k] 20
	main;std::map<std::string, std::vector<std::pair<int, std::string>>>::operator[](std::string const&) 20
	END
	for width in 60 80 100; do
		for command in "report gpu.data" "report --hints gpu.data" "report --gpu gpu.data" "report --memcpy gpu.data" \
				"diff before.folded after.folded" "info gpu.data" "report long.folded" "report -s total long.folded" \
				"report --gc long.folded" "report --split long.folded" "report --by line long.folded" \
				"report --tree long.folded" "report --pstats gpu.data" "report --split gpu.data" \
				"report complete.data" "report --by module complete.data" "info complete.data"; do
			TERM=dumb LC_ALL=C.UTF-8 script -qec "stty cols $width; $SPROF $command 2>/dev/null" /dev/null |
				tr -d '\r' >out
			[ "$(wc -l <out)" -gt 4 ]
			! LC_ALL=C.UTF-8 grep -E ".{$((width + 1))}" out || { echo "$width: $command"; return 1; }
		done
	done
	# Nothing is left out by folding, and nothing folded where it is no terminal.
	TERM=dumb LC_ALL=C script -qec "stty cols 60; $SPROF report --hints gpu.data" /dev/null | tr -s ' \r\n' ' ' >folded
	LC_ALL=C "$SPROF" report --hints gpu.data | tr -s ' \n' ' ' | diff folded -
	"$SPROF" report --gpu gpu.data | grep -q 'Regs *Shared'
}

@test "COLUMNS is the width of what is printed, in a pipe and on a terminal, and of no file or data" {
	local name command asked
	name=$(printf 'ns::%0200d::last' 0)
	echo "main;$name 30" >wide.folded
	for command in "report wide.folded" "report --tree wide.folded" "report --by line wide.folded" "diff wide.folded wide.folded" \
			"report complete.data" "info complete.data"; do
		COLUMNS=80 "$SPROF" $command 2>/dev/null >out
		[ "$(wc -l <out)" -gt 4 ]
		[ "$(wc -L <out)" -le 80 ] || { echo "$command"; return 1; }
	done
	COLUMNS=80 "$SPROF" report wide.folded -o - | grep -q ' last$'
	[ "$(TERM=dumb script -qec "stty cols 150; COLUMNS=80 $SPROF report wide.folded" /dev/null | tr -d '\r' | wc -L)" -le 80 ]
	COLUMNS=80 "$SPROF" report -o file wide.folded
	grep -q "$name" file
	for command in "report --json" "report --csv" "report --tsv" fold; do
		COLUMNS=80 "$SPROF" $command wide.folded | grep -q "$name"
	done
	for asked in "" 0 -80 80x 65536 99999999999999999999; do
		COLUMNS=$asked "$SPROF" report wide.folded | grep -q "$name"
	done
}

trust() { # options, file: what the samples are worth
	"$SPROF" report -n 1 "$@" 2>/dev/null | grep -o '^[0-9]* samples, .* unnamed'
}

@test "what the samples are worth is the same whatever the rows are" {
	local whole focused
	whole=$(trust complete.data)
	[ "$whole" = "400 samples, 5 lost, 10% incomplete (no unwind rule 40, too deep 1), 20% unnamed" ]
	for shape in --tree --invert '--by module' '--by line' '--by file' '--by kind' '--by thread' '--by process'; do
		[ "$(trust $shape complete.data)" = "$whole" ]
	done
	focused=$(trust --focus 'mod:jit' complete.data)
	[ "$focused" = "40 samples, 5 lost, 100% incomplete (no unwind rule 40), 100% unnamed" ]
	[ "$(trust --callees 'mod:jit' complete.data)" = "$focused" ]
	[ "$(trust --callers 'mod:jit' complete.data)" = "$focused" ]
}

@test "a stack whose kernel part is not shown is not an incomplete one" {
	printf 'main;read;[no kernel stack] 30\nmain;[no unwind rule];a 10\nmain;a 60\n' >kernel.folded
	[ "$(trust kernel.folded)" = "100 samples, 0 lost, 10% incomplete (no unwind rule 10), 30% unnamed" ]
	[ "$(trust --focus read kernel.folded)" = "30 samples, 0 lost, 0% incomplete, 100% unnamed" ]
}

@test "a stack whose waker's part has no root is not an incomplete one" {
	printf 'main;f;lock wait_[w];woken by g_[w];g;[no unwind rule] 30\n[no unwind rule];f;lock wait_[w] 10\nmain;f 60\n' >wait.folded
	[ "$(trust wait.folded)" = "100 samples, 0 lost, 10% incomplete (no unwind rule 10), 30% unnamed" ]
	[ "$(trust --invert wait.folded)" = "$(trust wait.folded)" ]
	"$SPROF" flame --no-js -o wait.svg wait.folded
	grep -q '10% incomplete (no unwind rule 10)' wait.svg
}

@test "a process is called what its main thread was called last, also if that is a name it had before" {
	for at in 1:python3 2:bash 3:pyenv 4:python3; do
		printf '%s 7/7 [000] %d.000000: 1 cpu-clock:\n\t1000 main+0x1 (/bin/a)\n\n' "${at#*:}" "${at%:*}"
	done >names.script
	printf 'worker 7/8 [000] 5.000000: 1 cpu-clock:\n\t1000 main+0x1 (/bin/a)\n\n' >>names.script
	[ "$(sums --by process names.script)" = "5 5 python3 (pid 7)" ]
}

@test "one sample is no samples" {
	printf 'main;work 1\n' >one.folded
	"$SPROF" report one.folded | grep -q '^1 sample, 0 lost'
	"$SPROF" info one.folded | grep -qE '^count +1 +1 sample$'
}
