// Its constructor takes three seconds, during which the loader is locked.
#include <unistd.h>

__attribute__((constructor)) static void arrive(void)
{
	for (int i = 0; i < 30; i++)
		usleep(100000);
}
