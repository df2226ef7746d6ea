# sprof flame, fold and report on recordings and collapsed stacks.
load golden

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN/recordings/complete.data" "$GOLDEN/recordings/killed.data" "$GOLDEN/recordings/gpu.data" "$GOLDEN"/output/*.folded "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

@test "fold puts lines in order and adds them up" {
	"$SPROF" fold kinds.folded | same_as_golden kinds.fold
	cat kinds.folded kinds.folded | "$SPROF" fold - >twice
	awk '{ print $NF / 2 }' twice >half
	"$SPROF" fold kinds.folded | awk '{ print $NF }' | diff - half
}

@test "fold of its own output changes nothing" {
	for f in kinds hostile split; do
		"$SPROF" fold $f.folded >once
		"$SPROF" fold once | diff once -
	done
}

@test "fold makes hostile names harmless text" {
	"$SPROF" fold hostile.folded | same_as_golden hostile.fold
	"$SPROF" fold hostile.folded | iconv -f UTF-8 -t UTF-8 >/dev/null
	! "$SPROF" fold hostile.folded | LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f]' || false
}

@test "fold of a recording has thread, functions and samples" {
	"$SPROF" fold complete.data | same_as_golden complete.fold
	"$SPROF" fold --time complete.data | same_as_golden complete.time.fold
}

@test "fold prints times only where there are some" {
	run --separate-stderr "$SPROF" fold --time kinds.folded
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	[ "$stderr" = "sprof: cannot print times of 'kinds.folded': it holds counts only" ]
}

@test "what sorts between a name and a semicolon does not split a function" {
	"$SPROF" report --json split.folded >split.json
	jq -e '[.rows[] | select(.function == "foo")] | length == 1 and .[0].total == 120 and .[0].self == 50' split.json
	[ "$("$SPROF" flame split.folded | grep -c '<title>foo$')" -eq 1 ]
}

@test "report ranks by self, and by total when asked" {
	"$SPROF" report kinds.folded | same_as_golden kinds.report
	"$SPROF" report --sort total -n 5 kinds.folded | same_as_golden kinds.total.report
	"$SPROF" report complete.data | same_as_golden complete.report
}

@test "report in JSON says what the table says, and its selves add up" {
	"$SPROF" report --json kinds.folded | same_as_golden kinds.json
	"$SPROF" report --json complete.data | same_as_golden complete.json
	"$SPROF" report --json complete.data >c.json
	jq -e '.version == 2 and ([.rows[].self] | add) == .samples and ([.rows[].self_ns] | add) == .ns' c.json
	jq -e '.rows | length > 3 and all(.self <= .total and .self_percent <= .total_percent)' c.json
	"$SPROF" report --json -n 2 complete.data | jq -e '.rows | length == 2'
	"$SPROF" report --json hostile.folded | jq -e '[.rows[].self] | add == 56'
}

@test "report says that a recording is incomplete" {
	"$SPROF" report killed.data | grep -q '^UNFINISHED: '
	"$SPROF" report --json killed.data | jq -e .unfinished
	"$SPROF" flame killed.data | grep -q 'UNFINISHED: '
	! "$SPROF" report complete.data | grep -q UNFINISHED || false
}

@test "report fits the terminal, in blocks where it can show them" {
	on_terminal() { script -qec "stty cols $1; env $2 $SPROF report kinds.folded" /dev/null | tr -d '\r'; }
	[ "$(on_terminal 80 'LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm' | tail -n +5 | wc -L)" -le 80 ]
	[ "$(on_terminal 64 'LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm' | tail -n +5 | wc -L)" -le 64 ]
	on_terminal 80 'LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm' | grep -q '█'
	! on_terminal 80 'LC_ALL=C NO_COLOR=1 TERM=xterm' | grep -q '█' || false
	! on_terminal 80 'LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm' | grep -q $'\e\\[' || false
	on_terminal 80 'LC_ALL=C.UTF-8 TERM=xterm' | grep -q $'\e\\[1m'
}

@test "a command of several lines is one line wherever it is shown" {
	printf 'a;b 1\n' >"$(printf 'two\nlines.folded')"
	[ "$("$SPROF" report two*lines.folded | head -1)" = "two lines.folded" ]
	"$SPROF" flame two*lines.folded | grep -q '<title>two lines.folded</title>'
	"$SPROF" flame --html two*lines.folded | grep -q '<title>two lines.folded</title>'
	"$SPROF" info two*lines.folded | grep -q '^command  *two lines.folded$'
}

