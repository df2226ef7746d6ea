# Files of browsers and of JavaScript engines. golden/import/README.md says who made them.

NODE=$BATS_TEST_DIRNAME/../golden/import/node

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
}

ns_by_function() { # FILE: "ns function", sorted
	"$SPROF" report --json -n 0 "$1" 2>/dev/null | jq -r '.rows[] | select(.self_ns > 0) | "\(.self_ns) \(.function)"' | sort
}

@test ".cpuprofile: a sample lasts until the next one, by function" {
	python3 - $NODE/work.cpuprofile >want <<-'END'
		import collections, json, sys
		d = json.load(open(sys.argv[1]))
		names = {n['id']: n['callFrame'] for n in d['nodes']}
		at, sums = d['startTime'], collections.Counter()
		for i, (node, delta) in enumerate(zip(d['samples'], d['timeDeltas'])):
		    at += delta
		    last = i + 1 == len(d['samples'])
		    f = names[node]
		    sums[f['functionName'] or '(anonymous)', f['url'], f['lineNumber']] += max(0, d['endTime'] - at if last else d['timeDeltas'][i + 1]) * 1000
		for (name, url, line), ns in sums.items():
		    if ns and name != '(root)':
		        print(ns, name)
	END
	[ "$(wc -l <want)" -gt 3 ]
	sort want | diff - <(ns_by_function $NODE/work.cpuprofile)
	"$SPROF" fold $NODE/work.cpuprofile | grep -q ';(anonymous)_\[j\];outer_\[j\];spin_\[j\] [0-9]*$'
	"$SPROF" report --json -n 0 $NODE/work.cpuprofile |
		jq -e '.column == "wall" and (.rows[] | select(.function == "spin") | .line == 3 and (.file | endswith("work.js")))'
	sed 's/"samples":\[/"samples":[1,/' $NODE/work.cpuprofile >more
	run --separate-stderr "$SPROF" fold more
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'more': it has more samples than times, or fewer" ]
}

@test "Chrome trace events: durations nest, and what is left of each is its self time" {
	cat >x.json <<-'END'
		[{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}},
		{"ph":"X","name":"inner","pid":1,"tid":2,"ts":10,"dur":30},
		{"ph":"X","name":"outer","pid":1,"tid":2,"ts":0,"dur":100},
		{"ph":"B","name":"begun","pid":1,"tid":3,"ts":5},
		{"ph":"B","name":"within","pid":1,"tid":3,"ts":6},
		{"ph":"E","pid":1,"tid":3,"ts":8}, {"ph":"E","pid":1,"tid":3,"ts":15.5},
		{"ph":"i","name":"instant","pid":1,"tid":3,"ts":7}]
	END
	run --separate-stderr "$SPROF" fold x.json
	[ "$(paste -sd'|' <<<"$output")" = "main;outer 70000|main;outer;inner 30000|thread;begun 8500|thread;begun;within 2000" ]
	[[ $stderr == *"trace events left out because they have no place in a stack: 1"* ]]
	echo "{\"other\": 1, \"traceEvents\": $(cat x.json)}" >y.json
	diff <("$SPROF" fold x.json) <("$SPROF" fold y.json)
	# Node's trace: the sum of the outermost events of each thread.
	[ "$("$SPROF" report --json $NODE/trace.json 2>/dev/null | jq .ns)" -gt 0 ]
}

@test "Chrome trace events: a CPU profile in chunks is read as its .cpuprofile is" {
	python3 - $NODE/work.cpuprofile >trace.json <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		parents = {c: n['id'] for n in d['nodes'] for c in n.get('children', [])}
		nodes = [{'id': n['id'], 'callFrame': n['callFrame'], **({'parent': parents[n['id']]} if n['id'] in parents else {})} for n in d['nodes']]
		common = {'pid': 5, 'tid': 6, 'id': '0x1', 'ts': 1, 'cat': 'disabled-by-default-v8.cpu_profiler'}
		half = len(d['samples']) // 2
		events = [{**common, 'ph': 'P', 'name': 'Profile', 'args': {'data': {'startTime': d['startTime']}}}]
		for part in (slice(0, half), slice(half, None)):
		    events.append({**common, 'ph': 'P', 'name': 'ProfileChunk', 'args': {'data': {
		        'cpuProfile': {'nodes': nodes if not part.start else [], 'samples': d['samples'][part]}, 'timeDeltas': d['timeDeltas'][part]}}})
		events[-1]['args']['data']['endTime'] = d['endTime']
		json.dump({'traceEvents': events}, sys.stdout)
	END
	diff <(ns_by_function $NODE/work.cpuprofile) <(ns_by_function trace.json)
}

