/* The smallest payload: does nothing, or sleeps for so many seconds. */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 1)
		sleep((unsigned int)atoi(argv[1]));
	return 0;
}
