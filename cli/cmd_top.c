/*
 * sprof top: samples and shows what it has, until it is told to quit. This thread samples; the
 * others (cli/top/model.h) make pictures and draw them. Where there is no terminal, one picture is
 * printed.
 */
#include "cli/commands.h"

#include <argp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/gpu/record_gpu.h"
#include "cli/input/load.h"
#include "cli/record/recorder.h"
#include "cli/options/stop_signals.h"
#include "cli/recording_meta.h"
#include "cli/top/model.h"
#include "cli/top/name_rounds.h"
#include "cli/top/once.h"
#include "cli/top/screen.h"
#include "cli/top/top_opts.h"
#include "cli/top/ui.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "core/recording/profile_save.h"
#include "core/rights/privileges.h"
#include "core/untrusted/remote_read.h"
#include "output/live/live.h"
#include "sampler/target/launch.h"
#include "symbolizer/lookup/debuginfod.h"

/* Pictures come once a second, and keys are answered by another thread. */
#define DRAIN_MS 200
#define ONCE_NS (5 * NS_PER_S)
#define OWN_FAILURE 125 /* the same as of sprof record */

struct top {
	struct top_opts *opts;
	struct recorder recorder;
	struct live *live;
	struct sink *sink; /* where samples go: `live`, or a sink before it */
	struct name_rounds *naming;
	struct debuginfod *debuginfod; /* NULL = not asked for */
	struct model *model;	       /* NULL: one picture is printed */
	struct ui *ui;
	uint64_t end_ns; /* when sampling ends */
	bool quits, ends_program;
};

static void new_live(struct top *t)
{
	const struct recorder *r = &t->recorder;
	struct recfile_meta m;
	struct live_meta meta;
	struct utsname host;

	recording_meta(r->opts, r->ops->name, r->ops->event(r->source), &host, &m);
	meta = (struct live_meta){
		.hostname = m.hostname,
		.kernel = m.kernel,
		.command = m.command,
		.source = m.source,
		.event = m.event,
		.version = m.version,
		.freq_hz = m.freq_hz,
		.nr_cpus = m.nr_cpus,
		.start_realtime_ns = m.start_realtime_ns,
		.start_ns = m.start_ns,
		.window_s = t->opts->window_s,
		.own_pid = getpid(),
	};
	t->live = live_new(&meta, &live_limits_default);
	t->sink = record_gpu_watch(r->gpu, live_sink(t->live));
}

static void advance(struct top *t)
{
	const struct recorder *r = &t->recorder;
	struct profile_stats stats;

	r->ops->stats(r->source, &stats);
	live_advance(t->live, monotonic_ns(), &stats);
}

/* Takes the new samples. Returns 1 while there are targets, 0 at their end, or -errno. */
static int sample_round(struct top *t)
{
	struct recorder *r = &t->recorder;
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int live = r->ops->drain(r->source, t->sink, record_gpu_timeout_ms(r->gpu, DRAIN_MS));

	record_gpu_drain(r->gpu);
	privileges_use(before);
	advance(t);
	if (live < 0)
		log_error(-live, "read samples");
	if (live > 0 && (started_program_has_ended(&r->program) || monotonic_ns() >= t->end_ns))
		live = 0;
	return live;
}

static void stop_sampling(struct top *t)
{
	struct recorder *r = &t->recorder;
	enum rights before = privileges_use(RIGHTS_BORROWED);

	r->ops->stop(r->source, t->sink);
	record_gpu_stop(r->gpu);
	privileges_use(before);
	advance(t);
}

static void save(struct top *t, const char *path)
{
	struct live_state state;
	struct profile *p = model_copy(t->model, &state);

	if (!profile_save(path, p, NULL))
		log_info("saved %zu samples: sprof report %s", p->nr_samples, path);
	profile_free(p);
}