@test "margins are signs where the terminal can show them, in every table" {
	for kind in '' --phases --by=line; do
		script -qec "env LC_ALL=C.UTF-8 $SPROF report $kind complete.data" /dev/null | grep -q '[0-9]±[0-9]'
		script -qec "env LC_ALL=C $SPROF report $kind complete.data" /dev/null | grep -q '[0-9]+-[0-9]'
	done
}

@test "report does not cut names in a pipe" {
	printf 'a;%0500d 1\n' 0 >long.folded
	"$SPROF" report long.folded | grep -q "$(printf '%0500d' 0)"
}

@test "flame draws what is expected" {
	for f in split kinds hostile; do
		"$SPROF" flame --title "$f" $f.folded | picture | same_as_golden $f.svg.txt
	done
	"$SPROF" flame --title recording complete.data | picture | same_as_golden complete.svg.txt
}

@test "flame is well-formed whatever the names" {
	for f in split.folded kinds.folded hostile.folded complete.data; do
		"$SPROF" flame $f -o x.svg
		xmllint --noout x.svg
		"$SPROF" flame --no-js --title "$(head -c 60 hostile.folded)" $f | xmllint --noout -
	done
}

@test "flame is well-formed where shares are next to nothing" {
	{ for i in $(seq 300); do echo "main;f$i 1"; done; echo "main;big;inner 9000000"; echo "main;big 1"; } >tiny.folded
	"$SPROF" flame tiny.folded -o x.svg
	xmllint --noout x.svg
	[ "$(grep -c '&#60;0.01%' x.svg)" -ge 2 ]
}

@test "flame does not depend on the order of lines" {
	"$SPROF" flame -t x kinds.folded >a.svg
	tac kinds.folded >backwards.folded
	"$SPROF" flame -t x backwards.folded >b.svg
	cmp a.svg b.svg
}

@test "caps add up to the width of the chart and stand side by side" {
	for f in kinds.folded hostile.folded complete.data; do
		"$SPROF" flame --no-js $f | sed -n '/class="frames"/,/^<\/g>$/p' | grep -o '<rect class="c[^>]*>' |
			sed -E 's/.* x="([0-9.]*)".* width="([0-9.]*)".*/\1 \2/' | sort -g |
			awk 'BEGIN { at = 10 } { d = $1 - at; if (d > .011 || d < -.011) { print "cap at " $1 ", not " at; exit 1 } at = $1 + $2 }
				END { d = at - 1190; exit d > .011 || d < -.011 }'
	done
}

@test "merged frames are striped, counted and labelled" {
	# A tower of 300 rows that becomes narrower with each of them, and 3000 siblings too narrow to draw.
	python3 - >merged.folded <<-'EOT'
		for i in range(300):
		    print("main;" + ";".join(f"walk_{j % 7}" for j in range(i + 1)) + f";leaf_{i} 22")
		for i in range(3000):
		    print(f"main;wide;narrow_{i} 10")
		print("main;other 13500")
	EOT
	"$SPROF" flame merged.folded -o merged.svg
	xmllint --noout merged.svg
	python3 - merged.svg <<-'EOT'
		import re, sys
		text = open(sys.argv[1]).read()
		runs = re.findall(r'<g class="m">.*?</g>', text, re.S)
		tower = [r for r in runs if re.search(r"in \d\d\d rows merged into one box", r)]
		assert len(tower) == 1 and re.search(r">\d+ (frames )?merged</text>", tower[0]), runs
		narrow = [r for r in runs if "627 frames in 1 row merged into one box" in r]
		assert len(narrow) == 4 and all(">627 frames merged</text>" in r for r in narrow), runs
	EOT
	grep -q 'id="sprof-merged-caps"' merged.svg
	grep -q '\.m > rect\.c:not(\.s) { fill: url(#sprof-merged-caps); }' merged.svg
}

