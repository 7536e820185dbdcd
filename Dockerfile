# Three images: `broker`, which is what people run; `pipeline`, with Java and Spark; `tests`, which runs the real-client
# tests against a broker.

FROM python:3.12-slim AS broker
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY ottla ottla
RUN pip install --no-cache-dir . && useradd --create-home ottla
USER ottla
WORKDIR /home/ottla
EXPOSE 9092
# Inside a container every interface is listened on, so clients must be told a name: override the advertised
# address with the name under which they reach the container.
ENTRYPOINT ["ottla"]
CMD ["serve", "--listen", "0.0.0.0:9092", "--advertise", "localhost:9092"]
HEALTHCHECK --interval=2s --timeout=5s --start-period=5s --retries=10 \
    CMD ["ottla", "topics", "--bootstrap-server", "127.0.0.1:9092"]

FROM python:3.12-slim AS pipeline
RUN apt-get update && apt-get install --yes --no-install-recommends default-jre-headless procps && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY ottla ottla
RUN pip install --no-cache-dir '.[spark]'
WORKDIR /data
# The connector is in the image, so that a job needs no network but the broker's: give --jars /opt/jars.
RUN ottla pipeline fetch-jars /opt/jars
ENTRYPOINT ["ottla", "pipeline"]
CMD ["--help"]

FROM python:3.12-slim AS tests
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir --upgrade 'pip>=25.1' && pip install --no-cache-dir --editable . --group test
CMD ["python", "-m", "pytest", "tests/clients", "tests/stories"]
