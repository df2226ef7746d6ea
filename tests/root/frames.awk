# Classifies frames of collapsed stacks, for the awk programs beside this file.

# Is this frame the marker of a walk that ended before the root?
function is_marker(frame) {
	return frame ~ /^\[(unknown|no unwind rule|unwind rules not readable|stack not readable|bad stack pointer|incomplete.*|32-bit program|no kernel stack|marker.*)\]$/
}

# Is this frame one that a thread begins with? In a stripped program, libc or loader it is a number,
# "perl+0x1ab70", or the file's name alone.
function is_root(frame) {
	return frame ~ /^(_start|_dl_start|_dl_start_user|(__)?clone3?|thread_start|make_fcontext)$/ || is_go_root(frame) || frame ~ /^[^ ]+\+0x[0-9a-f]+$/ || frame ~ /^\[[^]]+\]$/
}

# Goroutines begin with goexit. The others begin what Go's runtime does on the stack of a thread and
# does not return from: mcall has left its goroutine for good.
function is_go_root(frame) {
	return frame ~ /^runtime\.(goexit|mcall|morestack|mstart|rt0_go)(\.abi0)?$/
}

# How many of frames[1 ... nr] are not kernel frames? The first is the name of the thread.
function user_part(frames, nr) {
	while (nr > 1 && frames[nr] ~ /_\[k\]$/)
		nr--
	return nr
}
