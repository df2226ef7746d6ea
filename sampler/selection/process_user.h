/* The user that a process is charged to where users share a table. */
#ifndef SPROF_PROCESS_USER_H
#define SPROF_PROCESS_USER_H

#include <stdint.h>
#include <sys/types.h>

#define USER_NOBODY 65534u /* is charged for a process that ended before its user was read */

/*
 * The real user id of the process. In a user namespace that an ordinary user made it is that of the
 * user: there one may have thousands of ids. `otherwise` where the process has ended.
 */
uint32_t process_user(pid_t pid, uint32_t otherwise);

#endif
