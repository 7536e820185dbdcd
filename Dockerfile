# Two images: `broker`, which is what people run, some 72 MB unpacked, and `pipeline`, with Java and Spark.
# docs/containers.md tells what the first takes from the environment.
#
#     docker buildx build --target broker --platform linux/amd64,linux/arm64 --sbom=true --provenance=true --tag ottla .

FROM python:3.13-slim-bookworm AS broker-root
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# What Ottla depends on changes less often than Ottla: a layer of its own.
COPY pyproject.toml ./
RUN python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > requirements.txt && \
    pip install --no-cache-dir --no-compile --target /site --requirement requirements.txt
COPY README.md LICENSE NOTICE CHANGELOG.md ./
COPY container container
COPY ottla ottla
# The version, where no tag of git is at hand.
ARG VERSION=0.0.0
RUN SETUPTOOLS_SCM_PRETEND_VERSION=${VERSION} pip install --no-cache-dir --no-compile --no-deps --target /site . && \
    container/root.sh python /site /root-of-image && \
    cc -O2 -s -o /root-of-image/usr/local/bin/ottla-health container/health.c

# Debian 12's C library, OpenSSL and time zones, and a user: no shell, no packages. The libraries that Python brings along
# are of the same Debian.
FROM gcr.io/distroless/base-debian12:nonroot AS broker
ARG VERSION=0.0.0
LABEL org.opencontainers.image.title="Ottla" \
      org.opencontainers.image.description="A Kafka stand-in for tests and laptops: answers like Apache Kafka, up in a blink, time under your control." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.base.name="gcr.io/distroless/base-debian12:nonroot"
COPY --from=broker-root /root-of-image/usr /usr
COPY --from=broker-root --chown=65532:65532 /root-of-image/data /data
ENV PATH=/usr/local/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    OTTLA_FROM_ENVIRONMENT=true \
    OTTLA_READY_FILE=/dev/shm/ottla.ready
USER 65532:65532
WORKDIR /data
VOLUME ["/data"]
EXPOSE 9092
ENTRYPOINT ["ottla"]
CMD ["serve"]
HEALTHCHECK --interval=2s --timeout=5s --start-period=5s --retries=10 CMD ["ottla-health"]

FROM python:3.13-slim-bookworm AS pipeline
RUN apt-get update && apt-get install --yes --no-install-recommends default-jre-headless procps && \
    rm -rf /var/lib/apt/lists/* && useradd --create-home ottla && install --directory --owner ottla /data
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY ottla ottla
ARG VERSION=0.0.0
RUN SETUPTOOLS_SCM_PRETEND_VERSION=${VERSION} pip install --no-cache-dir '.[spark]'
# The connector is in the image, so that a job needs no network but the broker's: give --jars /opt/jars.
RUN ottla pipeline fetch-jars /opt/jars
USER ottla
WORKDIR /data
VOLUME ["/data"]
ENTRYPOINT ["ottla", "pipeline"]
CMD ["--help"]