static void follow_order(struct top *t)
{
	char *path = NULL;

	switch (model_take_order(t->model, &path)) {
	case ORDER_RESET:
		if (t->live) {
			live_reset(t->live, monotonic_ns());
			model_has_news(t->model);
		}
		break;
	case ORDER_SAVE: save(t, path); break;
	case ORDER_QUIT_END: t->ends_program = true; /* fall through */
	case ORDER_QUIT: t->quits = true; break;
	case ORDER_NONE: break;
	}
	free(path);
}

static bool goes_on(const struct top *t)
{
	return !t->quits && !stop_signals_caught();
}

/* The last picture stays until the user quits. */
static void show_end(struct top *t)
{
	const struct timespec pause = { 0, DRAIN_MS * 1000000 };

	model_set_state(t->model, t->live ? MODEL_ENDED : MODEL_FILE);
	while (goes_on(t)) {
		if (t->naming)
			name_rounds_poll(t->naming);
		nanosleep(&pause, NULL);
		follow_order(t);
	}
}

static void show_samples(struct top *t)
{
	int live = 1;

	while (goes_on(t) && live > 0) {
		live = sample_round(t);
		name_rounds_poll(t->naming);
		model_has_news(t->model);
		follow_order(t);
	}
	stop_sampling(t);
	if (!goes_on(t))
		return;
	if (monotonic_ns() >= t->end_ns)
		log_info("the time is over: this is the last picture");
	else if (live >= 0)
		log_info("%s has ended: this is the last picture",
			 t->opts->record.program ? "the program" : "the target");
	show_end(t);
}

static void say(void *context, const char *line)
{
	model_say(context, line);
}

static void has_names(void *context)
{
	const struct top *t = context;

	if (t->model)
		model_has_news(t->model);
}

/* Returns 0 or -errno, reported. Messages go to the screen from here on. */
static int begin_screen(struct top *t, const struct ui_opts *opts)
{
	int err = screen_begin();

	if (err)
		return err;
	log_set_relay(say, t->model);
	err = model_start(t->model);
	err = err ? err : ui_start(t->model, opts, &t->ui);
	if (err) {
		log_set_relay(NULL, NULL);
		screen_end();
		log_error(-err, "start a thread");
	}
	return err;
}

static void end_screen(struct top *t)
{
	struct buffer messages = { 0 };

	ui_stop(t->ui);
	t->ui = NULL;
	screen_end();
	log_set_relay(NULL, NULL);
	model_add_messages(t->model, &messages);
	if (messages.size)
		fwrite(messages.data, 1, messages.size, stderr);
	buffer_fini(&messages);
}

static void print_once(struct top *t)
{
	struct live_answer *answer;
	struct live_state state;
	int live = 1;

	while (live > 0 && !stop_signals_caught())
		live = sample_round(t);
	stop_sampling(t);
	name_rounds_finish(t->naming);
	answer = live_answer_new(&t->opts->question, live_copy(t->live, &state), &state);
	once_print(answer, t->opts);
	live_answer_free(answer);
}

/*
 * While the screen has the terminal, the program must not use it: each of its standard descriptors
 * that is the terminal becomes /dev/null.
 */
static int launch_without_terminal(struct recorder *r)
{
	int kept[3], nowhere = open("/dev/null", O_RDWR | O_CLOEXEC), err;

	for (int fd = 0; fd < 3; fd++) {
		kept[fd] = isatty(fd) ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
		if (kept[fd] >= 0 && nowhere >= 0)
			dup2(nowhere, fd);
	}
	err = recorder_launch(r);
	for (int fd = 0; fd < 3; fd++)
		if (kept[fd] >= 0) {
			dup2(kept[fd], fd);
			close(kept[fd]);
		}
	if (nowhere >= 0)
		close(nowhere);
	return err;
}

static int start(struct top *t)
{
	struct recorder *r = &t->recorder;
	int err = recorder_open(r);

	if (err)
		return err;
	recorder_await_tables(r);
	new_live(t);
	err = recorder_start(r, 0);
	if (err)
		return err;
	t->naming = name_rounds_new(t->live, r, t->debuginfod, has_names, t);
	t->end_ns = UINT64_MAX;
	if (t->opts->record.duration_ns)
		t->end_ns = monotonic_ns() + t->opts->record.duration_ns;
	else if (t->opts->once && !t->opts->record.program)
		t->end_ns = monotonic_ns() + ONCE_NS;
	return 0;
}

