# Two images: `broker`, which is what people run, and `tests`, which runs the real-client tests against a broker.

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

FROM python:3.12-slim AS tests
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir --upgrade 'pip>=25.1' && pip install --no-cache-dir --editable . --group test
CMD ["python", "-m", "pytest", "tests/clients", "tests/stories"]
