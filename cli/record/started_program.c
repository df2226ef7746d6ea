/* A signal is passed on once; a program that handles it may run on for as long as it likes. */
#include "cli/record/started_program.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "cli/options/stop_signals.h"
#include "core/base/log.h"

int started_program_cannot_run(const char *name, int err)
{
	log_error(-err, "run '%s'", name);
	log_hint("command -v says what a name runs; a program of this folder is ./NAME");
	return err == -ENOENT ? 127 : 126;
}

int started_program_find(const char *name)
{
	int err = launch_find(name, NULL);

	return err ? started_program_cannot_run(name, err) : 0;
}

bool started_program_has_ended(struct started_program *p)
{
	struct rusage u;

	if (p->launch.pid && !p->ended &&
	    wait4(p->launch.pid, &p->status, WNOHANG, &u) == p->launch.pid) {
		p->ended = true;
		p->cpu_ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u +
			    (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
	}
	return p->ended;
}

void started_program_forward_signal(struct started_program *p)
{
	int signal = stop_signals_caught();
	bool forward = signal == SIGTERM || signal == SIGHUP;

	if (!forward || p->signal_forwarded || !p->launch.pid || started_program_has_ended(p))
		return;
	kill(p->launch.pid, signal);
	p->signal_forwarded = true;
}

int started_program_wait(struct started_program *p)
{
	static const int wakes[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	sigset_t blocked, old;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(wakes) / sizeof(wakes[0]); i++)
		sigaddset(&blocked, wakes[i]);
	sigprocmask(SIG_BLOCK, &blocked, &old);
	while (!started_program_has_ended(p)) {
		started_program_forward_signal(p);
		sigsuspend(&old);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (WIFSIGNALED(p->status))
		return 128 + WTERMSIG(p->status);
	return WEXITSTATUS(p->status);
}
