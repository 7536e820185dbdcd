/* Whether a broker answers: exit code 0 or 1. It is the health check of the image.

       health [FILE]      FILE: what `ottla serve --ready-file` writes (default: $OTTLA_READY_FILE)

   It is started every two seconds as long as a broker runs: in C that takes one millisecond, where the barest Python
   takes twenty. One node that answers ApiVersions is enough, for a test may have stopped the others. */

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { SECONDS_MAX = 2, LINE_BYTES_MAX = 512, CORRELATION_ID_AT = 8, ANSWER_BYTES = 8 };

/* ApiVersions v0: size, API key, version, correlation id, client id "ottla-health". */
static const char REQUEST[] = "\0\0\0\x16\0\x12\0\0\0\0\0\7\0\x0cottla-health";

/* Whether the answer to this request comes: its size, and then the correlation id. */
static int is_answered(int asking)
{
    char answer[ANSWER_BYTES];
    if (send(asking, REQUEST, sizeof REQUEST - 1, MSG_NOSIGNAL) != sizeof REQUEST - 1) return 0;
    if (recv(asking, answer, sizeof answer, MSG_WAITALL) != sizeof answer) return 0;
    return memcmp(answer + 4, REQUEST + CORRELATION_ID_AT, 4) == 0;
}

static int answers(const char *host, const char *port)
{
    const struct timeval patience = {.tv_sec = SECONDS_MAX};
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int is_there = 0;

    if (getaddrinfo(host, port, &wanted, &found) != 0) return 0;
    for (struct addrinfo *at = found; at != NULL && !is_there; at = at->ai_next) {
        int asking = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
        if (asking < 0) continue;
        setsockopt(asking, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        setsockopt(asking, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        is_there = connect(asking, at->ai_addr, at->ai_addrlen) == 0 && is_answered(asking);
        close(asking);
    }
    freeaddrinfo(found);
    return is_there;
}

int main(int count, char **arguments)
{
    const char *path = count > 1 ? arguments[1] : getenv("OTTLA_READY_FILE");
    FILE *file = path != NULL ? fopen(path, "r") : NULL;
    char line[LINE_BYTES_MAX];

    if (file == NULL) return 1; /* it is not ready yet, or has ended */
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strrchr(line, ':'), *host = line;
        if (colon == NULL) continue;
        *colon = '\0';
        colon[1 + strcspn(colon + 1, "\n")] = '\0';
        if (*host == '[') { /* an IPv6 address */
            host++;
            colon[-1] = '\0';
        }
        if (answers(host, colon + 1)) return 0;
    }
    return 1;
}