/* The exit status of the program; 0 if it was left running. */
static int program_status(struct top *t)
{
	struct recorder *r = &t->recorder;
	int signal = stop_signals_caught();

	if (!r->opts->program)
		return 0;
	if (t->ends_program || signal == SIGTERM || signal == SIGHUP)
		kill(r->program.launch.pid, SIGTERM);
	while (!started_program_has_ended(&r->program) && (t->ends_program || t->opts->once)) {
		const struct timespec pause = { 0, 10 * 1000000 };

		nanosleep(&pause, NULL);
	}
	return started_program_has_ended(&r->program) ? started_program_wait(&r->program) : 0;
}

static int look_at_samples(struct top *t)
{
	struct recorder *r = &t->recorder;
	const char *program = t->opts->record.program ? t->opts->record.program[0] : NULL;
	const struct ui_opts ui = {
		.target = t->opts->record.description,
		.window_s = t->opts->window_s,
		.question = &t->opts->question,
		.key = t->opts->key,
		.has_program = program,
	};
	int failure = program ? OWN_FAILURE : 1, err;

	err = t->opts->once ? recorder_launch(r) : launch_without_terminal(r);
	if (err)
		return failure;
	err = start(t);
	if (err) {
		if (program)
			launch_cancel(&r->program.launch);
		return failure;
	}
	err = recorder_go(r);
	if (err)
		return started_program_cannot_run(program, err);
	if (t->opts->once) {
		print_once(t);
		return program_status(t);
	}
	t->model = model_new(t->live, NULL, &t->opts->question);
	if (begin_screen(t, &ui))
		return failure;
	show_samples(t);
	end_screen(t);
	return program_status(t);
}

static int look_at_file(struct top *t)
{
	const struct ui_opts ui = {
		.target = t->opts->file,
		.question = &t->opts->question,
		.key = t->opts->key,
	};
	struct live_state state = { 0 };
	struct live_answer *answer;
	struct profile *p;

	if (profile_load(t->opts->file, NULL, &p))
		return 1;
	if (t->opts->once) {
		answer = live_answer_new(&t->opts->question, p, &state);
		once_print(answer, t->opts);
		live_answer_free(answer);
		return 0;
	}
	stop_signals_catch();
	t->model = model_new(NULL, p, &t->opts->question);
	if (begin_screen(t, &ui))
		return 1;
	show_end(t);
	end_screen(t);
	return 0;
}

static int look(struct top *t)
{
	struct record_opts *record = &t->opts->record;
	int status, err;

	if (t->opts->file)
		return look_at_file(t);
	status = record->program ? started_program_find(record->program[0]) : 0;
	if (status)
		return status;
	err = recorder_prepare(&t->recorder, record);
	if (!err && record->debuginfod)
		err = debuginfod_open(NULL, NULL, &t->debuginfod);
	if (err)
		return record->program ? OWN_FAILURE : 1;
	return look_at_samples(t);
}

static int top_main(int argc, char **argv)
{
	struct top_opts opts;
	struct top t = { .opts = &opts };
	char why[128];
	int status;

	if (recorder_begin())
		return 1;
	top_opts_parse(argc, argv, &opts);
	if (opts.record.verbose)
		log_set_level(LOG_VERBOSE);
	if (!opts.once && !screen_is_possible(why, sizeof(why))) {
		log_info("printing one table: %s", why);
		opts.once = true;
	}
	status = look(&t);
	model_free(t.model);
	name_rounds_free(t.naming);
	recorder_close_source(&t.recorder);
	live_free(t.live);
	debuginfod_close(t.debuginfod);
	recorder_fini(&t.recorder);
	top_opts_fini(&opts);
	remote_read_end();
	return status;
}

const struct command cmd_top = {
	.name = "top",
	.argp = &top_argp,
	.runs_program = true,
	.help = "show what takes the time while it runs",
	.samples = true,
	.main = top_main,
};
