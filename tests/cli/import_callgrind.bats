# Files of callgrind, whose stacks are estimated. golden/import/README.md says who made them.

FILE=$BATS_TEST_DIRNAME/../golden/import/callgrind/calls.out

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
}

@test "callgrind: self and total of each function are those of callgrind_annotate" {
	run --separate-stderr "$SPROF" report --json -n 0 "$FILE"
	[[ $stderr == *"it holds calls, not stacks: stacks are estimated from them"* ]]
	[ "$(jq -r '.column + " " + .event' <<<"$output")" = "cost Ir" ]
	[ "$(jq .cost <<<"$output")" = "$(awk '/^summary:|^totals:/ { print $2; exit }' "$FILE")" ]
	command -v callgrind_annotate >/dev/null || skip "needs valgrind"
	for function in leaf often seldom main; do
		self=$(callgrind_annotate --threshold=100 "$FILE" | awk -v f=":$function" 'index($0, f " ") || $0 ~ f "$" { gsub(/,/, "", $1); print $1; exit }')
		total=$(callgrind_annotate --threshold=100 --inclusive=yes "$FILE" | awk -v f=":$function" 'index($0, f " ") || $0 ~ f "$" { gsub(/,/, "", $1); print $1; exit }')
		jq -c --arg f $function '.rows[] | select(.function == $f) | [.self_cost, .total_cost]' <<<"$output" >got
		echo "$function: $self $total $(cat got)"
		[ "$(cat got)" = "[$self,$total]" ]
	done
}

@test "callgrind: two events, numbered names, relative positions, recursion" {
	cat >x.out <<-'END'
		# callgrind format
		positions: line
		events: Ir Misses
		fl=(1) a.c
		fn=(1) main
		10 5 1
		cfn=(2) work
		calls=2 20
		+1 100 10
		fn=(2)
		20 60 6
		cfn=(2)
		calls=1 20
		* 30 3
		cfn=(3) rest
		calls=1 40
		+2 40 4
		fn=(3)
		40 40 4
	END
	[ "$("$SPROF" fold x.out 2>/dev/null | paste -sd'|')" = "main 5|main;work 60|main;work;rest 40" ]
	[ "$("$SPROF" fold --event Misses x.out 2>/dev/null | paste -sd'|')" = "main 1|main;work 6|main;work;rest 4" ]
	run --separate-stderr "$SPROF" fold --event Nothing x.out
	[ "$stderr" != "${stderr#*cannot show event Nothing}" ]
	printf '# callgrind format\nevents: Ir\nfn=a\nwhat is this\nor this\nand that\nno\n' >bad.out
	run --separate-stderr "$SPROF" fold bad.out
	[ "$stderr" = "sprof: cannot read 'bad.out': it is a damaged file of callgrind" ]
}

# bats test_tags=full
@test "callgrind: a graph with very many paths of small cost is read in a bounded time" {
	python3 - >layers.out <<-'END'
		layers, width = 5, 400
		print('# callgrind format\nevents: Ir')
		for layer in range(layers):
		    for i in range(width):
		        print('fn=f%d_%d\n1 %d' % (layer, i, layer in (0, layers - 1)))
		        if layer < layers - 1:
		            for j in range(width):
		                print('cfn=f%d_%d\ncalls=1 1\n1 1' % (layer + 1, j))
	END
	(
		ulimit -t 10
		exec "$SPROF" info layers.out >/dev/null
	)
}

@test "callgrind: names that very many lines refer to are looked at once" {
	python3 - >long.out <<-'END'
		long = 'x' * 1000000
		print('# callgrind format\nevents: Ir\nob=(1) /' + long + '\nfl=(1) x.c\nfn=(1) ' + long)
		print('1 1\n' * 300000)
	END
	(
		ulimit -t 10
		exec "$SPROF" info long.out >/dev/null
	)
}