@test "Firefox Profiler: an export of sprof comes back, and tables may be shared" {
	cp "$BATS_TEST_DIRNAME/../golden/recordings/complete.data" .
	"$SPROF" export -f firefox -o x.json complete.data 2>/dev/null
	[ "$(ns_by_function complete.data | wc -l)" -gt 2 ]
	ns_by_function complete.data | diff - <(ns_by_function x.json)
	python3 - <<-'END'
		import json
		d = json.load(open('x.json'))
		d['threads'] = d['threads'][:1]
		d['shared'] = {k: d['threads'][0].pop(k) for k in ('stackTable', 'frameTable', 'funcTable', 'resourceTable', 'stringArray')}
		json.dump(d, open('shared.json', 'w'))
		d['threads'][0].update(d.pop('shared'))
		json.dump(d, open('own.json', 'w'))
	END
	[ "$(ns_by_function own.json | wc -l)" -gt 0 ]
	diff <("$SPROF" fold own.json) <("$SPROF" fold shared.json)
}

@test "JSON of browsers that is cut off or refers to nothing" {
	head -c 3000 $NODE/work.cpuprofile >cut
	run --separate-stderr "$SPROF" fold cut
	[ "$status" -eq 1 ]
	[[ $stderr == "sprof: cannot read 'cut': it stops being valid JSON at byte "* ]]
	echo '{"nodes":[{"id":1,"callFrame":{}}],"samples":[],"timeDeltas":[]}' >none
	run --separate-stderr "$SPROF" fold none
	[ "$stderr" = "sprof: cannot read 'none': it holds no samples (V8 CPU profile)" ]
	# A circle of parents.
	echo '{"nodes":[{"id":1,"parent":2,"callFrame":{}},{"id":2,"parent":1,"callFrame":{}}],"samples":[1,2],"timeDeltas":[1,1]}' >circle
	run --separate-stderr "$SPROF" report circle
	[ "$status" -le 1 ]
	echo '{"meta":{"preprocessedProfileVersion":40},"threads":[{"samples":{"stack":[0,5,-1,1e300]},"stackTable":{"frame":[9],"prefix":[0]}}]}' >loop
	run --separate-stderr "$SPROF" report loop
	[ "$status" -le 1 ]
}

reads_within() { # CPU-SECONDS FILE
	(
		ulimit -t "$1"
		exec "$SPROF" info "$2" >/dev/null
	)
}

@test ".cpuprofile: a node that is its own ancestor costs no time per sample" {
	python3 - >loop.cpuprofile <<-'END'
		ones = ','.join(['1'] * 300000)
		print('{"nodes":[{"id":1,"parent":2,"callFrame":{"functionName":"a"}},{"id":2,"parent":1}],')
		print('"startTime":0,"endTime":9,"samples":[' + ones + '],"timeDeltas":[' + ones + ']}')
	END
	reads_within 10 loop.cpuprofile
}

@test "Chrome trace: chunks and thread names are sorted once, however many there are" {
	python3 - >chunks.json <<-'END'
		event = '{"name":"ProfileChunk","id":"1","args":{"data":{"cpuProfile":{"nodes":[{"id":%d,"parent":%d}]%s}%s}}}'
		last = 100000
		print('[{"ph":"P"},' + ','.join(event % (i, i - 1, '', '') for i in range(last - 1, 1, -1)) + ',')
		print(event % (last, 1, ',"samples":[%d,%d]' % (last, last), ',"timeDeltas":[1,1]') + ']')
	END
	reads_within 10 chunks.json
	python3 - >names.json <<-'END'
		print('[' + ','.join('{"ph":"M","name":"thread_name","tid":%d}' % (i + 1000000) for i in range(150000)) + ',')
		print(','.join('{"ph":"X","tid":%d,"dur":1}' % i for i in range(150000)) + ']')
	END
	reads_within 10 names.json
	python3 - >first.json <<-'END'
		name = '{"ph":"M","name":"thread_name","tid":%d,"args":{"name":"%s"}}'
		print('[' + ','.join(name % n for n in [(2, 'two'), (1, 'one'), (2, 'other')]) + ',{"ph":"X","tid":2,"dur":1,"name":"f"}]')
	END
	"$SPROF" info first.json | grep -w two
}

