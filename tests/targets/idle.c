/*
 * A server's threads, some idle and some in the middle of a request:
 *
 *	idle MILLISECONDS
 *
 * accepts	waits in accept()
 * loops	its outermost function waits in epoll_wait()
 * pool		takes jobs from a queue that stays empty, in a function called pool_worker_loop
 * handler	runs one job of such a queue: waits for its reply in a condition variable
 * calls	its outermost function calls another, which waits for an answer in epoll_wait()
 * contends	wants the mutex of a queue, in a function called pool_worker_loop
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOIPA __attribute__((noipa))
#define NO_TAIL_CALL() __asm__ volatile("")

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t reply_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_came = PTHREAD_COND_INITIALIZER, reply_came = PTHREAD_COND_INITIALIZER;

static void *accepts(void *unused)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int s = socket(AF_INET, SOCK_STREAM, 0);

	prctl(PR_SET_NAME, "accepts");
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!bind(s, (struct sockaddr *)&any, sizeof(any)) && !listen(s, 1))
		close(accept(s, NULL, NULL));
	return unused;
}

static void wait_for_events(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
	NO_TAIL_CALL();
}

static void *loops(void *unused)
{
	struct epoll_event event;

	prctl(PR_SET_NAME, "loops");
	epoll_wait(epoll_create1(0), &event, 1, -1);
	return unused;
}

static NOIPA void call_backend(void)
{
	wait_for_events();
	NO_TAIL_CALL();
}

static void *calls(void *unused)
{
	prctl(PR_SET_NAME, "calls");
	call_backend();
	return unused;
}

static NOIPA void handle_job(void)
{
	pthread_mutex_lock(&reply_lock);
	for (;;)
		pthread_cond_wait(&reply_came, &reply_lock);
}

/* `what`: 'p' waits for a job, 'h' has one, 'c' wants the lock. */
static NOIPA void pool_worker_loop(char what)
{
	if (what == 'h')
		handle_job();
	pthread_mutex_lock(what == 'c' ? &held : &queue_lock);
	for (;;)
		pthread_cond_wait(&job_came, &queue_lock);
}

static void *works(void *what)
{
	prctl(PR_SET_NAME, what);
	pool_worker_loop(*(char *)what);
	return NULL;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 0;
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	pthread_t id;

	pthread_mutex_lock(&held);
	pthread_create(&id, NULL, accepts, NULL);
	pthread_create(&id, NULL, loops, NULL);
	pthread_create(&id, NULL, calls, NULL);
	pthread_create(&id, NULL, works, "pool");
	pthread_create(&id, NULL, works, "handler");
	pthread_create(&id, NULL, works, "contends");
	nanosleep(&t, NULL);
	return 0;
}