@test "the halves of a butterfly are two columns, each by its own total" {
	"$SPROF" info --json gpu.data >info.json
	for pair in cpu,gpu gpu,cpu gpu-idle,launches; do
		"$SPROF" flame --butterfly $pair -t x gpu.data -o b.svg
		xmllint --noout b.svg
		up=$(jq ".columns[] | select(.name == \"${pair%,*}\").sum" info.json)
		down=$(jq ".columns[] | select(.name == \"${pair#*,}\").sum" info.json)
		python3 - b.svg "$up" "$down" <<-'EOT'
			import base64, re, sys, zlib
			text = open(sys.argv[1]).read()
			sums = [int(n) for n in sys.argv[2:]]
			# Caps cover each half once.
			middle = float(re.search(r'class="middle" d="M10 ([\d.]+)h1180"', text)[1])
			widths = [0, 0]
			for y, width in re.findall(r'<rect class="c(?: s)?" x="[^"]*" y="(\d+)" width="([^"]*)"', text.split('class="frames"')[1].split('class="facts"')[0]):
			    widths[int(y) > middle] += float(width)
			assert all(abs(w - 1180) < .05 for w in widths), widths
			# The data of both, self by self.
			def total(packed):
			    data = iter(zlib.decompress(base64.b64decode(packed), -15))
			    def number():
			        value = shift = 0
			        while True:
			            byte = next(data)
			            value |= (byte & 127) << shift
			            shift += 7
			            if byte < 128:
			                return value
			    def skip(n):
			        for _ in range(n):
			            next(data)
			    number()
			    skip(number())
			    for _ in range(2):
			        for _ in range(number()):
			            skip(number())
			    functions = number()
			    for _ in range(functions):
			        number()
			        skip(number())
			        [number() for _ in range(2)]
			        skip(2)
			        [number() for _ in range(4)]
			    nr, steps, calls = number(), number(), number()
			    skip(steps)
			    while functions:
			        skip(calls)
			        functions //= 256
			    return sum(number() for _ in range(nr))
			got = [total(packed) for packed in re.findall(r'<metadata class="data"[^>]*>([^<]*)<', text)]
			assert got == sums, (got, sums)
		EOT
	done
	"$SPROF" flame --butterfly cpu,gpu --no-js gpu.data >static.svg
	! grep -q '<script\|<metadata' static.svg || false
	grep -q '>CPU time 360 ms<' static.svg
	grep -q '>GPU time 182 ms<' static.svg
}

@test "a butterfly of columns that are not there, or are one, is an error" {
	run ! --separate-stderr "$SPROF" flame --butterfly cpu,gpu complete.data
	[[ "$stderr" == *"cannot show column gpu of 'complete.data': it holds no GPU time"* ]]
	for pair in cpu cpu,cpu cpu,nothing; do
		run -2 --separate-stderr "$SPROF" flame --butterfly $pair gpu.data
		[ -n "$stderr" ] && [ -z "$output" ]
	done
	run -2 "$SPROF" flame --butterfly cpu,gpu --column gpu gpu.data
}

@test "without scripts there is no script and no data" {
	"$SPROF" flame --no-js kinds.folded >x.svg
	! grep -q -e '<script' -e '<metadata' x.svg || false
	[ "$(grep -c '<title>' x.svg)" -gt 20 ]
}

@test "a picture is written whole or not at all" {
	echo old >x.svg
	run --separate-stderr "$SPROF" flame -o x.svg /nonexistent
	[ "$status" -eq 1 ]
	[ "$(cat x.svg)" = old ]
	run --separate-stderr "$SPROF" flame -o nowhere/x.svg kinds.folded
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot write 'nowhere/x.svg': No such file or directory" ]
	run --separate-stderr "$SPROF" flame -o /dev/full kinds.folded
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot write '/dev/full': No space left on device" ]
	run --separate-stderr bash -c '"$SPROF" flame kinds.folded >/dev/full'
	[ "$status" -eq 1 ]
	"$SPROF" flame -o x.svg kinds.folded
	[ "$(head -c 5 x.svg)" = '<?xml' ]
	[ "$(ls -A | grep -c -e new -e '\.sprof-')" -eq 0 ]
}

@test "output follows no link that somebody else put there" {
	echo precious >victim
	# The name beside the output was once OUTPUT.PID.new, and the shell knows the PID of what it executes.
	run bash -c 'ln -s victim x.svg.$$.new; exec "$SPROF" flame -o x.svg kinds.folded'
	[ "$status" -eq 0 ]
	[ "$(cat victim)" = precious ]
	[ "$(head -c 5 x.svg)" = '<?xml' ]
	ln -sf victim y.svg
	"$SPROF" flame -o y.svg kinds.folded
	[ "$(cat victim)" = precious ]
	[ ! -L y.svg ]
	ln -sf victim z.data
	run "$SPROF" merge -o z.data complete.data complete.data
	[ "$(cat victim)" = precious ]
}

