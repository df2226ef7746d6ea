# make -j2 on a slow disk

# Eight sources of 500 kB, most of it comments.
write_sources() { # FOLDER
	local i
	for i in {1..8}; do
		{
			for ((line = 0; line < 5000; line++)); do
				printf '/* line %05d of a long comment, in which everything is explained, and much is explained twice over */\n' $line
			done
			printf 'int function_%d(int x)\n{\n\treturn x + %d;\n}\n' $i $i
		} >"$1/part_$i.c"
	done
	printf 'OBJECTS := $(patsubst %%.c,%%.o,$(wildcard *.c))\nall: $(OBJECTS)\n%%.o: %%.c\n\tgcc -c -o /dev/null $<\n' >"$1/Makefile"
}

case_make() {
	command -v gcc >/dev/null && command -v make >/dev/null || { missing "there is no gcc or no make"; return 0; }
	slow_disk $((3 * 1000 * 1000)) || { missing "$why"; return 0; }
	write_sources "$mounted"
	# What is mounted anew is in no cache.
	umount "$mounted" && mount "$device" "$mounted" || return
	record "make -j2 on a slow disk" "" -- bash -c "echo \$\$ >'$group/cgroup.procs' && exec make -s -j2 -C '$mounted'" || return
	most "cc1 waits for the disk" 50 '^cc1;' ';disk wait_'
	most "the boxes on top name the files" 80 '^cc1;.*;disk wait_' ';disk wait_\[w\];loop[0-9]+: part_[1-8].c_'
	most "gcc waits for its child" 80 '^gcc;' ';child wait_'
	most "make waits for a job" 60 '^make;' ';(poll|pipe|child) wait_'
}