@test "Firefox: threads that share a large table cost no more than their own samples" {
	python3 - >shared.json <<-'END'
		nr = 2000000
		print('{"preprocessedProfileVersion":50,"shared":{"stackTable":{"frame":[' + ','.join(['0'] * nr))
		print('],"prefix":[' + ','.join(['null'] * nr) + ']},"frameTable":{"func":[0]},')
		print('"funcTable":{"name":[0]},"stringArray":["a"]},"threads":[')
		print(','.join(['{"samples":{"stack":[0]}}'] * 300000) + ']}')
	END
	reads_within 12 shared.json
}

@test "Firefox: a prefix that does not come before its stack is ignored, and all stacks together have a limit" {
	echo '{"meta":{"preprocessedProfileVersion":40},"threads":[{"name":"main","samples":{"stack":[0,1,2]},"stackTable":{"frame":[0,1,2],"prefix":[2,0,1]},
		"frameTable":{"func":[0,1,2]},"funcTable":{"name":[0,1,2]},"stringArray":["a","b","c"]}]}' >small.json
	[ "$("$SPROF" fold small.json | paste -sd'|')" = "main;a 1|main;a;b 1|main;a;b;c 1" ]
	python3 - <<-'END'
		def write(name, prefixes, samples):
		    frames = ','.join(['0'] * len(prefixes))
		    stacks = '"stackTable":{"frame":[' + frames + '],"prefix":[' + ','.join(prefixes) + ']}'
		    names = '"frameTable":{"func":[0]},"funcTable":{"name":[0]},"stringArray":["a"]'
		    samples = '"samples":{"stack":[' + ','.join(map(str, samples)) + ']}'
		    open(name, 'w').write('{"preprocessedProfileVersion":50,"threads":[{' + stacks + ',' + names + ',' + samples + '}]}')
		write('circle.json', ['0'] * 300000, range(300000))
		# Of each stack, 65536 frames are kept, and those are the same: they cost no memory.
		write('deep.json', ['null'] + [str(i) for i in range(365535)], range(65536, 365536))
	END
	reads_within 10 circle.json
	run reads_within 20 deep.json
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot read 'deep.json': its stacks are too large" ]
}

@test "Firefox: a name and a library that very many frames refer to are looked at once" {
	python3 - >long.json <<-'END'
		nr = 300000
		each, long = ','.join(map(str, range(nr))), 'x' * 1000000
		print('{"preprocessedProfileVersion":50,"libs":[{"path":"/' + long + '"}],"threads":[{"samples":{"stack":[' + each + ']},')
		print('"stackTable":{"frame":[' + each + '],"prefix":[' + ','.join(['null'] * nr) + ']},')
		print('"frameTable":{"func":[' + ','.join(['0'] * nr) + '],"line":[' + ','.join(['7'] * nr) + ']},')
		print('"funcTable":{"name":[0],"resource":[0]},"resourceTable":{"lib":[0]},"stringArray":["' + long + '"]}]}')
	END
	reads_within 10 long.json
}

@test "Chrome trace events: ends without a beginning take no longer where other threads have begun much" {
	local alone among
	user_ms() { # FILE
		TIMEFORMAT=%3U
		{ time "$SPROF" info "$1" >/dev/null 2>&1 || true; } 2>&1 | tr -d .
	}
	python3 - <<-'END'
		ends = ',{"ph":"E","pid":2,"tid":2,"ts":1}' * 300000 + ']'
		begun = ','.join('{"ph":"B","name":"b","pid":1,"tid":%d,"ts":1}' % i for i in range(4096))
		open('alone.json', 'w').write('[{"ph":"X","name":"x","pid":1,"tid":1,"ts":1,"dur":5}' + ends)
		open('among.json', 'w').write('[' + begun + ends)
	END
	alone=$(user_ms alone.json) among=$(user_ms among.json)
	echo "$alone ms alone, $among ms among others"
	[ $((10#$among)) -lt $((4 * 10#$alone + 100)) ]
}
