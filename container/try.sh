#!/bin/sh
# Whether the image `ottla`, built before, is what docs/containers.md says it is: small, ready at once with the variables
# of docker-compose.yml, and reached by other containers and by the host.
#
#     [DOCKER=podman] [COMPOSE=podman-compose] container/try.sh
set -eu
cd "$(dirname "$0")/.."
: "${DOCKER:=docker}" "${COMPOSE:=docker compose}"
bytes_max=80000000
compose() { $COMPOSE --profile kafka "$@"; }

container=$($DOCKER create ottla)
bytes=$($DOCKER export "$container" | wc -c)
$DOCKER rm "$container" >/dev/null
echo "ottla: the image is $bytes bytes unpacked"
[ "$bytes" -lt "$bytes_max" ]

trap 'compose down' EXIT
compose up -d broker kafka
for service in broker kafka; do
    tries=0
    until compose exec -T "$service" ottla-health; do
        tries=$((tries + 1))
        [ "$tries" -lt 30 ]
        sleep 1
    done
done

# drink SERVICE PORT: what comes in at the host goes out to containers, and the other way round.
drink() {
    echo "one coffee" | $DOCKER run --rm -i --network host ottla topics produce orders --bootstrap-server "localhost:$2"
    compose exec -T broker ottla topics consume orders --bootstrap-server "$1" | grep "one coffee"
    echo "one tea" | compose exec -T broker ottla topics produce orders --bootstrap-server "$1"
    $DOCKER run --rm --network host ottla topics consume orders --bootstrap-server "localhost:$2" | grep "one tea"
}

drink ottla:9092 29092
drink kafka:19092 9092
echo "ottla: the image works"