@test "output goes into a pipe and a terminal's device" {
	mkfifo pipe
	"$SPROF" fold -o pipe kinds.folded 3>&- &
	"$SPROF" fold kinds.folded | cmp - pipe
	wait $!
	"$SPROF" fold -o /dev/stdout kinds.folded | cmp - <("$SPROF" fold kinds.folded)
	(umask 027 && "$SPROF" fold -o modes kinds.folded)
	[ "$(stat -c %a modes)" = 640 ]
}

@test "bad lines are counted and reported, and a text without stacks is an error" {
	printf 'a;b 1\nwhat is this\na;c 2\nx;y z\n' >bad.folded
	run --separate-stderr "$SPROF" fold bad.folded
	[ "$status" -eq 0 ]
	[ "$output" = "$(printf 'a;b 1\na;c 2')" ]
	[ "$stderr" = "sprof: warning: 'bad.folded': lines left out because they are not collapsed stacks: 2, first line 2" ]
	run --separate-stderr "$SPROF" report - <<<"hello world"
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'standard input': no line in it is a collapsed stack (a;b;c 12)" ]
}

@test "wrong options are usage errors" {
	for args in "flame --nope" "fold a b" "report -n x" "report -n -1" "report --sort name" "flame a b"; do
		run "$SPROF" $args
		[ "$status" -eq 2 ]
	done
}

@test "every --help has three examples" {
	for c in flame fold report; do
		[ "$("$SPROF" $c --help | grep -cE '^  (sprof|perf|cat) ')" -ge 3 ]
	done
}

@test "a column that does not exist, or holds nothing, is an error" {
	run "$SPROF" report --column gpus complete.data
	[ "$status" -eq 2 ]
	[[ "$output" == *"there is no column 'gpus', only cpu, count, gpu, "* ]]
	for c in flame fold report; do
		run --separate-stderr "$SPROF" $c --column gpu-idle complete.data
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		[ "${stderr_lines[-2]}" = "sprof: cannot show column gpu-idle of 'complete.data': it holds no GPU idle time" ]
		[ "${stderr_lines[-1]}" = "hint: sprof info complete.data lists the columns it has" ]
	done
	"$SPROF" fold --column cpu complete.data | same_as_golden complete.fold
}

@test "flame --by puts a frame for each process, user ... below the stacks" {
	cp "$GOLDEN/recordings/processes.data" .
	"$SPROF" flame --by user -o u.svg processes.data
	for name in www-data 'user 4242' root '\[not known\]' master worker batch serve; do
		grep -q "<title>$name" u.svg
	done
	xmllint --noout u.svg
	"$SPROF" flame --by process --no-js processes.data >p.svg
	grep -q '<title>worker (pid 11)' p.svg
	grep -q '<title>worker (pid 12)' p.svg
	"$SPROF" flame --by thread --no-js processes.data >t.svg
	grep -q '<title>worker (tid 11)' t.svg
	! grep -q '<title>worker$' t.svg || false
	"$SPROF" flame --by module --no-js processes.data >m.svg
	grep -q '<title>server' m.svg
	! grep -q '<title>serve$' m.svg || false
	"$SPROF" flame --by container --html -o c.html processes.data
	grep -q 'docker 0123456789ab' c.html
	run "$SPROF" flame --by x processes.data
	[ "$status" -eq 2 ]
}

@test "output into a FIFO that nothing reads says what it waits for" {
	mkfifo fifo
	"$SPROF" fold "$GOLDEN/recordings/processes.data" -o fifo 2>log 3>&- &
	writer=$!
	for _ in $(seq 500); do
		[ ! -s log ] || break
		sleep 0.02
	done
	grep -qx "sprof: waiting for a process to read 'fifo'" log
	cat fifo >folded
	wait $writer
	"$SPROF" fold "$GOLDEN/recordings/processes.data" | diff folded -
	# A reader that waits already gets everything, too.
	cat fifo >folded 3>&- &
	writer=$!
	sleep 0.3
	run timeout 60 "$SPROF" fold "$GOLDEN/recordings/processes.data" -o fifo
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	wait $writer
	"$SPROF" fold "$GOLDEN/recordings/processes.data" | diff folded -
}
